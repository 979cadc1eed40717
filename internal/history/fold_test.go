package history_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// update folds the snapshots that are published at a destination.
func update(ctx context.Context, t *testing.T, store sink.Store, rebuild bool) (*history.Report, error) {
	t.Helper()
	return history.Update(ctx, snapshot.At(store), history.Options{Rebuild: rebuild, Workspace: func() (sink.Store, func() error, error) {
		return snapshottest.NewDir(t, t.TempDir()), func() error { return nil }, nil
	}})
}

// historyFiles returns the history's files and documents of a destination on disk.
func historyFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	files := snapshottest.Tree(t, root)
	maps.DeleteFunc(files, func(path, _ string) bool {
		return !strings.HasPrefix(path, "history/") && !strings.HasPrefix(path, "_history") && !strings.HasPrefix(path, "_staging/")
	})
	return files
}

// TestFold folds random nights and compares every date with its snapshot, and every reason with a simple computation of
// it.
func TestFold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 2))
			nights := randomNights(random, 7)
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			for i, n := range nights {
				require.NoError(t, n.publish(t.Context(), store))
				if i+1 == len(nights) || random.IntN(3) > 0 {
					_, err := update(t.Context(), t, store, false)
					require.NoError(t, err)
				}
			}
			versions, manifest := readHistory(t, store)
			require.Len(t, manifest.Snapshots, len(nights))
			requireHistory(t, nights, versions)
			want := historyFiles(t, root)
			require.Empty(t, slices.DeleteFunc(slices.Collect(maps.Keys(want)), func(p string) bool { return !strings.HasPrefix(p, "_staging") }))
			report, err := update(t.Context(), t, store, false)
			require.NoError(t, err)
			require.Empty(t, report.Folded)
			_, err = update(t.Context(), t, store, true)
			require.NoError(t, err)
			require.Equal(t, want, historyFiles(t, root), "a rebuild makes the same files")

			// Replace the last night, first by an identical one and then by another one.
			last := *nights[len(nights)-1]
			other := randomNights(random, len(nights))[len(nights)-1]
			last.world, last.status, last.schools, last.datasets = other.world, other.status, other.schools, other.datasets
			last.run = "run-again"
			require.NoError(t, last.publish(t.Context(), store))
			report, err = update(t.Context(), t, store, false)
			require.NoError(t, err)
			require.Len(t, report.Folded, 1)
			nights[len(nights)-1] = &last
			versions, _ = readHistory(t, store)
			requireHistory(t, nights, versions)
			want = historyFiles(t, root)
			_, err = update(t.Context(), t, store, true)
			require.NoError(t, err)
			require.Equal(t, want, historyFiles(t, root), "a rebuild after a replaced night makes the same files")
		})
	}
}

// TestAwayForThirtyNights folds nights in which one school is not listed, one is denied and one fails. They return
// unchanged, and none of their versions ends.
func TestAwayForThirtyNights(t *testing.T) {
	t.Parallel()
	const away = 30
	store := snapshottest.NewDir(t, t.TempDir())
	schools := []string{"absent", "denied", "failed", "open"}
	datasets := []string{"districts", "schools", "students", "test_results"}
	var nights []*night
	for i := range away + 2 {
		n := &night{
			date: dateOf(i), run: "run-" + dateOf(i), datasets: datasets, schools: schools,
			status: make(map[[2]string]snapshot.Status), world: make(map[string][]record),
		}
		for _, school := range schools {
			result := record{"requested_school_bid": school, "test_result_bid": "of " + school, "student_bid": "student of " + school, "rit": "200"}
			if school == "open" {
				result["rit"] = strconv.Itoa(i)
			}
			n.world["test_results"] = append(n.world["test_results"], result)
			n.world["students"] = append(n.world["students"], record{"requested_school_bid": school, "student_bid": "student of " + school})
			n.world["test_result_norms"] = append(n.world["test_result_norms"], record{
				"requested_school_bid": school, "test_result_bid": "of " + school, "ordinal": "0", "percentile": "50",
			})
		}
		if 1 <= i && i <= away {
			n.schools = schools[1:]
			for _, dataset := range datasets[2:] {
				n.status[[2]string{dataset, "denied"}] = snapshot.StatusDenied
				n.status[[2]string{dataset, "failed"}] = snapshot.StatusFailed
			}
		}
		require.NoError(t, n.publish(t.Context(), store))
		nights = append(nights, n)
	}
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	versions, _ := readHistory(t, store)
	requireHistory(t, nights, versions)
	ended, kept := make(map[string]int), make(map[string]int)
	for _, v := range versions {
		if v.table == "coverage" {
			continue
		}
		if v.validTo != snapshot.Open {
			ended[v.school]++
		} else if v.school != "open" {
			require.Equal(t, dateOf(0), v.validFrom, "%+v", v)
			kept[v.school]++
		}
	}
	require.Equal(t, map[string]int{"open": away + 1}, ended)
	for _, school := range schools[:3] {
		require.Equal(t, 3, kept[school], school)
	}
}

