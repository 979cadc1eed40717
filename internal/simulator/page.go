package simulator

// The ways in which the last page says that no page follows. Clients have received all of them.
const (
	endAbsent = iota
	endNull
	endEmpty
	ends
)

// page appends the body of an answer. If the fault is FaultListMoves, the body already contains its effect.
func (w *World) page(r *renderer, a *Arena, c *Call, size int, fault FaultKind) {
	c.moved = fault == FaultListMoves
	size = w.PageSize(c, size)
	list := w.List(c)
	if c.Op.Single != "" {
		w.single(r, a, c, &list)
		return
	}
	k := w.Container(c)
	if k.Wrapper == "" {
		w.records(r, a, c, &list, list.Next(0), list.Count)
		return
	}
	if !k.Paged {
		size = list.Count
	}
	// The call determines the position of the pagination member, which precedes the records in some answers.
	style := w.Style(c, c.From)
	first := list.Next(c.From)
	r.dst = append(r.dst, '{')
	r.dst = append(r.dst, k.Beside...)
	if style&3 == 0 {
		if w.pagination(r, c, &k, &list, list.skip(first, size)) {
			r.dst = append(r.dst, ',')
		}
	}
	r.dst = append(r.dst, `"`+k.Wrapper+`":`...)
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

// single appends the record of a single read, either bare or wrapped, because it is unknown which form the service
// sends (observed, "Containers and fields"). The record of 4.5 is always bare, unless the world has quirks.
func (w *World) single(r *renderer, a *Arena, c *Call, list *List) {
	style := w.Style(c, 0)
	wrapped := style>>60&1 == 0 && (c.Op.About != StudentEntity || w.quirks != nil)
	if wrapped {
		r.dst = append(r.dst, `{"`+c.Op.Single+`":`...)
	}
	record := list.At(a, 0)
	r.element(&record, style, list.Element != nil)
	if wrapped {
		r.dst = append(r.dst, '}')
	}
}

// records appends an array of up to size records, from position i on, and returns the position of the next record.
func (w *World) records(r *renderer, a *Arena, c *Call, list *List, i, size int) int {
	r.dst = append(r.dst, '[')
	for n := 0; n < size && i < list.Count; n++ {
		if n > 0 {
			r.dst = append(r.dst, ',')
		}
		a.Reset()
		element := list.At(a, i)
		r.element(&element, w.Style(c, i), list.Element != nil)
		i = list.Next(i + 1)
	}
	r.dst = append(r.dst, ']')
	return i
}

// pagination appends the pagination member of a page. next is the position at which the next page would begin. It
// returns false if the list has no such member.
func (w *World) pagination(r *renderer, c *Call, k *Container, list *List, next int) bool {
	if !k.Paged {
		if k.Pagination != "" {
			r.dst = append(r.dst, `"pagination":`+k.Pagination...)
		}
		return k.Pagination != ""
	}
	more := next < list.Count
	r.dst = append(r.dst, `"pagination":{`...)
	if w.mark != "" {
		r.dst = append(r.dst, `"`+w.mark+`":"`+w.mark+`",`...)
	}
	r.dst = append(r.dst, `"hasNextPage":`...)
	r.dst = k.appendMore(r.dst, more)
	switch {
	case more:
		r.dst = append(r.dst, `,"nextPage":"`+w.mark+w.cursor(c, next)+`"`...)
	case c.School%ends == endNull:
		r.dst = append(r.dst, `,"nextPage":null`...)
	case c.School%ends == endEmpty:
		r.dst = append(r.dst, `,"nextPage":""`...)
	}
	r.dst = append(r.dst, '}')
	return true
}

// Container returns the container of a call's list.
func (w *World) Container(c *Call) Container {
	documented := Container{Wrapper: c.Op.Wrapper, Paged: c.Op.Wrapper != ""}
	if w.quirks == nil || c.Op.Name == "schools" {
		return documented
	}
	return w.quirks.Container(w, c, documented)
}
