package simulator

import "strconv"

// container is in what a list comes.
type container struct {
	wrapper string // the member that holds the records; empty for a bare array
	// paged lists come in pages; others whole, with a pagination that says so, a null or none.
	paged      bool
	pagination string
	beside     string // members beside them
	texts      bool   // hasNextPage is a text
}

// contain returns the container of a call's list. Of those that the specification does not document an odd world has every kind, the
// same on all pages.
func (w *World) contain(c *call) container {
	op := c.op
	k := container{wrapper: op.wrapper, paged: op.wrapper != ""}
	if !w.quirks() || op.name == "schools" {
		return k
	}
	d := draw{hash(w.seed^op.salt, c.school, c.district, c.subject, 3)}
	k.texts = d.chance(150)
	switch op.name {
	case "test_results", "academic_years", "school_classes":
		k.beside = [...]string{"", "", `"total":12,`, `"links":{"self":"/x"},"warnings":[],`}[d.below(4)]
		return k
	}
	names := [...]string{"items", "data", "results", "Elements", op.wrapper}
	if k.wrapper = names[d.below(len(names))]; k.wrapper == "" {
		k.wrapper = "content"
	}
	switch d.below(5) {
	case 0:
		k = container{}
	case 1:
		k.paged = false
	case 2:
		k.paged, k.pagination = false, [...]string{`{"hasNextPage":false}`, "null", `{"hasNextPage":false,"nextPage":null}`}[d.below(3)]
	default:
		k.paged = true
	}
	return k
}

// more appends whether there is a next page.
func (k *container) more(dst []byte, more bool) []byte {
	if k.texts {
		dst = append(dst, '"')
		dst = strconv.AppendBool(dst, more)
		return append(dst, '"')
	}
	return strconv.AppendBool(dst, more)
}
