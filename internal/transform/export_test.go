package transform

// SetRunSizes sets the sizes in bytes of the blocks and parts of runs, and of the largest part.
func (d *Decoder) SetRunSizes(block, part, key int) {
	d.runSizes = runSizes{block: block, part: part, key: key}
}

// SetWindow replaces the window in which the next page is read. It grows if a record does not fit.
func (d *Decoder) SetWindow(bytes int) { d.window = make([]byte, 0, bytes) }
