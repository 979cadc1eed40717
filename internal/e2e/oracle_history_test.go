package e2e

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

var nightsFlag = flag.Int("nights", 8, "nights to fold and to compare with the true history; more than 8 are consecutive")

// TestHistoryIsTrue folds nights in which students move and leave, agreements end and a school is added. It compares
// every version, its dates and the reason for its end, the coverage, and the views with the simulated world.
func TestHistoryIsTrue(t *testing.T) {
	t.Parallel()
	service := simulator.Options{Seed: 7, Schools: 9, SchoolSizes: []int{30}, Results: 200}
	dest := filepath.ToSlash(filepath.Join(t.TempDir(), "growth-data"))
	first, apart := time.Date(2025, time.December, 20, 0, 0, 0, 0, time.UTC), 9
	if *nightsFlag > 8 {
		first, apart = time.Date(2025, time.August, 20, 0, 0, 0, 0, time.UTC), 1
	}
	var nights []time.Time
	for i := range *nightsFlag {
		night := first.AddDate(0, 0, apart*i)
		nights = append(nights, night)
		args := []string{
			"run", "--simulate", "--simulate-seed", "7", "--simulate-schools", "9", "--simulate-sizes", "30", "--simulate-results", "200",
			"--dest", dest, "--snapshot-date", night.Format(time.DateOnly), "--backdate", "--max-shrink", "off", // one of 9 schools may go
		}
		if apart > 1 {
			args = append(args, "--max-removed", "off", "--max-changed", "off", "--max-emptied", "off")
		} else {
			args = append(args, "--history") // and no guard on rows may hold the night back
		}
		execute(t, growthExport, args...)
	}
	execute(t, growthExport, "history", "--dest", dest)
	truth := oracle.Nights(service, oracle.Options{}, nights)
	require.Greater(t, compareWithTruth(t, dest, truth), 500)
	compareViews(t, dest, truth)
}

// compareWithTruth compares the versions and the coverage of a history with the true ones. It returns how many versions
// have ended.
func compareWithTruth(t *testing.T, dest string, truth *oracle.History) (ended int) {
	t.Helper()
	want := map[string][]string{}
	for _, v := range slices.Concat(truth.Ended, truth.Current()) {
		var because any
		if v.Because != "" {
			because = v.Because
		}
		want[v.Table] = append(want[v.Table], line(v.Table, v.Row, v.From, v.To, because))
	}
	for _, c := range truth.Coverage {
		want["coverage"] = append(want["coverage"], fmt.Sprint(c.Dataset, c.School, c.Status, c.From, c.To))
	}
	d := newDuck(t)
	for table := range want {
		files := fmt.Sprintf("read_parquet('%s/history/%s/valid_to=*/*.parquet', hive_partitioning = true)", dest, table)
		columns := d.describe("SELECT * FROM " + files)
		counts := map[string]int{}
		for _, version := range want[table] {
			counts[version]++
		}
		for _, values := range d.query("SELECT * FROM " + files) {
			row := oracle.Row{}
			for i, value := range values {
				name, _ := columns[i][0].(string)
				row[name] = value
			}
			if row["ended_because"] != nil {
				ended++
			}
			if table == "coverage" {
				counts[fmt.Sprint(row["dataset"], row["requested_school_bid"], row["status"], row["valid_from"], row["valid_to"])]--
				continue
			}
			counts[line(table, row, row["valid_from"], row["valid_to"], row["ended_because"])]--
		}
		maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
		require.Empty(t, counts, "table %s: positive where the history lacks a version", table)
	}
	return ended
}

// line returns a version as text, without its ordinal.
func line(table string, row oracle.Row, from, to, because any) string {
	values := []any{from, to, because}
	for _, t := range simulator.Tables() {
		if t.Name != table {
			continue
		}
		for _, col := range t.Columns {
			if col.Source != "#" {
				values = append(values, row[col.Name])
			}
		}
	}
	return fmt.Sprintf("%v", values)
}
