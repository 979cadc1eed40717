package simulator_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// TestOracleAgreesWithWhatIsServed reads the whole service over HTTP, decodes it with encoding/json, and makes rows by
// the rules for clean values. Only the list of tables is shared with the oracle.
func TestOracleAgreesWithWhatIsServed(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{PageSize: 20, ListPageSize: 7})
	agree(t, world, c, oracle.Options{Datasets: oracle.AllDatasets()}, nil)
}

// TestOracleAgreesOnEnrollmentParameters requests past days, changes and removed records.
func TestOracleAgreesOnEnrollmentParameters(t *testing.T) {
	t.Parallel()
	// With this seed, some of the few classes are removed.
	world := simulator.NewWorld(simulator.Options{Seed: 7, Districts: 2, SchoolSizes: []int{1, 110}})
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{ListPageSize: 50})
	date := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return at
	}
	all := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets()})
	for name, test := range map[string]struct {
		options oracle.Options
		send    url.Values
		differ  []string // tables that must not be as in a full run
	}{
		"a day in the past": {
			oracle.Options{EffectiveDate: date("2026-04-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2026-04-01"}},
			[]string{
				"academic_years", "enrollment_sessions", "student_school_associations", "school_classes", "educator_school_associations",
				"student_school_classes", "educator_school_classes", "school_class_details",
			},
		},
		"today": {
			oracle.Options{EffectiveDate: date("2026-11-20T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2026-11-20"}},
			[]string{"academic_years"},
		},
		"a day long ago": {
			oracle.Options{EffectiveDate: date("1999-01-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"1999-01-01"}},
			[]string{"academic_years", "student_school_associations"},
		},
		"years to come": {
			oracle.Options{EffectiveDate: date("2030-01-01T00:00:00Z"), AsOf: true},
			url.Values{"effective-date": {"2030-01-01"}},
			[]string{"academic_years", "school_classes"},
		},
		"changes since a date": {
			oracle.Options{ModifiedSince: date("2026-06-01T00:00:00Z")},
			url.Values{"modified-since": {"2026-06-01"}},
			[]string{
				"academic_years", "student_school_associations", "school_classes", "educator_school_associations",
				"student_school_classes", "educator_school_classes",
			},
		},
		"changes since a moment": {
			oracle.Options{ModifiedSince: date("2026-09-01T12:30:00Z")},
			url.Values{"modified-since": {"2026-09-01T12:30:00Z"}},
			[]string{"student_school_associations", "school_classes"},
		},
		"removed too": {
			oracle.Options{IncludeRemoved: true},
			url.Values{"include-removed": {"true"}},
			[]string{"student_school_associations", "school_classes", "student_school_classes", "educator_school_classes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.T = t
			test.options.Datasets = oracle.AllDatasets()
			agree(t, world, &own, test.options, test.send)
			oracle := oracle.Rows(world, test.options)
			for _, table := range test.differ {
				require.NotEqual(t, len(all[table]), len(oracle[table]), "rows of table %s", table)
			}
		})
	}
}

// agree compares the oracle's rows with the answers of the service to calls with the given parameters. An operation
// gets only the parameters that it accepts.
func agree(t *testing.T, world *simulator.World, c *simulator.Client, options oracle.Options, send url.Values) {
	t.Helper()
	served, expected := export(c, world, send), oracle.Expect(world, options)
	require.Len(t, expected.Rows, len(simulator.Tables()))
	for _, table := range simulator.Tables() {
		rows := served.rows[table.Name]
		if send == nil {
			require.NotEmpty(t, rows, table.Name)
		}
		if len(rows) == 0 {
			rows = []oracle.Row{}
		}
		// The oracle's order is tested elsewhere, so sort the served rows by it.
		oracle.SortRows(&table, rows)
		if diff := cmp.Diff(expected.Rows[table.Name], rows); diff != "" {
			t.Fatalf("%s: oracle (-) and service (+) differ:\n%s", table.Name, diff)
		}
	}
	drift := map[oracle.Drift]int64{}
	for _, d := range expected.Drift {
		require.Positive(t, d.Count)
		n := d.Count
		d.Count = 0
		drift[d] = n
	}
	require.Empty(t, cmp.Diff(drift, served.drift), "drift")
	ledger := map[oracle.LedgerRow][2]int64{}
	for _, l := range expected.Ledger {
		require.Equal(t, l.Received, l.Rows+l.Duplicates)
		ledger[oracle.LedgerRow{Dataset: l.Dataset, School: l.School, District: l.District}] = [2]int64{l.Received, l.Duplicates}
	}
	for key, counts := range served.ledger {
		require.Equal(t, ledger[key], counts, "%v", key)
		delete(ledger, key)
	}
	for key, counts := range ledger {
		require.Zero(t, counts, "%v: nothing was served", key)
	}
}

// TestDefaultWorldShowsItsVariety makes sure that the tests above cover all kinds of records.
func TestDefaultWorldShowsItsVariety(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{0, 1, 999, 1000, 300}})
	rows := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets()})
	require.Len(t, rows["test_results"], world.Results())
	for _, table := range simulator.Tables() {
		for _, col := range table.Columns {
			nulls, values := 0, 0
			for _, row := range rows[table.Name] {
				v, there := row[col.Name]
				if !there {
					t.Fatalf("a row of %s lacks column %s", table.Name, col.Name)
				}
				if v == nil {
					nulls++
				} else {
					values++
				}
			}
			if col.Name != "_extra" {
				require.Positive(t, values, "%s.%s has values", table.Name, col.Name)
			}
			if strings.HasPrefix(col.Name, "requested_") || col.Name == "ordinal" {
				require.Zero(t, nulls, "%s.%s is required", table.Name, col.Name)
			}
		}
	}
	require.True(t, slices.ContainsFunc(rows["students"], func(r oracle.Row) bool { return r["student_bid"] == nil }))
	require.True(t, slices.ContainsFunc(rows["test_results"], func(r oracle.Row) bool { return r["_extra"] != nil }))
	require.True(t, slices.ContainsFunc(rows["test_results"], func(r oracle.Row) bool { return r["school_bid"] != r["requested_school_bid"] }))

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
	world := simulator.Small()
	asked := world.Schools()[2].Bid
	all := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets()})
	some := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets(), Schools: []string{asked, "unknown"}})
	for _, table := range simulator.Tables() {
		want := []oracle.Row{}
		for _, row := range all[table.Name] {
			if bid, perSchool := row["requested_school_bid"]; !perSchool || bid == asked {
				want = append(want, row)
			}
		}
		require.Equal(t, want, some[table.Name], table.Name)
	}
	require.Len(t, some["test_results"], 19)
}
