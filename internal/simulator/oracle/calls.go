package oracle

import (
	"slices"

	"example.org/growthexport/internal/simulator"
)

// exporter makes the calls that an export makes, without HTTP.
type exporter struct {
	world      *simulator.World
	options    *Options
	operations []*simulator.Operation
	lists      map[listKey]*listRows
	schools    []simulator.School
	districts  int
}

// listKey identifies a list that supplies ids for other operations.
type listKey struct {
	dataset string
	scope
}

// scope is the subject of a ledger row: the positions of its school and district, each -1 if there is none.
type scope struct{ school, district int }

func newExporter(w *simulator.World, options *Options) *exporter {
	return &exporter{
		world: w, options: options, operations: simulator.Operations(), lists: map[listKey]*listRows{}, schools: w.Schools(), districts: len(w.Districts()),
	}
}

func (h *exporter) operation(name string) *simulator.Operation {
	return h.operations[slices.IndexFunc(h.operations, func(op *simulator.Operation) bool { return op.Name == name })]
}

func (h *exporter) scopes(op *simulator.Operation) []scope {
	var scopes []scope
	switch op.FanOut {
	case simulator.PerRun:
		scopes = append(scopes, scope{-1, -1})
	case simulator.PerDistrict:
		for i := range h.districts {
			scopes = append(scopes, scope{-1, i})
		}
	default:
		for i := range h.schools {
			if h.options.Schools == nil || slices.Contains(h.options.Schools, h.schools[i].Bid) {
				scopes = append(scopes, scope{i, -1})
			}
		}
	}
	return scopes
}

// calls returns the calls of an operation that an export makes for a scope, one per list, and the number of records
// that lack the id for a call or have an id that the service does not know.
func (h *exporter) calls(op *simulator.Operation, s scope) (calls []*simulator.Call, unavailable int64) {
	add := func(s scope, ids []string, nameless int64) {
		unavailable += nameless
		for _, id := range ids {
			c := h.newCall(op, s)
			var what simulator.EntityKind
			var ok bool
			if what, c.Home, c.Subject, ok = h.world.FindBid(id); ok && what == op.About {
				calls = append(calls, c)
			} else {
				unavailable++ // The record does not exist.
			}
		}
	}
	perspectives := h.perspectives(s.school)
	switch op.FanOut {
	case simulator.PerRun, simulator.PerDistrict, simulator.PerSchool:
		calls = append(calls, h.newCall(op, s))
	case simulator.PerPerspective:
		for _, p := range perspectives {
			calls = append(calls, h.newCall(op, scope{s.school, p}))
		}
	case simulator.PerStudent:
		ids, nameless := distinct(h.feed("students", s).rows["students"], "student_bid")
		add(s, ids, nameless)
	case simulator.PerRoster:
		ids, nameless := distinct(h.feed("students", s).rows["students"], "student_bid")
		for _, p := range perspectives {
			add(scope{s.school, p}, ids, 0)
		}
		unavailable += nameless
	case simulator.PerEducator:
		for _, p := range perspectives {
			at := scope{s.school, p}
			ids, nameless := distinct(slices.Concat(
				h.feed("educator_school_associations", at).rows["educator_school_associations"],
				h.feed("school_classes", at).rows["school_class_educators"],
			), "educator_bid")
			add(at, ids, nameless)
		}
	case simulator.PerRecord:
		for _, p := range perspectives {
			at := scope{s.school, p}
			ids, nameless := distinct(h.feed(op.Feed, at).rows[op.Feed], simulator.SubjectName(op.About))
			add(at, ids, nameless)
		}
	}
	return calls, unavailable
}

// newCall returns a call with the filters of the export.
func (h *exporter) newCall(op *simulator.Operation, s scope) *simulator.Call {
	f := simulator.Filter{Removed: h.options.IncludeRemoved, On: simulator.DayOf(h.world.AsOf()), Dated: op.Name != "academic_years" || h.options.AsOf}
	if !h.options.EffectiveDate.IsZero() {
		f.On = simulator.DayOf(h.options.EffectiveDate)
	}
	if !h.options.ModifiedSince.IsZero() {
		f.Since = h.options.ModifiedSince.UnixMilli()
	}
	return &simulator.Call{Op: op, School: s.school, District: s.district, Home: s.school, Filter: f}
}

// feed returns the rows of a list that supplies ids for other operations.
func (h *exporter) feed(dataset string, s scope) *listRows {
	key := listKey{dataset, s}
	if h.lists[key] == nil {
		c := h.newCall(h.operation(dataset), s)
		c.Filter.Since = 0
		h.lists[key] = readList(h.world, c)
	}
	return h.lists[key]
}

// perspectives returns the perspectives through which a school's enrollment is read.
func (h *exporter) perspectives(school int) []int {
	switch {
	case school < 0:
		return nil
	case h.options.OwnPerspective:
		return []int{h.world.HomeDistrict(school)}
	default:
		return h.world.Perspectives(school)
	}
}

// distinct returns the distinct values of a column, and the number of rows without a value.
func distinct(rows []Row, column string) (values []string, none int64) {
	seen := map[string]bool{}
	for _, row := range rows {
		switch text, _ := row[column].(string); {
		case text == "":
			none++
		case !seen[text]:
			seen[text] = true
			values = append(values, text)
		}
	}
	return values, none
}
