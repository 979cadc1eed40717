package simulator_test

import (
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/simulator/oracle"
)

func oddWorld(seed uint64) *simulator.World {
	return simulator.NewWorld(simulator.Options{Seed: seed, Quirks: odd.New(), SchoolSizes: []int{0, 1, 19, 20, 21, 130}})
}

// TestOracleAgreesOnQuirks reads an odd world with an independent implementation of JSON and of the contract's rules,
// which shares no code with the quirks.
func TestOracleAgreesOnQuirks(t *testing.T) {
	t.Parallel()
	world := oddWorld(7)
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{PageSize: 20, ListPageSize: 7})
	agree(t, world, c, oracle.Options{Datasets: oracle.AllDatasets()}, nil)
}

// TestOracleAgreesOnQuirksAndParameters does the same with the parameters for a day in the past, changes and removed
// records, all at once.
func TestOracleAgreesOnQuirksAndParameters(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{Seed: 3, Quirks: odd.New(), Districts: 2, SchoolSizes: []int{1, 60}})
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{ListPageSize: 10})
	options := oracle.Options{
		Datasets: oracle.AllDatasets(), EffectiveDate: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), AsOf: true, ModifiedSince: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), IncludeRemoved: true,
	}
	agree(t, world, c, options, url.Values{"effective-date": {"2026-10-01"}, "modified-since": {"2026-02-01"}, "include-removed": {"true"}})
}

// TestOracleAgreesOnPlanted does the same for a world that marks all values about people.
func TestOracleAgreesOnPlanted(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{Seed: 7, Quirks: odd.Planted{}, Districts: 2, SchoolSizes: []int{0, 1, 40}})
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{PageSize: 20, ListPageSize: 7})
	agree(t, world, c, oracle.Options{Datasets: oracle.AllDatasets()}, nil)

	rows := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets()})
	marked := map[string]bool{}
	for table, rows := range rows {
		for _, row := range rows {
			for column, value := range row {
				if text, _ := value.(string); strings.Contains(text, odd.PlantedMark) || strings.HasSuffix(text, odd.PlantedBirthday) {
					marked[table+"."+column] = true
				}
			}
		}
	}
	for _, column := range []string{
		"students.student_bid", "students.student_id", "students.first_name", "student_details.date_of_birth", "student_details.state_student_id",
		"student_school_associations.student_school_association_bid", "test_results.test_result_bid", "test_result_norms.test_result_bid",
		"school_classes.class_name", "school_class_students.student_bid", "school_class_educators.last_name", "school_class_details._extra",
		"student_school_classes.requested_student_bid", "educator_school_associations.educator_bid", "schools._extra",
	} {
		require.Contains(t, marked, column)
	}
	require.NotContains(t, marked, "schools.school_bid")

	school := url.QueryEscape(world.Schools()[2].Bid)
	for path, want := range map[string]string{
		"/test-results/v1/growth?school-bid=" + school: `"nextPage":"` + odd.PlantedMark, "/students/v2/nobody": odd.PlantedMark,
	} {
		answer, err := c.HTTP.Do(c.Request(t.Context(), path))
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Contains(t, string(body), want)
		require.Contains(t, answer.Header.Get("X-Student"), odd.PlantedMark)
	}
}

// TestQuirksShowInWhatIsExpected checks that the expected rows show the consequences that a careless exporter would
// miss.
func TestQuirksShowInWhatIsExpected(t *testing.T) {
	t.Parallel()
	world := oddWorld(7)
	expected := oracle.Expect(world, oracle.Options{Datasets: oracle.AllDatasets()})
	kinds := map[string]int{}
	for _, d := range expected.Drift {
		kinds[d.Kind]++
		require.NotEmpty(t, d.Table)
	}
	require.Len(t, kinds, 4)
	for kind, n := range kinds {
		require.Greater(t, n, 10, kind)
	}
	dropped, unavailable, received := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, l := range expected.Ledger {
		dropped[l.Dataset] += l.Duplicates
		unavailable[l.Dataset] += l.Unavailable
		received[l.Dataset] += l.Received
	}
	for _, op := range simulator.Operations() {
		require.Positive(t, received[op.Name], op.Name)
		if op.Single == "" {
			require.Positive(t, dropped[op.Name], "%s: records come twice", op.Name)
		} else {
			require.Zero(t, dropped[op.Name])
		}
		require.Equal(t, op.About != 0, unavailable[op.Name] > 0, "%s: records without the id that a call needs", op.Name)
	}
	empty := 0
	for _, table := range []string{"students", "test_results", "school_classes", "student_school_associations", "educator_school_associations"} {
		key := simulator.FindOperation(simulator.Operations(), table).Tables[0].ColumnOf(simulator.FindOperation(simulator.Operations(), table).Tables[0].KeySource())
		require.True(t, slices.ContainsFunc(expected.Rows[table], func(r oracle.Row) bool { return r[key] == nil }), "%s without a key", table)
		if slices.ContainsFunc(expected.Rows[table], func(r oracle.Row) bool { return r[key] == "" }) {
			empty++
		}
	}
	require.Positive(t, empty, "empty keys")
	require.Greater(t, len(expected.Rows["test_results"]), world.Results(), "a record without a key is not a duplicate")
}

func TestSameOddWorldSameBytes(t *testing.T) {
	t.Parallel()
	read := func() []string {
		world := oddWorld(9)
		_, c := simulator.StartClient(t, world, simulator.ServerOptions{PageSize: 20})
		var bodies []string
		for _, s := range world.Schools() {
			bodies = append(bodies, string(c.Get("/test-results/v1/growth?school-bid="+url.QueryEscape(s.Bid))))
			bodies = append(bodies, string(c.Get("/organizations/v1/schools/"+url.PathEscape(s.Bid)+"/students")))
		}
		return bodies
	}
	require.Equal(t, read(), read())
}
