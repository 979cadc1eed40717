package simulator

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Row is a row of a table as a correct export holds it: every column of the table by its name. Values are nil for null, string,
// int64 (for int32 and int64), float64, bool; a date is the string YYYY-MM-DD, a timestamp the int64 of its microseconds since
// 1970-01-01T00:00:00Z, JSON its canonical text.
type Row map[string]any

// OracleOptions say what was exported. The zero value is a full run of everything on the world's day.
type OracleOptions struct {
	// Schools are the bids that the run fans out over; nil means all of 4.1. Lookup tables are whole in any case.
	Schools []string
	// OwnPerspective reads enrollment in the perspective of the school's own district alone.
	OwnPerspective bool
	// EffectiveDate is sent to the operations that have a default for it; zero means the world's day. With AsOf it is sent to 4.7
	// too, which has none.
	EffectiveDate time.Time
	AsOf          bool
	// ModifiedSince and IncludeRemoved are sent to the operations that know them; zero means that they are not sent.
	ModifiedSince  time.Time
	IncludeRemoved bool
}

// Oracle returns the rows of every table by its name, in the order of the contract. It reads the world's records directly: no
// JSON, no HTTP and no code of the exporter lies between.
func (w *World) Oracle(options OracleOptions) map[string][]Row {
	rows := map[string][]Row{}
	all := tables()
	for _, op := range operations() {
		var own []table
		for _, t := range all {
			if t.dataset == op.name {
				own = append(own, t)
				rows[t.name] = []Row{}
			}
		}
		for _, c := range w.calls(op, &options) {
			w.callRows(c, own, rows)
		}
	}
	for _, t := range all {
		sortRows(&t, rows[t.name])
	}
	return rows
}

// calls are those that the run makes of an operation, as the first page's call of each list.
func (w *World) calls(op *operation, options *OracleOptions) []*call {
	f := filter{since: 0, removed: options.IncludeRemoved, on: w.today, dated: op.name != "academic_years" || options.AsOf}
	if !options.EffectiveDate.IsZero() {
		f.on = day(options.EffectiveDate.Unix() / secondsPerDay)
	}
	if !options.ModifiedSince.IsZero() {
		f.since = options.ModifiedSince.UnixMilli()
	}
	newCall := func(school, district int) *call {
		return &call{op: op, school: school, district: district, filter: f}
	}
	var calls []*call
	switch op.fan {
	case once:
		calls = append(calls, newCall(-1, -1))
	case perDistrict:
		for i := range w.districts {
			calls = append(calls, newCall(-1, i))
		}
	case perSchool:
		for _, i := range w.asked(options) {
			calls = append(calls, newCall(i, -1))
		}
	case perPerspective:
		for _, i := range w.asked(options) {
			for _, p := range w.perspectives(i) {
				if !options.OwnPerspective || p == w.schools[i].district {
					calls = append(calls, newCall(i, p))
				}
			}
		}
	}
	return calls
}

// asked are the positions of the schools that the run fans out over; bids that 4.1 does not list are left out.
func (w *World) asked(options *OracleOptions) []int {
	var asked []int
	for i := range w.listed {
		if options.Schools == nil || slices.Contains(options.Schools, w.schools[i].bid.String()) {
			asked = append(asked, i)
		}
	}
	return asked
}

func (w *World) callRows(c *call, own []table, rows map[string][]Row) {
	list := c.op.source(w, c)
	var a arena
	for i := list.next(0); i < list.count; i = list.next(i + 1) {
		a.reset()
		record := list.record(&a, i)
		for t := range own {
			rows[own[t].name] = append(rows[own[t].name], w.recordRows(c, own, &own[t], record)...)
		}
	}
}

// recordRows are the rows that one record adds to a table of its dataset.
func (w *World) recordRows(c *call, own []table, t *table, record []member) []Row {
	if t.each == "" {
		children := make([]string, 0, len(own))
		for i := range own {
			children = append(children, own[i].each)
		}
		return []Row{w.row(c, t, nil, record, 0, children)}
	}
	elements := find(record, t.each)
	if elements == nil || elements.kind != array {
		return nil
	}
	rows := make([]Row, len(elements.sub))
	for i := range elements.sub {
		element := &elements.sub[i].value
		if element.kind == object {
			rows[i] = w.row(c, t, record, element.sub, i, nil)
			continue
		}
		// An element that is not an object is a row all the same.
		rows[i] = w.row(c, t, record, []member{{"_value", *element}}, i, nil)
	}
	return rows
}

func (w *World) row(c *call, t *table, parent, record []member, ordinal int, children []string) Row {
	row := Row{}
	taken := map[string]bool{}
	for _, col := range t.columns {
		switch {
		case strings.HasPrefix(col.source, "$"):
			row[col.name] = w.parameter(c, col.source)
		case strings.HasPrefix(col.source, "^"):
			row[col.name] = plainAt(parent, col.source[1:])
		case col.source == "#":
			row[col.name] = int64(ordinal)
		case col.source != "*":
			row[col.name] = plainAt(record, col.source)
			taken[col.source] = true
		}
	}
	row["_extra"] = nil
	if extra := leftover(record, "", taken, children); len(extra) > 0 {
		row["_extra"] = string(appendCanonical(nil, &value{kind: object, sub: extra}))
	}
	return row
}

func (w *World) parameter(c *call, source string) any {
	switch source {
	case "$school_bid":
		return w.schools[c.school].bid.String()
	default: // $district_bid and $perspective_bid
		return w.districts[c.district].bid.String()
	}
}

// find is the last member of that name, as the last of doubled members counts.
func find(record []member, name string) *value {
	for i := len(record) - 1; i >= 0; i-- {
		if record[i].name == name {
			return &record[i].value
		}
	}
	return nil
}

func plainAt(record []member, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	v := find(record, name)
	switch {
	case v == nil:
		return nil
	case nested:
		return plainAt(v.sub, rest)
	default:
		return v.plain()
	}
}

// leftover is the part of a record that no column and no child table took, sorted by name.
func leftover(record []member, prefix string, taken map[string]bool, children []string) []member {
	var extra []member
	for _, m := range record {
		path := prefix + m.name
		switch {
		case taken[path], m.kind == array && slices.Contains(children, m.name):
		case m.kind == object && hasPrefix(taken, path+"."):
			if rest := leftover(m.sub, path+".", taken, nil); len(rest) > 0 {
				extra = append(extra, member{m.name, value{kind: object, sub: rest}})
			}
		default:
			extra = append(extra, m)
		}
	}
	slices.SortFunc(extra, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return extra
}

func hasPrefix(taken map[string]bool, prefix string) bool {
	for path := range taken {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// appendCanonical writes a value without white space, its members in the order they have.
func appendCanonical(dst []byte, v *value) []byte {
	r := renderer{dst: dst}
	r.value(v)
	return r.dst
}

// sortRows orders rows by requested_school_bid, then by the other key columns in their order, nulls first, text by bytes; rows
// with equal keys stay as they were received.
func sortRows(t *table, rows []Row) {
	var keys []string
	for _, col := range t.columns {
		switch {
		case col.name == "requested_school_bid":
			keys = append([]string{col.name}, keys...)
		case col.key:
			keys = append(keys, col.name)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		for _, key := range keys {
			if order := compare(a[key], b[key]); order != 0 {
				return order
			}
		}
		return 0
	})
}

// compare orders the values of a key column, which are text or whole numbers.
func compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	if x, ok := a.(int64); ok {
		y, _ := b.(int64)
		return cmp.Compare(x, y)
	}
	x, _ := a.(string)
	y, _ := b.(string)
	return strings.Compare(x, y)
}
