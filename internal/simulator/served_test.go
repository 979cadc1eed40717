package simulator_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// export makes every call of every operation.
func export(c *simulator.Client, world *simulator.World, send url.Values) *exporter {
	c.T.Helper()
	newExporter := func(send url.Values) *exporter {
		return &exporter{client: c, world: world, send: send, rows: map[string][]oracle.Row{}, drift: map[oracle.Drift]int64{}, ledger: map[oracle.LedgerRow][2]int64{}}
	}
	e := newExporter(send)
	// Lists over which other operations fan out are read without filters.
	unfiltered := maps.Clone(send)
	delete(unfiltered, "modified-since")
	e.feeds = newExporter(unfiltered)
	for _, op := range simulator.Operations() {
		if op.Name == "students" || op.Name == "school_classes" || op.Name == "educator_school_associations" {
			e.feeds.read(op)
		}
	}
	for _, op := range simulator.Operations() {
		e.read(op)
	}
	return e
}

type exporter struct {
	client *simulator.Client
	world  *simulator.World
	send   url.Values
	rows   map[string][]oracle.Row
	drift  map[oracle.Drift]int64
	ledger map[oracle.LedgerRow][2]int64 // received and dropped, by dataset, school and district
	feeds  *exporter
}

func (e *exporter) read(op *simulator.Operation) {
	c := e.client
	c.T.Helper()
	for _, params := range e.fanOut(op) {
		path, query := op.Template, url.Values{}
		for name, values := range e.send {
			if slices.Contains(op.Optional, name) {
				query[name] = values
			}
		}
		for name, value := range params {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
			kebab := strings.ReplaceAll(name, "_", "-")
			if slices.Contains(op.Required, kebab) || kebab == "school-bid" && slices.Contains(op.Optional, kebab) {
				query.Set(kebab, value)
			}
		}
		e.chain(op, params, c.List(op, path, query))
	}
}

// chain takes the records of one list, and keeps one record per key.
func (e *exporter) chain(op *simulator.Operation, params map[string]string, records []simulator.Node) {
	r := newFlattener(e.client.T, e.drift)
	rows := make([][][]oracle.Row, len(records)) // by record and table
	for i := range records {
		for t := range op.Tables {
			rows[i] = append(rows[i], r.flatten(&op.Tables[t], &op.Tables[0], params, &records[i]))
		}
	}
	dropped := 0
	for i := range rows {
		better := slices.ContainsFunc(rows[i+1:], func(later [][]oracle.Row) bool { return beats(&op.Tables[0], later[0][0], rows[i][0][0], true) }) ||
			slices.ContainsFunc(rows[:i], func(earlier [][]oracle.Row) bool { return beats(&op.Tables[0], earlier[0][0], rows[i][0][0], false) })
		if better {
			dropped++
			continue
		}
		for t := range op.Tables {
			e.rows[op.Tables[t].Name] = append(e.rows[op.Tables[t].Name], rows[i][t]...)
		}
	}
	key := oracle.LedgerRow{Dataset: op.Name, School: params["school_bid"]}
	if key.School == "" {
		key.District = params["district_bid"]
	}
	if dropped > 0 {
		r.count(op.Name, "", keyMember(&op.Tables[0]), oracle.DuplicateRecord, dropped)
	}
	sums := e.ledger[key]
	e.ledger[key] = [2]int64{sums[0] + int64(len(records)), sums[1] + int64(dropped)}
}

// keyMember returns the member that identifies the records of a list.
func keyMember(table *simulator.Table) string {
	for _, col := range table.Columns {
		if col.Key && !strings.HasPrefix(col.Source, "$") {
			return col.Source
		}
	}
	return ""
}

// beats reports whether one record's row replaces another's. after reports whether it came later.
func beats(table *simulator.Table, one, other oracle.Row, after bool) bool {
	for _, col := range table.Columns {
		if col.Key && (one[col.Name] == nil || one[col.Name] == "" || one[col.Name] != other[col.Name]) {
			return false
		}
	}
	if keyMember(table) == "" || strings.HasSuffix(table.Name, "_school_classes") && !maps.Equal(one, other) {
		return false
	}
	readable := func(r oracle.Row) int64 {
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

// fanOut returns the parameters of the calls of an operation.
func (e *exporter) fanOut(op *simulator.Operation) []map[string]string {
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
	switch op.Name {
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
		switch op.Name {
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
			switch op.Name {
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
