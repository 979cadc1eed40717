package simulator

import "strconv"

// container is in what a list comes.
type Container struct {
	Wrapper string // the member that holds the records; empty for a bare array
	// paged lists come in pages; others whole, with a pagination that says so, a null or none.
	Paged      bool
	Pagination string
	Beside     string // members beside them
	TextFlags  bool   // hasNextPage is a text
}

// contain returns the container of a call's list.
func (w *World) Container(c *Call) Container {
	documented := Container{Wrapper: c.Op.Wrapper, Paged: c.Op.Wrapper != ""}
	if w.quirks == nil || c.Op.Name == "schools" {
		return documented
	}
	return w.quirks.Container(w, c, documented)
}

// more appends whether there is a next page.
func (k *Container) more(dst []byte, more bool) []byte {
	if k.TextFlags {
		dst = append(dst, '"')
		dst = strconv.AppendBool(dst, more)
		return append(dst, '"')
	}
	return strconv.AppendBool(dst, more)
}
