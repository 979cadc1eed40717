package odd

import "example.org/growthexport/internal/simulator"

// Container varies what the specification does not document about a list's container, in the same way for all pages.
func (o *Quirks) Container(w *simulator.World, c *simulator.Call, k simulator.Container) simulator.Container {
	d := *simulator.NewRand(w.Hash(c, c.Subject, 3))
	k.TextFlags = d.Chance(150)
	switch c.Op.Name {
	case "test_results", "academic_years", "school_classes":
		k.Beside = [...]string{"", "", `"total":12,`, `"links":{"self":"/x"},"warnings":[],`}[d.Below(4)]
		return k
	}
	names := [...]string{"items", "data", "results", "Elements", c.Op.Wrapper}
	if k.Wrapper = names[d.Below(len(names))]; k.Wrapper == "" {
		k.Wrapper = "content"
	}
	switch d.Below(5) {
	case 0:
		k = simulator.Container{}
	case 1:
		k.Paged = false
	case 2:
		k.Paged, k.Pagination = false, [...]string{`{"hasNextPage":false}`, "null", `{"hasNextPage":false,"nextPage":null}`}[d.Below(3)]
	default:
		k.Paged = true
	}
	return k
}
