package transform

// SetRunSizes sets the sizes in bytes of the blocks and parts of runs, and of the largest part.
func (d *Decoder) SetRunSizes(block, part, key int) {
	d.runSizes = runSizes{block: block, part: part, key: key}
}
