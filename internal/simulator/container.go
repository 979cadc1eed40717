package simulator

import "strconv"

// Container is the JSON around the records of a list.
type Container struct {
	Wrapper string // the member that holds the records; empty for a bare array
	// Paged lists come in pages. Others are complete, with a pagination object that says so, a null, or neither.
	Paged      bool
	Pagination string
	Beside     string // further members
	TextFlags  bool   // hasNextPage is text
}

// Container returns the container of a call's list.
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
