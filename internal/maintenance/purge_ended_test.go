package maintenance_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// endedNights returns the outcomes of the schools in full snapshots: ok, denied, failed, or not listed (empty).
func endedNights() []struct {
	date  string
	fates map[string]snapshot.Status
} {
	type fates = map[string]snapshot.Status
	const ok, denied, failed = snapshot.StatusOK, snapshot.StatusDenied, snapshot.StatusFailed
	return []struct {
		date  string
		fates map[string]snapshot.Status
	}{
		{"2026-06-01", fates{"always": ok, "denied": ok, "gone": ok, "both": ok, "back": ok, "failing": ok, "late": ok, "never": denied}},
		{"2026-06-02", fates{"always": ok, "denied": ok, "gone": ok, "both": denied, "back": denied, "failing": denied, "late": ok, "never": denied}},
		{"2026-06-03", fates{"always": ok, "denied": denied, "back": denied, "failing": denied, "late": ok, "never": denied}},
		{"2026-07-15", fates{"always": ok, "denied": denied, "back": ok, "failing": failed, "late": denied, "never": denied}},
		{"2026-08-02", fates{"always": ok, "denied": denied, "back": denied, "failing": denied, "late": denied, "never": denied}},
	}
}

// endedSite publishes a full snapshot for each night. It also publishes a run of a cohort and a run of one school, neither of
// which may count as a night.
func endedSite(t *testing.T, store sink.Store, fold bool) {
	t.Helper()
	for _, night := range endedNights() {
		plan := snapshottest.NewPlan("night-"+night.date, snapshottest.Datasets("schools", "students", "test_results"), snapshottest.OnDate(night.date))
		plan.Schools, plan.MaxFailedSchools = nil, 10
		bad := make(snapshottest.StatusOf)
		for _, school := range slices.Sorted(maps.Keys(night.fates)) {
			plan.Schools = append(plan.Schools, snapshot.School{Bid: school, Name: "School " + school, District: "d1"})
			if night.fates[school] != snapshot.StatusOK {
				bad[school] = night.fates[school]
			}
		}
		plan.Buckets = []snapshot.Bucket{{Index: 0, First: 0, End: len(plan.Schools), District: "d1"}}
		snapshottest.StageRun(t, store, plan, bad)
		snapshottest.PublishRun(t, store, plan.RunID)
		if fold {
			require.NoError(t, foldHistory(t, false)(t.Context(), store))
		}
	}
	for i, edit := range []func(*snapshot.Plan){
		func(p *snapshot.Plan) { p.Scope.Students = &snapshot.Students{Listed: 1, Digest: "d"} },
		func(p *snapshot.Plan) { p.Scope.Schools = []string{"always"} },
	} {
		plan := snapshottest.NewPlan(fmt.Sprintf("restricted-%d", i), snapshottest.OnDate(fmt.Sprintf("2026-11-0%d", i+1)), snapshottest.Datasets("students"), edit)
		plan.Schools = []snapshot.School{{Bid: "always"}}
		plan.Buckets = []snapshot.Bucket{{Index: 0, First: 0, End: 1}}
		snapshottest.StageRun(t, store, plan, nil)
		snapshottest.PublishRun(t, store, plan.RunID)
	}
}

func endedOptions(days int) maintenance.PurgeOptions {
	return maintenance.PurgeOptions{EndedForDays: days, Now: snapshottest.PublishedAt, ToolVersion: "1.0.0"}
}

