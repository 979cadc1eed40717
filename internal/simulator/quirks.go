package simulator

// Quirks change what a world sends; package odd has them.
type Quirks interface {
	// List returns the list of a call with some of its records changed, replaced or repeated.
	List(w *World, c *Call, plain List) List
	// Container returns the container of a list.
	Container(w *World, c *Call, documented Container) Container
	// FormatBid writes a bid of the world. ParseBid reads any that FormatBid wrote.
	FormatBid(w *World, b Bid) string
	ParseBid(text string) (Bid, bool)
}

// List returns the list of a call.
func (w *World) List(c *Call) List {
	list := w.filled(c, c.Op.source(w, c))
	if w.quirks == nil {
		return list
	}
	return w.quirks.List(w, c, list)
}

// Hash hashes a call and further numbers.
func (w *World) Hash(c *Call, parts ...int) uint64 {
	return Hash(w.seed^c.Op.salt, append([]int{c.School, c.District}, parts...)...)
}
