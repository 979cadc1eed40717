package simulator

import "strconv"

// List is the list that a call reads, before filters and paging. Its positions are 0 to Count-1.
type List struct {
	Count int
	// Keep reports whether the record at a position passes the filters. If it is nil, all records pass.
	Keep func(i int) bool
	// Record returns the record at a position.
	Record func(a *Arena, i int) []Member
	// Element replaces Record for lists whose records have ordered members, or that have elements other than records.
	Element func(a *Arena, i int) Value
}

// At returns the element at a position.
func (s *List) At(a *Arena, i int) Value {
	if s.Element != nil {
		return s.Element(a, i)
	}
	return Value{Kind: Object, Sub: s.Record(a, i)}
}

// Next returns the first position from i on whose record passes the filters, or Count if there is none.
func (s *List) Next(i int) int {
	for i < s.Count && s.Keep != nil && !s.Keep(i) {
		i++
	}
	return i
}

// skip returns the position of the record that follows the size records from first on, or Count if there is none.
func (s *List) skip(first, size int) int {
	i := first
	for n := 0; n < size && i < s.Count; n++ {
		i = s.Next(i + 1)
	}
	return i
}

// Container is the JSON around the records of a list.
type Container struct {
	Wrapper string // the member that holds the records; empty for a bare array
	// Paged is true if the list is sent in pages. Otherwise the list is complete, and Pagination is the value of its
	// pagination member, or "" if there is no such member.
	Paged      bool
	Pagination string
	Beside     string // JSON of further members
	TextFlags  bool   // whether hasNextPage is sent as text
}

// appendMore appends the value of hasNextPage.
func (k *Container) appendMore(dst []byte, more bool) []byte {
	if k.TextFlags {
		dst = append(dst, '"')
		dst = strconv.AppendBool(dst, more)
		return append(dst, '"')
	}
	return strconv.AppendBool(dst, more)
}

// Quirks change the answers of a world. Package odd implements them.
type Quirks interface {
	// List returns the list of a call with some of its records changed, replaced or repeated.
	List(w *World, c *Call, plain List) List
	// Container returns the container of a list.
	Container(w *World, c *Call, documented Container) Container
	// FormatBid returns the text of a bid of the world. ParseBid parses any text that FormatBid returns.
	FormatBid(w *World, b Bid) string
	ParseBid(text string) (Bid, bool)
	// Mark returns a text to put into cursors, the members beside them, errors and headers, or "" for none. The text has
	// no characters that JSON escapes.
	Mark() string
}