// TestPurgeEnded checks that a purge erases exactly the schools that could not be read in at least two later snapshots, over
// the given number of days.
func TestPurgeEnded(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	endedSite(t, snapshottest.NewDir(t, start), true)
	ended := func(bid, lastOK, since string) maintenance.EndedSchool {
		return maintenance.EndedSchool{Bid: bid, Name: "School " + bid, LastOK: lastOK, Since: since}
	}
	both, denied, gone := ended("both", "2026-06-01", "2026-06-02"), ended("denied", "2026-06-02", "2026-06-03"), ended("gone", "2026-06-02", "2026-06-03")
	late := ended("late", "2026-06-03", "2026-07-15")
	for days, want := range map[int][]maintenance.EndedSchool{
		62: nil, 61: {both}, 60: {both, denied, gone}, 19: {both, denied, gone}, 18: {both, denied, gone, late}, 1: {both, denied, gone, late},
	} {
		t.Run(fmt.Sprintf("%dd", days), func(t *testing.T) {
			t.Parallel()
			root := snapshottest.CopyTree(t, start)
			store := snapshottest.NewDir(t, root)
			before := snapshottest.Tree(t, root)
			options := endedOptions(days)
			options.DryRun = true
			would, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Equal(t, want, would.Ended)
			require.Equal(t, before, snapshottest.Tree(t, root))
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), endedOptions(days))
			require.NoError(t, err)
			require.Equal(t, len(want) == 0, report.Nothing())
			var bids []string
			for _, school := range want {
				bids = append(bids, school.Bid)
			}
			require.Equal(t, bids, report.Asked.Schools)

			// Listing the same schools must leave the same data files.
			named := snapshottest.CopyTree(t, start)
			if len(bids) > 0 {
				_, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, named)), purgeOptions(bids, nil))
				require.NoError(t, err)
			}
			require.Equal(t, dataFiles(t, named), dataFiles(t, root))
			again, err := maintenance.Purge(t.Context(), snapshot.At(store), endedOptions(days))
			require.NoError(t, err)
			require.True(t, again.Nothing())
			if len(want) > 0 {
				require.Equal(t, report.ID, again.Earlier.ID, "the notice belongs to the earlier purge")
			}
		})
	}
}

// dataFiles returns the data files of a destination.
func dataFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	files := snapshottest.Tree(t, root)
	maps.DeleteFunc(files, func(path, _ string) bool { return path[0] == '_' || path[len(path)-1] == '/' })
	require.NotEmpty(t, files)
	// The names of the history's files depend on the id of the purge, so only the length of a path is compared.
	byText := make(map[string]string)
	for path, text := range files {
		byText[sink.Hash([]byte(text))+strconv.Itoa(len(path))] = text
	}
	return byText
}

// TestPurgeEndedOfPruned checks that the history is used if the last good snapshots have been pruned.
func TestPurgeEndedOfPruned(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	endedSite(t, store, true)
	options := endedOptions(18)
	options.DryRun = true
	want, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.NoError(t, pruneTo(1)(t.Context(), store))
	got, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	for i := range want.Ended {
		want.Ended[i].Name, got.Ended[i].Name = "", "" // some names were only in plans that were pruned
	}
	require.Equal(t, want.Ended, got.Ended)
	require.NotEmpty(t, got.Ended)
}

// TestPurgeEndedKilled finishes a purge of ended schools that was killed, even if the ledgers no longer contain the
// schools.
func TestPurgeEndedKilled(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	endedSite(t, snapshottest.NewDir(t, start), false)
	done := snapshottest.CopyTree(t, start)
	counter := &snapshottest.Mortal{Store: snapshottest.NewDir(t, done)}
	counter.Left.Store(1 << 40)
	_, err := maintenance.Purge(t.Context(), snapshot.At(counter), endedOptions(60))
	require.NoError(t, err)
	operations := int(1<<40 - counter.Left.Load())
	kills := max(8, *kills)
	for i := range kills {
		root := snapshottest.CopyTree(t, start)
		dead := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root)}
		dead.Left.Store(int64(i * operations / kills))
		_, err := maintenance.Purge(t.Context(), snapshot.At(dead), endedOptions(60))
		require.ErrorIs(t, err, snapshottest.ErrKilled)
		again := endedOptions(60)
		again.Now = func() time.Time { return snapshottest.PublishedAt().Add(time.Hour) }
		_, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), again)
		require.NoError(t, err)
		require.Equal(t, dataFiles(t, done), dataFiles(t, root), "killed before operation %d of %d", i*operations/kills, operations)
		require.NoError(t, os.RemoveAll(root))
	}
}

