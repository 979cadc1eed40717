package simulator

import (
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
