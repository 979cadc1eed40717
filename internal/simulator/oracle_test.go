package simulator

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestOracleAgreesWithWhatIsServed reads the whole service over HTTP, decodes it with encoding/json and makes rows of it by the
// rules of the contract for clean values. Only the list of tables is shared with the oracle.
func TestOracleAgreesWithWhatIsServed(t *testing.T) {
	t.Parallel()
	world := small()
	_, c := start(t, world, ServerOptions{PageSize: 20, ListPageSize: 7})
	agree(t, world, c, OracleOptions{Datasets: AllDatasets()}, nil)
}

// TestOracleAgreesOnEnrollmentParameters asks for past days, changes and removed records.
func TestOracleAgreesOnEnrollmentParameters(t *testing.T) {
	t.Parallel()
	// The seed is one whose few classes include removed ones.
	world := NewWorld(Options{Seed: 5, Districts: 2, SchoolSizes: []int{1, 110}})
	_, c := start(t, world, ServerOptions{ListPageSize: 50})
	date := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return at
	}
	all := world.Oracle(OracleOptions{Datasets: AllDatasets()})
	for name, test := range map[string]struct {
		options OracleOptions
		send    url.Values
		differ  []string // tables that must not be as in a full run
	}{
		"a day in the past": {
			OracleOptions{EffectiveDate: date("2026-04-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2026-04-01"}},
			[]string{
				"academic_years", "enrollment_sessions", "student_school_associations", "school_classes", "educator_school_associations",
				"student_school_classes", "educator_school_classes", "school_class_details",
			},
		},
		"today": {
			OracleOptions{EffectiveDate: date("2026-11-20T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2026-11-20"}},
			[]string{"academic_years"},
		},
		"a day long ago": {
			OracleOptions{EffectiveDate: date("1999-01-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"1999-01-01"}},
			[]string{"academic_years", "student_school_associations"},
		},
		"years to come": {
			OracleOptions{EffectiveDate: date("2030-01-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2030-01-01"}},
			[]string{"academic_years", "school_classes"},
		},
		"changes since a date": {
			OracleOptions{ModifiedSince: date("2026-06-01T00:00:00Z")},
			url.Values{"modified-since": {"2026-06-01"}},
			[]string{
				"academic_years", "student_school_associations", "school_classes", "educator_school_associations",
				"student_school_classes", "educator_school_classes",
			},
		},
		"changes since a moment": {
			OracleOptions{ModifiedSince: date("2026-09-01T12:30:00Z")},
			url.Values{"modified-since": {"2026-09-01T12:30:00Z"}},
			[]string{"student_school_associations", "school_classes"},
		},
		"removed too": {
			OracleOptions{IncludeRemoved: true},
			url.Values{"include-removed": {"true"}},
			[]string{"student_school_associations", "school_classes", "student_school_classes", "educator_school_classes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.t = t
			test.options.Datasets = AllDatasets()
			agree(t, world, &own, test.options, test.send)
			oracle := world.Oracle(test.options)
			for _, table := range test.differ {
				require.NotEqual(t, len(all[table]), len(oracle[table]), table)
			}
		})
	}
}

// agree compares what the oracle says with what the service serves to calls that carry the given parameters where they are known.
func agree(t *testing.T, world *World, c *client, options OracleOptions, send url.Values) {
	t.Helper()
	served, oracle := export(c, world, send), world.Expect(options)
	require.Len(t, oracle.Rows, len(tables()))
	for _, table := range tables() {
		rows := served.rows[table.name]
		if send == nil {
			require.NotEmpty(t, rows, table.name)
		}
		if len(rows) == 0 {
			rows = []Row{}
		}
		// The oracle's order is a contract of its own: sort what was served by it.
		sortRows(&table, rows)
		if diff := cmp.Diff(oracle.Rows[table.name], rows); diff != "" {
			t.Fatalf("%s: oracle (-) and service (+) differ:\n%s", table.name, diff)
		}
	}
	drift := map[Drift]int64{}
	for _, d := range oracle.Drift {
		require.Positive(t, d.Count)
		n := d.Count
		d.Count = 0
		drift[d] = n
	}
	require.Empty(t, cmp.Diff(drift, served.drift), "drift")
	ledger := map[LedgerRow][2]int64{}
	for _, l := range oracle.Ledger {
		require.Equal(t, l.Received, l.Rows+l.Duplicates)
		ledger[LedgerRow{Dataset: l.Dataset, School: l.School, District: l.District}] = [2]int64{l.Received, l.Duplicates}
	}
	for key, counts := range served.ledger {
		require.Equal(t, ledger[key], counts, "%v", key)
		delete(ledger, key)
	}
	for key, counts := range ledger {
		require.Zero(t, counts, "%v: nothing was served", key)
	}
}

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
	r := &flattener{t: e.client.t, drift: e.drift}
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
		r.count(op.name, keyMember(&op.tables[0]), DuplicateRecord, dropped)
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

// TestDefaultWorldShowsItsVariety makes sure that the agreement above is about something.
func TestDefaultWorldShowsItsVariety(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{SchoolSizes: []int{0, 1, 999, 1000, 300}})
	rows := world.Oracle(OracleOptions{Datasets: AllDatasets()})
	require.Len(t, rows["test_results"], world.Results())
	for _, table := range tables() {
		for _, col := range table.columns {
			nulls, values := 0, 0
			for _, row := range rows[table.name] {
				v, there := row[col.name]
				if !there {
					t.Fatalf("a row of %s lacks column %s", table.name, col.name)
				}
				if v == nil {
					nulls++
				} else {
					values++
				}
			}
			if col.name != "_extra" {
				require.Positive(t, values, "%s.%s has values", table.name, col.name)
			}
			if strings.HasPrefix(col.name, "requested_") || col.name == "ordinal" {
				require.Zero(t, nulls, "%s.%s is required", table.name, col.name)
			}
		}
	}
	require.True(t, slices.ContainsFunc(rows["students"], func(r Row) bool { return r["student_bid"] == nil }))
	require.True(t, slices.ContainsFunc(rows["test_results"], func(r Row) bool { return r["_extra"] != nil }))
	require.True(t, slices.ContainsFunc(rows["test_results"], func(r Row) bool { return r["school_bid"] != r["requested_school_bid"] }))

	perResult := map[any]int{}
	for _, row := range rows["test_result_norms"] {
		perResult[row["test_result_bid"]]++
	}
	require.Len(t, perResult, world.Results())
	for _, n := range perResult {
		require.True(t, n >= 1 && n <= 3)
	}
	clear(perResult)
	areas := map[any]any{}
	for _, row := range rows["test_result_instructional_areas"] {
		perResult[row["test_result_bid"]]++
		name, seen := areas[row["instructional_area_bid"]]
		require.True(t, !seen || name == row["instructional_area_name"], "areas have stable names")
		areas[row["instructional_area_bid"]] = row["instructional_area_name"]
	}
	require.Len(t, perResult, world.Results())
	for _, n := range perResult {
		require.True(t, n >= 3 && n <= 5)
	}
}