// TestPurgeEndedNeedsEveryDataset checks that a night counts only if it requested every dataset that the school ever had,
// according to the ledgers or the history, and that at least two such nights are needed.
func TestPurgeEndedNeedsEveryDataset(t *testing.T) {
	t.Parallel()
	all, one := []string{"schools", "students", "test_results"}, []string{"schools", "students"}
	dates := []string{"2026-01-01", "2026-01-02", "2026-02-01", "2026-03-05", "2026-03-06"}
	for name, test := range map[string]struct {
		nights [][]string // the datasets requested on each date; nil if there was no snapshot
		want   []string   // the first night that counts
	}{
		"every night":          {[][]string{all, all, all, all, all}, []string{"2026-01-02"}},
		"only of one dataset":  {[][]string{all, one, one, one, one}, nil},
		"one night of both":    {[][]string{all, one, one, all, one}, nil},
		"two nights of both":   {[][]string{all, all, one, all, one}, []string{"2026-01-02"}},
		"too short a time":     {[][]string{all, one, all, all, one}, nil},
		"only the last of all": {[][]string{all, nil, nil, all, nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			for i, datasets := range test.nights {
				if datasets == nil {
					continue
				}
				plan := snapshottest.NewPlan("night-"+dates[i], snapshottest.Datasets(datasets...), snapshottest.OnDate(dates[i]))
				plan.Schools = []snapshot.School{{Bid: "denied", District: "d1"}, {Bid: "stays", District: "d1"}}
				plan.Buckets = []snapshot.Bucket{{Index: 0, First: 0, End: 2, District: "d1"}}
				plan.MaxFailedSchools = 10
				status := snapshottest.StatusOf{}
				if i > 0 {
					status["denied"] = snapshot.StatusDenied
				}
				snapshottest.StageRun(t, store, plan, status)
				snapshottest.PublishRun(t, store, plan.RunID)
				require.NoError(t, foldHistory(t, false)(t.Context(), store))
			}
			options := endedOptions(60)
			options.DryRun = true
			for _, pruned := range []bool{false, true} {
				if pruned {
					require.NoError(t, pruneTo(1)(t.Context(), store))
				}
				report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
				require.NoError(t, err)
				var since []string
				for _, school := range report.Ended {
					require.Equal(t, "denied", school.Bid)
					since = append(since, school.Since)
				}
				require.Equal(t, test.want, since, "pruned: %t", pruned)
				require.Equal(t, test.want == nil, len(report.NearlyEnded) == 1, "a school that lacks datasets is either selected or listed as nearly ended")
			}
		})
	}
}

// TestPurgeNearlyEnded checks that the report lists schools that lack datasets but are not selected, and says why they
// are not.
func TestPurgeNearlyEnded(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	dates := []string{"2026-01-01", "2026-01-10", "2026-02-01", "2026-03-20"}
	failed, denied := snapshot.StatusFailed, snapshot.StatusDenied
	for night, date := range dates {
		plan := snapshottest.NewPlan("night-"+date, snapshottest.Datasets("schools", "students", "test_results"), snapshottest.OnDate(date))
		plan.Schools, plan.Buckets, plan.MaxFailedSchools = nil, []snapshot.Bucket{{Index: 0, District: "d1"}}, 10
		status := snapshottest.StatusOf{}
		add := func(school string, listed bool, outcome snapshot.Status) {
			if listed {
				plan.Schools = append(plan.Schools, snapshot.School{Bid: school, Name: "School " + school, District: "d1"})
			}
			if outcome != "" {
				status[school] = outcome
			}
		}
		after := func(n int, outcome snapshot.Status) snapshot.Status {
			if night >= n {
				return outcome
			}
			return ""
		}
		add("a ends", true, after(1, denied))
		add("b ends late", true, after(2, denied))
		add("c fails", true, map[int]snapshot.Status{1: denied, 2: failed, 3: denied}[night])
		add("d is missing once", night < 3, "")
		add("e stays", true, "")
		plan.Buckets[0].End = len(plan.Schools)
		snapshottest.StageRun(t, store, plan, status)
		snapshottest.PublishRun(t, store, plan.RunID)
	}
	options := endedOptions(60)
	options.DryRun = true
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Len(t, report.Ended, 1)
	require.Equal(t, "a ends", report.Ended[0].Bid)
	both := []string{"students", "test_results"}
	require.Equal(t, []maintenance.NearlyEnded{
		{Bid: "b ends late", Name: "School b ends late", Missing: both, Since: "2026-02-01", LastOK: "2026-01-10", Snapshots: 2, Days: 47},
		{Bid: "c fails", Name: "School c fails", Missing: both, Since: "2026-01-10", LastOK: "2026-01-01", Snapshots: 3, Days: 69, LastFailed: "2026-02-01"},
		{Bid: "d is missing once", Name: "School d is missing once", Missing: both, Since: "2026-03-20", LastOK: "2026-02-01", Snapshots: 1},
	}, report.NearlyEnded)
}

