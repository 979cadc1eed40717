package simulator

import "strconv"

// List is the list that a call reads, before filters and paging: positions from 0 to Count-1.
type List struct {
	Count int
	// Keep reports whether the filters keep the record at a position; nil keeps all.
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

// Next returns the first position from i on that passes the filters, or Count.
func (s *List) Next(i int) int {
	for i < s.Count && s.Keep != nil && !s.Keep(i) {
		i++
	}
	return i
}

// skip returns the position of the record that follows size records from first on, or Count.
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
	// Paged lists come in pages. Unpaged lists are complete; their pagination member says so, is null, or is absent.
	Paged      bool
	Pagination string
	Beside     string // further members
	TextFlags  bool   // hasNextPage is text
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

// Quirks change the answers of a world. They are in package odd.
type Quirks interface {
	// List returns the list of a call with some of its records changed, replaced or repeated.
	List(w *World, c *Call, plain List) List
	// Container returns the container of a list.
	Container(w *World, c *Call, documented Container) Container
	// FormatBid writes a bid of the world. ParseBid reads any bid that FormatBid has written.
	FormatBid(w *World, b Bid) string
	ParseBid(text string) (Bid, bool)
	// Mark returns a text to put into cursors, the members beside them, errors and headers; empty for none. The text
	// has no characters that JSON escapes.
	Mark() string
}