func TestOracleOfSomeSchools(t *testing.T) {
	t.Parallel()
	world := small()
	asked := world.Schools()[2].Bid
	all := world.Oracle(OracleOptions{Datasets: AllDatasets()})
	some := world.Oracle(OracleOptions{Datasets: AllDatasets(), Schools: []string{asked, "unknown"}})
	for _, table := range tables() {
		want := []Row{}
		for _, row := range all[table.name] {
			if bid, perSchool := row["requested_school_bid"]; !perSchool || bid == asked {
				want = append(want, row)
			}
		}
		require.Equal(t, want, some[table.name], table.name)
	}
	require.Len(t, some["test_results"], 19)
}

func TestOracleOrder(t *testing.T) {
	t.Parallel()
	for _, table := range tables() {
		if table.name != "test_result_norms" {
			continue
		}
		rows := []Row{
			{"requested_school_bid": "b", "test_result_bid": "a", "ordinal": int64(0)},
			{"requested_school_bid": "a", "test_result_bid": "b", "ordinal": int64(10)},
			{"requested_school_bid": "a", "test_result_bid": "b", "ordinal": int64(9)},
			{"requested_school_bid": "a", "test_result_bid": nil, "ordinal": int64(11)},
			{"requested_school_bid": "a", "test_result_bid": "B", "ordinal": int64(0)},
		}
		want := []Row{rows[3], rows[4], rows[2], rows[1], rows[0]}
		sortRows(&table, rows)
		require.Equal(t, want, rows)
		return
	}
	t.Fatal("no such table")
}
