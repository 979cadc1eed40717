package deltalake_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestNoValueOfAStudent plants a value in every column that reveals something about a person, and searches all bytes of
// the logs for it.
func TestNoValueOfAStudent(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	world := snapshottest.PurgeWorld()
	planted := make(map[string][]string) // how a log would show the values of each table
	values := 0
	for _, table := range schemas.Tables() {
		record := snapshottest.Record{}
		for i := range table.Columns {
			c := &table.Columns[i]
			switch {
			case c.Class != schemas.None:
				values++
				value, shown := plantedValue(c.Type, values)
				record[c.Name] = value
				planted[table.Name] = append(planted[table.Name], shown)
			case c.Name == "requested_school_bid":
				record[c.Name] = snapshottest.Stays
			case c.Required && c.Type == schemas.String:
				record[c.Name] = "required"
			}
		}
		world[table.Name] = append(world[table.Name], record)
	}
	require.Greater(t, values, 80)
	var datasets []string
	for _, dataset := range schemas.Datasets() {
		datasets = append(datasets, dataset.Name)
	}
	for _, date := range []string{"2026-11-18", "2026-11-19", snapshottest.Today} {
		snapshottest.StageWorld(t, d.store, "run-"+date, world, snapshottest.Datasets(datasets...), snapshottest.OnDate(date))
		snapshottest.PublishRun(t, d.store, "run-"+date)
		require.NoError(t, fold(t.Context(), d.store))
		mustReconcile(t, d.store, creating())
	}
	require.True(t, exists(checkpointName(d.root, "students", interval)), "the checkpoint from before the purge")
	require.NoError(t, purge(t.Context(), d.store, snapshottest.Gone))
	require.NoError(t, reconcile(t.Context(), d.store))
	requireUpToDate(t, d.root)

	logs, checkpoints := 0, 0
	for name, content := range snapshottest.Tree(t, d.root) {
		if !strings.Contains(name, "/_delta_log/") || strings.HasSuffix(name, "/") {
			continue
		}
		logs++
		if strings.HasSuffix(name, ".parquet") {
			checkpoints++
			content += checkpointTexts(t, content)
			require.Contains(t, content, "numRecords", name)
		}
		for table := range planted {
			for _, value := range planted[table] {
				require.NotContains(t, content, value, name)
			}
		}
		require.NotContains(t, content, " of "+snapshottest.Stays, name)
	}
	require.Greater(t, logs, 2*len(schemas.Tables()))
	require.GreaterOrEqual(t, checkpoints, len(schemas.Tables()))

	// The footers of the files, from which the statistics are made, do contain the values.
	for table, shown := range planted {
		var footer strings.Builder
		for name := range live(t, table, commits(t, d.root, table)) {
			object, err := d.store.Open(t.Context(), name)
			require.NoError(t, err)
			statistics, err := parquetfile.ReadStatistics(object, object.Size())
			require.NoError(t, err)
			require.NoError(t, object.Close())
			require.NoError(t, json.NewEncoder(&footer).Encode(statistics.Columns))
		}
		for _, value := range shown {
			require.Contains(t, footer.String(), strings.Replace(value, plantedDate, plantedDay, 1), table)
		}
	}
}

// plantedDate is a date of birth, and plantedDay its day.
const (
	plantedDate = "2011-07-13"
	plantedDay  = "15168"
)

// plantedValue returns a value for a record, and how a log would show it.
func plantedValue(kind schemas.Type, n int) (value, shown string) {
	switch kind {
	case schemas.String, schemas.JSON:
		value = fmt.Sprintf("planted-%03d", n)
		return value, value
	case schemas.Date:
		return plantedDay, plantedDate
	default:
		value = strconv.Itoa(91827364 + n)
		return value, value
	}
}

// TestStatistics expects exact statistics for columns of schools and districts, and none for other columns.
func TestStatistics(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	world := snapshottest.PurgeWorld()
	for _, day := range []string{"20314", "20615"} {
		world["academic_years"] = append(world["academic_years"], snapshottest.Record{
			"requested_school_bid": snapshottest.Stays, "requested_perspective_bid": day, "academic_year_bid": day, "begin_date": day,
		})
	}
	// A string that no shorter string exceeds has no upper bound. If one column has no bounds, no column gets any.
	const table, unbounded = "district_schools", "school_bid"
	world[table] = append(world[table], snapshottest.Record{
		"requested_district_bid": "d1", unbounded: strings.Repeat("\U0010ffff", 30), "district_bid": "d1",
	})
	snapshottest.StageWorld(t, d.store, "run", world, snapshottest.Datasets("schools", "district_schools", "students", "academic_years", "test_results"))
	snapshottest.PublishRun(t, d.store, "run")
	mustReconcile(t, d.store, creating())
	bounded := 0
	bounds := []string{"requested_school_bid", "requested_perspective_bid", "requested_district_bid", "school_bid", "district_bid"}
	for _, table := range []string{"schools", "district_schools", "students", "academic_years", "enrollment_sessions", "test_results"} {
		declared, _, _ := schemas.FindTable(table)
		log := commits(t, d.root, table)
		var columns []string
		for i := range declared.Columns {
			if c := &declared.Columns[i]; slices.Contains(bounds, c.Name) {
				columns = append(columns, c.Name)
			}
		}
		meta := slices.IndexFunc(log[0], func(l line) bool { return l.MetaData != nil })
		require.Equal(t, strings.Join(columns, ","), log[0][meta].MetaData.Configuration["delta.dataSkippingStatsColumns"])
		for _, f := range live(t, table, log) {
			var stats struct {
				NumRecords           int64
				MinValues, MaxValues map[string]any
				NullCount            map[string]int64
			}
			require.NoError(t, json.Unmarshal([]byte(f.Stats), &stats))
			require.Positive(t, stats.NumRecords)
			require.Len(t, stats.NullCount, len(declared.Columns))
			want := make(map[string]any)
			for _, name := range columns {
				if table != "district_schools" && stats.NullCount[name] < stats.NumRecords {
					want[name] = stats.MinValues[name]
					require.NotEmpty(t, stats.MinValues[name], name)
					require.NotEmpty(t, stats.MaxValues[name], name)
					bounded++
				}
			}
			require.Len(t, stats.MinValues, len(want), table)
			require.Len(t, stats.MaxValues, len(want), table)
			if table == "academic_years" {
				require.Equal(t, "20314", stats.MinValues["requested_perspective_bid"])
			}
			require.Equal(t, table != "district_schools", strings.Contains(f.Stats, "minValues"))
			if table == "test_results" {
				require.Equal(t, snapshottest.Gone, stats.MinValues["requested_school_bid"])
				require.Equal(t, snapshottest.Stays, stats.MaxValues["requested_school_bid"])
				require.EqualValues(t, 8, stats.NumRecords)
				require.EqualValues(t, 2, stats.NullCount["test_result_bid"])
			}
		}
	}
	require.Greater(t, bounded, 8)
}
