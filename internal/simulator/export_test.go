package simulator

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// export reads every operation for everything it fans out over.
func export(c *client, world *World, send url.Values) *exporter {
	c.t.Helper()
	newExporter := func(send url.Values) *exporter {
		return &exporter{client: c, world: world, send: send, rows: map[string][]Row{}, drift: map[Drift]int64{}, ledger: map[LedgerRow][2]int64{}}
	}
	e := newExporter(send)
	// Lists that feed a fan-out are read whole.
	unfiltered := maps.Clone(send)
	delete(unfiltered, "modified-since")
	e.feeds = newExporter(unfiltered)
	for _, op := range operations() {
		if op.name == "students" || op.name == "school_classes" || op.name == "educator_school_associations" {
			e.feeds.read(op)
		}
	}
	for _, op := range operations() {
		e.read(op)
	}
	return e
}

type exporter struct {
	client *client
	world  *World
	send   url.Values
	rows   map[string][]Row
	drift  map[Drift]int64
	ledger map[LedgerRow][2]int64 // received and dropped, by dataset, school and district
	feeds  *exporter
}

func (e *exporter) read(op *operation) {
	c := e.client
	c.t.Helper()
	for _, params := range e.fanOut(op) {
		path, query := op.template, url.Values{}
		for name, values := range e.send {
			if slices.Contains(op.optional, name) {
				query[name] = values
			}
		}
		for name, value := range params {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
			kebab := strings.ReplaceAll(name, "_", "-")
			if slices.Contains(op.required, kebab) || kebab == "school-bid" && slices.Contains(op.optional, kebab) {
				query.Set(kebab, value)
			}
		}
		e.chain(op, params, c.list(op, path, query))
	}
}

// chain takes the records of one list: of those with one key, one.
func (e *exporter) chain(op *operation, params map[string]string, records []node) {
	r := newFlattener(e.client.t, e.drift)
	rows := make([][][]Row, len(records)) // by record and table
	for i := range records {
		for t := range op.tables {
			rows[i] = append(rows[i], r.flatten(&op.tables[t], &op.tables[0], params, &records[i]))
		}
	}
	dropped := 0
	for i := range rows {
		better := slices.ContainsFunc(rows[i+1:], func(later [][]Row) bool { return beats(&op.tables[0], later[0][0], rows[i][0][0], true) }) ||
			slices.ContainsFunc(rows[:i], func(earlier [][]Row) bool { return beats(&op.tables[0], earlier[0][0], rows[i][0][0], false) })
		if better {
			dropped++
			continue
		}
		for t := range op.tables {
			e.rows[op.tables[t].name] = append(e.rows[op.tables[t].name], rows[i][t]...)
		}
	}
	key := LedgerRow{Dataset: op.name, School: params["school_bid"]}
	if key.School == "" {
		key.District = params["district_bid"]
	}
	if dropped > 0 {
		r.count(op.name, "", keyMember(&op.tables[0]), DuplicateRecord, dropped)
	}
	sums := e.ledger[key]
	e.ledger[key] = [2]int64{sums[0] + int64(len(records)), sums[1] + int64(dropped)}
}

// keyMember is the member that tells the records of a list apart.
func keyMember(table *table) string {
	for _, col := range table.columns {
		if col.key && !strings.HasPrefix(col.source, "$") {
			return col.source
		}
	}
	return ""
}

// beats says whether the row that one record makes replaces that of another, which came before it or not.
func beats(table *table, one, other Row, after bool) bool {
	for _, col := range table.columns {
		if col.key && (one[col.name] == nil || one[col.name] == "" || one[col.name] != other[col.name]) {
			return false
		}
	}
	if keyMember(table) == "" || strings.HasSuffix(table.name, "_school_classes") && !maps.Equal(one, other) {
		return false
	}
	readable := func(r Row) int64 {
		if at, is := r["modified_date_time"].(int64); is {
			return at
		}
		return -1 << 62
	}
	if readable(one) != readable(other) {
		return readable(one) > readable(other)
	}
	return after
}

// fanOut are the parameters of the calls of an operation.
func (e *exporter) fanOut(op *operation) []map[string]string {
	all := []map[string]string{}
	add := func(pairs ...string) {
		params := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			params[pairs[i]] = pairs[i+1]
		}
		if !slices.ContainsFunc(all, func(other map[string]string) bool { return maps.Equal(params, other) }) {
			all = append(all, params)
		}
	}
	named := func(table, column, school, perspective string) []string {
		ids := []string{}
		for _, row := range e.feeds.rows[table] {
			id, named := row[column].(string)
			seen, perPerspective := row["requested_perspective_bid"]
			if named && id != "" && row["requested_school_bid"] == school && (!perPerspective || seen == perspective) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	switch op.name {
	case "districts", "schools":
		add()
		return all
	case "district_schools":
		for _, d := range e.world.Districts() {
			add("district_bid", d.Bid)
		}
		return all
	}
	for _, s := range e.world.Schools() {
		switch op.name {
		case "students", "test_results":
			add("school_bid", s.Bid)
			continue
		case "student_details":
			for _, id := range named("students", "student_bid", s.Bid, "") {
				add("school_bid", s.Bid, "student_bid", id)
			}
			continue
		}
		for _, d := range e.world.Districts() {
			if !slices.Contains(d.Schools, s.Bid) {
				continue
			}
			var parameter string
			var ids []string
			switch op.name {
			case "school_class_details":
				parameter, ids = "school_class_bid", named("school_classes", "school_class_bid", s.Bid, d.Bid)
			case "student_school_classes":
				parameter, ids = "student_bid", named("students", "student_bid", s.Bid, d.Bid)
			case "educator_school_classes":
				parameter, ids = "educator_bid", slices.Concat(
					named("educator_school_associations", "educator_bid", s.Bid, d.Bid), named("school_class_educators", "educator_bid", s.Bid, d.Bid))
			case "educator_school_association_details":
				parameter = "educator_school_association_bid"
				ids = named("educator_school_associations", parameter, s.Bid, d.Bid)
			default:
				add("school_bid", s.Bid, "perspective_bid", d.Bid)
				continue
			}
			for _, id := range ids {
				add("school_bid", s.Bid, "perspective_bid", d.Bid, parameter, id)
			}
		}
	}
	return all
}