// TestPurgeNearlyEndedNotCounted checks that snapshots without all datasets of a school do not count, neither for the
// purge nor in the report.
func TestPurgeNearlyEndedNotCounted(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	for night, date := range []string{"2026-01-01", "2026-01-02", "2026-01-20", "2026-03-10"} {
		datasets := []string{"schools", "students", "test_results"}
		status := snapshottest.StatusOf{"ends": snapshot.StatusDenied}
		switch night {
		case 0:
			status = snapshottest.StatusOf{}
		case 3:
			datasets = datasets[:2]
		}
		plan := snapshottest.NewPlan("night-"+date, snapshottest.Datasets(datasets...), snapshottest.OnDate(date))
		plan.Schools, plan.Buckets = []snapshot.School{{Bid: "ends", District: "d1"}}, []snapshot.Bucket{{Index: 0, End: 1, District: "d1"}}
		snapshottest.StageRun(t, store, plan, status)
		snapshottest.PublishRun(t, store, plan.RunID)
	}
	options := endedOptions(60)
	options.DryRun = true
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Empty(t, report.Ended)
	require.Equal(t, []maintenance.NearlyEnded{{
		Bid: "ends", Missing: []string{"students", "test_results"}, Since: "2026-01-02", LastOK: "2026-01-01", Snapshots: 2, Days: 18, NotCounted: 1,
	}}, report.NearlyEnded)
}

// TestPurgeNearlyEndedSince checks the date since which a school has nothing: nights on which it lacked only one of its
// datasets are earlier.
func TestPurgeNearlyEndedSince(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	denied := snapshottest.StatusOf{"ends": snapshot.StatusDenied}
	for _, night := range []struct {
		date   string
		status map[string]snapshottest.StatusOf // by dataset
	}{
		{"2026-01-01", nil},
		{"2026-01-02", map[string]snapshottest.StatusOf{"students": denied}},
		{"2026-03-05", map[string]snapshottest.StatusOf{"students": denied, "test_results": denied}},
		{"2026-03-06", map[string]snapshottest.StatusOf{"students": denied, "test_results": denied}},
	} {
		plan := snapshottest.NewPlan("night-"+night.date, snapshottest.Datasets("schools", "students", "test_results"), snapshottest.OnDate(night.date))
		plan.Schools, plan.Buckets = []snapshot.School{{Bid: "ends", District: "d1"}}, []snapshot.Bucket{{Index: 0, End: 1, District: "d1"}}
		created, err := snapshot.At(store).CreatePlan(t.Context(), plan)
		require.NoError(t, err)
		for _, task := range created.Tasks() {
			snapshottest.StageTask(t, store, created, task, night.status[task.Dataset])
		}
		snapshottest.PublishRun(t, store, plan.RunID)
	}
	options := endedOptions(60)
	options.DryRun = true
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []maintenance.NearlyEnded{{
		Bid: "ends", Missing: []string{"students", "test_results"}, Since: "2026-03-05", LastOK: "2026-01-02", Snapshots: 2, Days: 1,
	}}, report.NearlyEnded)
}
