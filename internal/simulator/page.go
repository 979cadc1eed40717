package simulator

import "strconv"

// The three ways in which the last page says that there is no next one; observed clients met all of them.
const (
	endAbsent = iota
	endNull
	endEmpty
	ends
)

// page appends the answer to a call: its whole body.
func (w *World) page(r *renderer, a *arena, c *call, size int) {
	list := c.op.source(w, c)
	if c.op.single != "" {
		w.single(r, a, c, &list)
		return
	}
	if c.op.wrapper == "" {
		w.records(r, a, c, &list, list.next(0), list.count)
		return
	}
	// Where pagination stands follows from the call, so that a client meets it before the records too.
	style := w.style(c, c.from)
	first := list.next(c.from)
	if style&3 != 0 {
		r.dst = append(r.dst, `{"`+c.op.wrapper+`":`...)
		next := w.records(r, a, c, &list, first, size)
		r.dst = append(r.dst, ',')
		w.pagination(r, c, &list, next)
	} else {
		r.dst = append(r.dst, '{')
		w.pagination(r, c, &list, list.after(first, size))
		r.dst = append(r.dst, `,"`+c.op.wrapper+`":`...)
		w.records(r, a, c, &list, first, size)
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
// and fields"), but for 4.5, which is bare.
func (w *World) single(r *renderer, a *arena, c *call, list *source) {
	style := w.style(c, 0)
	wrapped := c.op.about != aStudent && style>>60&1 == 0
	if wrapped {
		r.dst = append(r.dst, `{"`+c.op.single+`":`...)
	}
	r.record(list.record(a, 0), style)
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
		r.record(list.record(a, i), w.style(c, i))
		i = list.next(i + 1)
	}
	r.dst = append(r.dst, ']')
	return i
}

func (w *World) pagination(r *renderer, c *call, list *source, next int) {
	more := next < list.count
	r.dst = append(r.dst, `"pagination":{"hasNextPage":`...)
	r.dst = strconv.AppendBool(r.dst, more)
	switch {
	case more:
		r.dst = append(r.dst, `,"nextPage":"`+w.cursor(c, next)+`"`...)
	case c.school%ends == endNull:
		r.dst = append(r.dst, `,"nextPage":null`...)
	case c.school%ends == endEmpty:
		r.dst = append(r.dst, `,"nextPage":""`...)
	}
	r.dst = append(r.dst, '}')
}