// TestEverythingFailed folds a night in which no school could be read, between two others. No version ends.
func TestEverythingFailed(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	var nights []*night
	for i := range 3 {
		n := nightOf(i, []string{"1", "2"}, 2)
		n.status = make(map[[2]string]snapshot.Status)
		if i == 1 {
			for _, dataset := range n.datasets {
				if set, _ := schemas.Find(dataset); !set.IsLookup() {
					n.status[[2]string{dataset, "s"}] = snapshot.StatusFailed
				}
			}
			require.Len(t, n.status, 2)
		}
		require.NoError(t, n.publish(t.Context(), store))
		nights = append(nights, n)
	}
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	versions, _ := readHistory(t, store)
	requireHistory(t, nights, versions)
	for _, v := range versions {
		require.True(t, v.table == "coverage" || v.validTo == snapshot.Open, "%+v", v)
	}
}

// requireHistory compares the versions of every date with the rows that were last covered.
func requireHistory(t *testing.T, nights []*night, versions []version) {
	t.Helper()
	tables := []string{"districts", "schools", "students", "test_results", "test_result_norms"}
	type place struct{ table, school string }
	open := make(map[place][]record) // the contents of a simple history
	for _, n := range nights {
		before := maps.Clone(open)
		for _, name := range tables {
			_, dataset, _ := schemas.FindTable(name)
			for _, school := range append(slices.Clone(n.schools), "") {
				if (school == "") != dataset.IsLookup() || !n.covers(dataset.Name, school) {
					continue
				}
				open[place{name, school}] = slices.DeleteFunc(n.rows(name), func(r record) bool { return r["requested_school_bid"] != school })
			}
		}
		var results []record
		for p, list := range open {
			if p.table == "test_results" {
				results = append(results, list...)
			}
		}
		want := make(map[string][]string)
		for p, list := range open {
			table, _, _ := schemas.FindTable(p.table)
			for _, r := range list {
				want[p.table] = append(want[p.table], text(table, r))
			}
		}
		got := make(map[string][]string)
		for _, v := range versions {
			if v.table == "coverage" {
				continue
			}
			if v.validFrom <= n.date && n.date < v.validTo {
				got[v.table] = append(got[v.table], v.row)
			}
			require.Equal(t, v.validTo == snapshot.Open, v.because == "null")
			if v.validTo == n.date {
				parents := before[place{"test_results", v.school}]
				require.Equal(t, because(n, v, versions, results, parents), v.because, "%s %+v", n.date, v)
			}
		}
		for _, name := range tables {
			require.ElementsMatch(t, want[name], got[name], "%s on %s", name, n.date)
		}
	}
	requireCoverage(t, nights, versions)
}

// because determines in a simple way why a version ended.
func because(n *night, v version, versions []version, results, parents []record) string {
	begins := func(table string) bool {
		return slices.ContainsFunc(versions, func(o version) bool {
			return o.table == table && o.school == v.school && o.bid == v.bid && o.validFrom <= n.date && n.date < o.validTo
		})
	}
	isResult := func(r record) bool { return r["test_result_bid"] == v.bid }
	switch {
	case v.table == "test_result_norms" && v.bid == "null":
		return snapshot.Removed
	case v.table == "test_result_norms" && begins("test_results"):
		return snapshot.ElementsChanged
	case v.table == "test_results" && v.bid != "null" && begins("test_results"):
		return snapshot.ElementsChanged
	case v.table != "test_results" && v.table != "test_result_norms":
		return snapshot.Removed
	}
	row := strings.Split(v.row, "|")
	column := func(name string) string {
		table, _, _ := schemas.FindTable("test_results")
		return row[table.Column(name)]
	}
	if v.table == "test_result_norms" {
		parent := parents[slices.IndexFunc(parents, isResult)]
		column = func(name string) string {
			if value, ok := parent[name]; ok {
				return value
			}
			return "null"
		}
	}
	if v.bid != "null" && slices.ContainsFunc(results, isResult) {
		return snapshot.Moved
	}
	student, subject := column("student_bid"), column("subject_area")
	if subject != "null" && slices.ContainsFunc(results, func(r record) bool { return r["student_bid"] == student && r["subject_area"] == subject }) {
		return snapshot.Superseded
	}
	at := column("administration_end_date_time")
	if at == "null" {
		at = column("administration_start_date_time")
	}
	year, _ := snapshot.YearBefore(n.date)
	if micros, err := strconv.ParseInt(at, 10, 64); err == nil && micros < year {
		return snapshot.AgedOut
	}
	listed := slices.ContainsFunc(n.rows("students"), func(r record) bool { return r["requested_school_bid"] == v.school && r["student_bid"] == student })
	if n.covers("students", v.school) && !listed {
		return snapshot.LeftRoster
	}
	return snapshot.Unexplained
}

// requireCoverage compares the coverage of every date with the ledgers.
func requireCoverage(t *testing.T, nights []*night, versions []version) {
	t.Helper()
	known := make(map[string]string)
	for _, n := range nights {
		for of := range known {
			known[of] = "absent"
		}
		for _, dataset := range []string{"students", "test_results"} {
			for _, school := range n.schools {
				if !slices.Contains(n.datasets, dataset) {
					continue
				}
				status := "ok"
				if s, bad := n.status[[2]string{dataset, school}]; bad {
					status = string(s)
				}
				known[dataset+"|"+school] = status
			}
		}
		var want, got []string
		for of, status := range known {
			want = append(want, of+"|"+status)
		}
		for _, v := range versions {
			if v.table == "coverage" && v.validFrom <= n.date && n.date < v.validTo {
				got = append(got, v.row)
			}
		}
		require.ElementsMatch(t, want, got, n.date)
	}
}
