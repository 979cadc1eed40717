package simulator

import "slices"

// harvest makes the calls that an export makes, without HTTP.
type harvest struct {
	world      *World
	options    *OracleOptions
	operations []*operation
	fed        map[feedKey]*chain
}

// feedKey is a list that names what other operations are called for.
type feedKey struct {
	dataset string
	scope
}

// scope is what a row of the ledger is about: positions, -1 for none.
type scope struct{ school, district int }

func (h *harvest) scopes(op *operation) []scope {
	var scopes []scope
	switch op.fan {
	case once:
		scopes = append(scopes, scope{-1, -1})
	case perDistrict:
		for i := range h.world.districts {
			scopes = append(scopes, scope{-1, i})
		}
	default:
		for i := range h.world.listed {
			if h.options.Schools == nil || slices.Contains(h.options.Schools, h.world.schoolBid(i)) {
				scopes = append(scopes, scope{i, -1})
			}
		}
	}
	return scopes
}

// calls are those that the export makes of an operation for a scope, each the first page's of its list, and the number of records
// for which none can be made.
func (h *harvest) calls(op *operation, s scope) (calls []*call, unavailable int64) {
	add := func(s scope, ids []string, nameless int64) {
		unavailable += nameless
		for _, id := range ids {
			c := h.newCall(op, s)
			var what thing
			var ok bool
			if what, c.home, c.subject, ok = h.world.find(id); ok && what == op.about {
				calls = append(calls, c)
			} else {
				unavailable++ // The service has no such record.
			}
		}
	}
	perspectives := h.perspectives(s.school)
	switch op.fan {
	case once, perDistrict, perSchool:
		calls = append(calls, h.newCall(op, s))
	case perPerspective:
		for _, p := range perspectives {
			calls = append(calls, h.newCall(op, scope{s.school, p}))
		}
	case perStudent:
		ids, nameless := distinct(h.feed("students", s).rows["students"], "student_bid")
		add(s, ids, nameless)
	case perRoster:
		ids, nameless := distinct(h.feed("students", s).rows["students"], "student_bid")
		for _, p := range perspectives {
			add(scope{s.school, p}, ids, 0)
		}
		unavailable += nameless
	case perEducator:
		for _, p := range perspectives {
			at := scope{s.school, p}
			ids, nameless := distinct(slices.Concat(
				h.feed("educator_school_associations", at).rows["educator_school_associations"],
				h.feed("school_classes", at).rows["school_class_educators"],
			), "educator_bid")
			add(at, ids, nameless)
		}
	case perRecord:
		for _, p := range perspectives {
			at := scope{s.school, p}
			ids, nameless := distinct(h.feed(op.feed, at).rows[op.feed], subjectName(op.about))
			add(at, ids, nameless)
		}
	}
	return calls, unavailable
}

// newCall has the filters of the export, as far as the operation's source looks at them.
func (h *harvest) newCall(op *operation, s scope) *call {
	f := filter{removed: h.options.IncludeRemoved, on: h.world.today, dated: op.name != "academic_years" || h.options.AsOf}
	if !h.options.EffectiveDate.IsZero() {
		f.on = day(h.options.EffectiveDate.Unix() / secondsPerDay)
	}
	if !h.options.ModifiedSince.IsZero() {
		f.since = h.options.ModifiedSince.UnixMilli()
	}
	return &call{op: op, school: s.school, district: s.district, home: s.school, filter: f}
}

// feed reads a list for what it names.
func (h *harvest) feed(dataset string, s scope) *chain {
	key := feedKey{dataset, s}
	if h.fed[key] == nil {
		c := h.newCall(named(h.operations, dataset), s)
		c.filter.since = 0
		h.fed[key] = h.world.chain(c)
	}
	return h.fed[key]
}

// perspectives are those through which a school's enrollment is read.
func (h *harvest) perspectives(school int) []int {
	switch {
	case school < 0:
		return nil
	case h.options.OwnPerspective:
		return []int{h.world.schools[school].district}
	default:
		return h.world.perspectives(school)
	}
}

// distinct returns the values of a column, each once, and the number of rows that have none.
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
