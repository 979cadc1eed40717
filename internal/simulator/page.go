package simulator

// The three ways in which the last page says that there is no next one; observed clients met all of them.
const (
	endAbsent = iota
	endNull
	endEmpty
	ends
)

// page appends the answer to a call: its whole body, or what a fault makes of it, which is empty for none.
func (w *World) page(r *renderer, a *arena, c *call, size int, fault FaultKind) {
	c.moved = fault == FaultListMoves
	size = w.pageSize(c, size)
	list := w.list(c)
	if fault == FaultDeepNesting {
		list = source{count: 1, element: func(*arena, int) value { return deep() }}
	}
	if c.op.single != "" {
		w.single(r, a, c, &list)
		return
	}
	k := w.contain(c)
	if fault == FaultCursorLoop || fault == FaultEndlessPages || fault == FaultEmptyPages {
		w.trap(r, a, c, &k, &list, size, fault)
		return
	}
	if k.wrapper == "" {
		w.records(r, a, c, &list, list.next(0), list.count)
		return
	}
	if !k.paged {
		size = list.count
	}
	// Where pagination stands follows from the call, so that a client meets it before the records too.
	style := w.style(c, c.from)
	first := list.next(c.from)
	r.dst = append(r.dst, '{')
	r.dst = append(r.dst, k.beside...)
	if style&3 == 0 {
		if w.pagination(r, c, &k, &list, list.after(first, size)) {
			r.dst = append(r.dst, ',')
		}
	}
	r.dst = append(r.dst, `"`+k.wrapper+`":`...)
	next := w.records(r, a, c, &list, first, size)
	if style&3 != 0 {
		before := len(r.dst)
		r.dst = append(r.dst, ',')
		if !w.pagination(r, c, &k, &list, next) {
			r.dst = r.dst[:before]
		}
	}
	r.dst = append(r.dst, '}')
}

// style decides how the record or page at a position of a call's list is written.
func (w *World) style(c *call, i int) uint64 {
	h := hash(w.seed^c.op.salt, c.school, c.district, i)
	if c.op.about != 0 {
		h = mix(h ^ mix(uint64(c.subject)))
	}
	return h
}

// single appends the record of a single read, bare or wrapped: which of them the service does is unknown (observed, "Containers
// and fields"), but for 4.5, which is bare unless the world is an odd one.
func (w *World) single(r *renderer, a *arena, c *call, list *source) {
	style := w.style(c, 0)
	wrapped := style>>60&1 == 0 && (c.op.about != aStudent || w.quirks())
	if wrapped {
		r.dst = append(r.dst, `{"`+c.op.single+`":`...)
	}
	record := list.at(a, 0)
	r.element(&record, style, list.element != nil)
	if wrapped {
		r.dst = append(r.dst, '}')
	}
}

// after is the position of the record that follows size records from the position first on, or count.
func (s *source) after(first, size int) int {
	i := first
	for n := 0; n < size && i < s.count; n++ {
		i = s.next(i + 1)
	}
	return i
}

// records appends an array of up to size records and returns the position after them.
func (w *World) records(r *renderer, a *arena, c *call, list *source, i, size int) int {
	r.dst = append(r.dst, '[')
	for n := 0; n < size && i < list.count; n++ {
		if n > 0 {
			r.dst = append(r.dst, ',')
		}
		a.reset()
		element := list.at(a, i)
		r.element(&element, w.style(c, i), list.element != nil)
		i = list.next(i + 1)
	}
	r.dst = append(r.dst, ']')
	return i
}

// pagination appends the member that says whether there is a page from the position next on. It is false if the list has none.
func (w *World) pagination(r *renderer, c *call, k *container, list *source, next int) bool {
	if !k.paged {
		if k.pagination != "" {
			r.dst = append(r.dst, `"pagination":`+k.pagination...)
		}
		return k.pagination != ""
	}
	more := next < list.count
	r.dst = append(r.dst, `"pagination":{"hasNextPage":`...)
	r.dst = k.more(r.dst, more)
	switch {
	case more:
		r.dst = append(r.dst, `,"nextPage":"`+w.cursor(c, next)+`"`...)
	case c.school%ends == endNull:
		r.dst = append(r.dst, `,"nextPage":null`...)
	case c.school%ends == endEmpty:
		r.dst = append(r.dst, `,"nextPage":""`...)
	}
	r.dst = append(r.dst, '}')
	return true
}
