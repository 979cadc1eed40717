package simulator

import (
	"encoding/json"
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
	agree(t, world, c, OracleOptions{}, nil)
}

// TestOracleAgreesOnEnrollmentParameters asks for past days, changes and removed records.
func TestOracleAgreesOnEnrollmentParameters(t *testing.T) {
	t.Parallel()
	// The seed is one whose few classes include removed ones.
	world := NewWorld(Options{Seed: 5, SchoolSizes: []int{0, 1, 19, 300}})
	_, c := start(t, world, ServerOptions{ListPageSize: 50})
	date := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return at
	}
	all := world.Oracle(OracleOptions{})
	for name, test := range map[string]struct {
		options OracleOptions
		send    url.Values
		differ  []string // tables that must not be as in a full run
	}{
		"a day in the past": {
			OracleOptions{EffectiveDate: date("2026-04-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2026-04-01"}},
			[]string{"academic_years", "enrollment_sessions", "student_school_associations", "school_classes", "educator_school_associations"},
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
			[]string{"academic_years", "student_school_associations", "school_classes", "educator_school_associations"},
		},
		"changes since a moment": {
			OracleOptions{ModifiedSince: date("2026-09-01T12:30:00Z")},
			url.Values{"modified-since": {"2026-09-01T12:30:00Z"}},
			[]string{"student_school_associations", "school_classes"},
		},
		"removed too": {
			OracleOptions{IncludeRemoved: true},
			url.Values{"include-removed": {"true"}},
			[]string{"student_school_associations", "school_classes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.t = t
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
	served, oracle := export(c, world, send), world.Oracle(options)
	require.Len(t, oracle, len(tables()))
	for _, table := range tables() {
		rows := served[table.name]
		if send == nil {
			require.NotEmpty(t, rows, table.name)
		}
		if len(rows) == 0 {
			rows = []Row{}
		}
		// The oracle's order is a contract of its own: sort what was served by it.
		sortRows(&table, rows)
		if diff := cmp.Diff(oracle[table.name], rows); diff != "" {
			t.Fatalf("%s: oracle (-) and service (+) differ:\n%s", table.name, diff)
		}
	}
}

// export reads every operation for everything it fans out over.
func export(c *client, world *World, send url.Values) map[string][]Row {
	c.t.Helper()
	rows := map[string][]Row{}
	for _, op := range operations() {
		for _, params := range fanOut(op, world) {
			path, query := op.template, url.Values{}
			for name, values := range send {
				if slices.Contains(op.optional, name) {
					query[name] = values
				}
			}
			for name, value := range params {
				path = strings.ReplaceAll(path, "{"+name+"}", value)
				if kebab := strings.ReplaceAll(name, "_", "-"); slices.Contains(op.required, kebab) {
					query.Set(kebab, value)
				}
			}
			for _, record := range c.list(op, path, query) {
				fields, isObject := record.(map[string]any)
				require.True(c.t, isObject)
				for _, table := range tables() {
					if table.dataset == op.name {
						rows[table.name] = append(rows[table.name], flatten(c.t, &table, params, fields)...)
					}
				}
			}
		}
	}
	return rows
}

func fanOut(op *operation, world *World) []map[string]string {
	switch op.fan {
	case perDistrict:
		var all []map[string]string
		for _, d := range world.Districts() {
			all = append(all, map[string]string{"district_bid": d.Bid})
		}
		return all
	case perSchool:
		var all []map[string]string
		for _, s := range world.Schools() {
			all = append(all, map[string]string{"school_bid": s.Bid})
		}
		return all
	case perPerspective:
		var all []map[string]string
		for _, s := range world.Schools() {
			for _, d := range world.Districts() {
				if slices.Contains(d.Schools, s.Bid) {
					all = append(all, map[string]string{"school_bid": s.Bid, "perspective_bid": d.Bid})
				}
			}
		}
		return all
	default:
		return []map[string]string{{}}
	}
}

func flatten(t *testing.T, table *table, params map[string]string, record map[string]any) []Row {
	t.Helper()
	if table.each == "" {
		return []Row{rowOf(t, table, params, nil, record, 0)}
	}
	rows := []Row{}
	elements, _ := record[table.each].([]any)
	for i, element := range elements {
		fields, isObject := element.(map[string]any)
		if !isObject {
			fields = map[string]any{"_value": element}
		}
		rows = append(rows, rowOf(t, table, params, record, fields, i))
	}
	return rows
}

func rowOf(t *testing.T, table *table, params map[string]string, parent, record map[string]any, ordinal int) Row {
	t.Helper()
	row := Row{}
	for _, col := range table.columns {
		switch col.source[0] {
		case '$':
			row[col.name] = params[col.source[1:]]
		case '^':
			row[col.name] = parent[col.source[1:]]
		case '#':
			row[col.name] = int64(ordinal)
		case '*':
			row[col.name] = extraOf(t, record)
		default:
			row[col.name] = typed(t, col.name, dig(record, col.source))
		}
	}
	return row
}

// extraOf knows by name what the default world holds beyond columns.
func extraOf(t *testing.T, record map[string]any) any {
	t.Helper()
	extra := map[string]any{}
	for _, name := range []string{"accommodations", "_value"} {
		if v, there := record[name]; there {
			extra[name] = v
		}
	}
	if len(extra) == 0 {
		return nil
	}
	raw, err := json.Marshal(extra)
	require.NoError(t, err)
	return string(raw)
}

func dig(record map[string]any, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		return record[name]
	}
	inner, _ := record[name].(map[string]any)
	return inner[rest]
}

// typed converts by the column's name: what it means for a clean value to fit.
func typed(t *testing.T, column string, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		switch column {
		case "standard_error", "score", "score_low", "score_high", "response_disengaged_percentage", "impact_of_disengagement":
			n, err := v.Float64()
			require.NoError(t, err, column)
			return n
		}
		n, err := v.Int64()
		require.NoError(t, err, column)
		return n
	case string:
		if strings.HasSuffix(column, "_date_time") {
			at, err := time.Parse(time.RFC3339Nano, v)
			if err != nil {
				at, err = time.Parse("2006-01-02T15:04:05.999999999", v)
			}
			require.NoError(t, err, column)
			return at.UnixMicro()
		}
		return v
	default:
		return v
	}
}

// TestDefaultWorldShowsItsVariety makes sure that the agreement above is about something.
func TestDefaultWorldShowsItsVariety(t *testing.T) {
	t.Parallel()
	world := NewWorld(Options{SchoolSizes: []int{0, 1, 999, 1000, 300}})
	rows := world.Oracle(OracleOptions{})
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
	all, some := world.Oracle(OracleOptions{}), world.Oracle(OracleOptions{Schools: []string{asked, "unknown"}})
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
