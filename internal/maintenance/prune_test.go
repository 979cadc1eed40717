package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// pruneSite creates a destination with a week of full snapshots, one of them replaced, three as-of snapshots and two
// sets of changes.
func pruneSite(t *testing.T, store sink.Store) {
	t.Helper()
	for _, day := range []string{"14", "15", "16", "17"} {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full-"+day, snapshottest.Few, snapshottest.OnDate("2026-11-"+day)))
	}
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("again-14", snapshottest.Few, snapshottest.OnDate("2026-11-14"), snapshottest.Planned(time.Hour)))
	filtered := func(p *snapshot.Plan) { p.Scope.Schools = []string{"s1"} }
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("filtered-18", snapshottest.Few, snapshottest.OnDate("2026-11-18"), filtered))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("filtered-19", snapshottest.Few, snapshottest.OnDate("2026-11-19"), filtered))
	for month, taken := range map[string]string{"09": "2026-11-19", "10": "2026-11-10", "11": "2026-11-11"} {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("as-of-"+month, snapshottest.Few, snapshottest.OnDate(taken), func(p *snapshot.Plan) {
			p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-"+month+"-01"
		}))
	}
	for _, hour := range []string{"1", "2"} {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("delta-"+hour, snapshottest.Few, snapshottest.OnDate("2026-11-15"), func(p *snapshot.Plan) {
			p.Kind = snapshot.Delta
			p.PlannedAt = p.PlannedAt.Add(time.Duration(hour[0]-'0') * time.Hour)
		}))
	}
}

func removedRuns(r *maintenance.PruneReport) []string {
	var runs []string
	for _, run := range r.Removed {
		runs = append(runs, run.RunID)
	}
	slices.Sort(runs)
	return runs
}

func TestPrune(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options maintenance.PruneOptions
		removed []string
		kept    int
	}{
		{"one of each kind", maintenance.PruneOptions{Keep: 1}, []string{
			"again-14", "as-of-09", "as-of-10", "delta-1", "filtered-18", "full-14", "full-15", "full-16",
		}, 4},
		{"four of each kind", maintenance.PruneOptions{Keep: 4}, []string{"again-14", "full-14", "full-15"}, 9},
		{"many", maintenance.PruneOptions{Keep: 100}, nil, 11},
		{"five days", maintenance.PruneOptions{KeepDays: 5}, []string{"again-14", "full-14", "as-of-10", "as-of-11"}, 8},
		{"one day", maintenance.PruneOptions{KeepDays: 1}, []string{
			"again-14", "as-of-10", "as-of-11", "delta-1", "delta-2", "filtered-18", "full-14", "full-15", "full-16",
		}, 3},
		{"many days", maintenance.PruneOptions{KeepDays: 1000}, nil, 11},
	}
	start := t.TempDir()
	pruneSite(t, snapshottest.NewDir(t, start))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := snapshottest.CopyTree(t, start)
			store := snapshottest.NewDir(t, root)
			before := snapshottest.Tree(t, root)
			test.options.Now, test.options.DryRun = snapshottest.PublishedAt, true
			would, err := maintenance.Prune(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			require.Equal(t, before, snapshottest.Tree(t, root))

			test.options.DryRun = false
			report, err := maintenance.Prune(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			require.Equal(t, would.Removed, report.Removed)
			slices.Sort(test.removed)
			require.Equal(t, test.removed, removedRuns(report))
			require.Equal(t, test.kept, report.Kept)
			require.Equal(t, test.kept, would.Kept)

			after := snapshottest.Tree(t, root)
			for name, text := range after {
				require.Equal(t, before[name], text, name)
			}
			for name := range before {
				ours := slices.ContainsFunc(test.removed, func(run string) bool { return strings.Contains(name, run) })
				_, there := after[name]
				if !strings.HasPrefix(name, "_snapshots/") && !strings.HasPrefix(name, "_as_of/") {
					require.Equal(t, !ours, there, name)
				}
			}
			runs, err := snapshot.At(store).Runs(t.Context())
			require.NoError(t, err)
			for _, run := range runs {
				if run.State == snapshot.StatePublished {
					snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run.RunID})
				}
			}
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
			again, err := maintenance.Prune(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			require.Empty(t, again.Removed)
		})
	}
}

// TestPruneLeaves checks that runs that are not published or cannot be read are kept and reported.
func TestPruneLeaves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	pruneSite(t, store)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("staged", snapshottest.Few, snapshottest.OnDate("2026-11-01")), nil)
	require.NoError(t, os.WriteFile(filepath.Join(root, snapshot.ManifestPath("full-15")), []byte("{"), 0o600))
	_, err := maintenance.Prune(t.Context(), snapshot.At(store), maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt})
	require.ErrorIs(t, err, sink.ErrDamaged)
	require.ErrorContains(t, err, snapshot.ManifestPath("full-15"))
	left := slices.Collect(maps.Keys(snapshottest.Tree(t, root)))
	require.Contains(t, left, snapshot.PlanPath("full-15"))
	require.Contains(t, left, snapshot.PlanPath("staged"))
	require.NotContains(t, left, snapshot.PlanPath("full-16"))
	snapshottest.PublishRun(t, store, "staged")

	for _, options := range []maintenance.PruneOptions{{}, {Keep: 1, KeepDays: 1}} {
		_, err := maintenance.Prune(t.Context(), snapshot.At(store), options)
		require.Error(t, err)
	}
}

// stuck is a store whose locks cannot be released.
type stuck struct{ sink.Store }

var errStuck = errors.New("the lock is stuck")

func (stuck) Lock(context.Context, string, sink.LockMode, time.Duration) (func() error, error) {
	return func() error { return errStuck }, nil
}

// TestLockThatCannotBeGivenUp expects an error if a lock cannot be released, although the work is done.
func TestLockThatCannotBeGivenUp(t *testing.T) {
	t.Parallel()
	store := stuck{snapshottest.NewDir(t, t.TempDir())}
	pruned, err := maintenance.Prune(t.Context(), snapshot.At(store), maintenance.PruneOptions{Keep: 1, Now: snapshottest.Morning})
	require.ErrorIs(t, err, errStuck)
	require.Empty(t, pruned.Removed)
	purged, err := maintenance.Purge(t.Context(), snapshot.At(store), maintenance.PurgeOptions{Schools: []string{"x"}, AllowUnknown: true, Now: snapshottest.Morning})
	require.ErrorIs(t, err, errStuck)
	require.Empty(t, purged.Runs)
}

// TestPruneOfARunThatWasPurged lets a purge rewrite a run after a prune has listed the run's files and before the prune
// removes them, on a store without locks.
func TestPruneOfARunThatWasPurged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}
	snapshottest.PublishWorld(t, store, snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate))
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	overtaken := &snapshottest.Interloper{Lockless: store, Path: snapshot.ChangePath(snapshottest.EarlierRun), Act: func() {
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
		require.NoError(t, err)
	}}
	report, err := maintenance.Prune(t.Context(), snapshot.At(overtaken), maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt})
	require.NoError(t, err)
	require.Equal(t, []string{snapshottest.EarlierRun}, removedRuns(report))
	for name := range snapshottest.Tree(t, root) {
		require.NotContains(t, name, snapshottest.EarlierRun)
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}

// unremoving is a store whose process is killed before an object is removed.
type unremoving struct {
	snapshottest.Lockless

	path string
}

func (s unremoving) Remove(ctx context.Context, path string) error {
	if path == s.path {
		return snapshottest.ErrKilled
	}
	return s.Lockless.Remove(ctx, path)
}

// TestPruneThatIsStuck checks that a prune reports the removal that it has finished, although a change of another run
// keeps it from continuing.
func TestPruneThatIsStuck(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	for _, day := range []string{"17", "18", "19"} {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full-"+day, snapshottest.Few, snapshottest.OnDate("2026-11-"+day)))
	}
	manifest, err := snapshot.At(store).ReadManifest(t.Context(), "full-17")
	require.NoError(t, err)
	killed := unremoving{snapshottest.Lockless{Store: store}, snapshot.PointerPath(snapshot.Full, "2026-11-17")}
	_, err = maintenance.Prune(t.Context(), snapshot.At(killed), maintenance.PruneOptions{Keep: 2, Now: snapshottest.PublishedAt})
	require.ErrorIs(t, err, snapshottest.ErrKilled)
	require.NoError(t, os.WriteFile(filepath.Join(root, snapshot.ChangePath("full-18")), []byte("{"), 0o600))
	report, err := maintenance.Prune(t.Context(), snapshot.At(store), maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt})
	require.ErrorIs(t, err, sink.ErrDamaged)
	require.ErrorContains(t, err, "read "+snapshot.ChangePath("full-18"))
	require.ErrorContains(t, err, "remove it if growth-export verify --run-id full-18 finds no problems")
	require.NotNil(t, report)
	require.Equal(t, []string{"full-17"}, removedRuns(report))
	require.Equal(t, len(manifest.Files()), report.Removed[0].Files)
	require.Equal(t, manifest.Bytes(), report.Removed[0].Bytes)
	require.Positive(t, report.Removed[0].Bytes)
}

// fullDisk is a store on a disk that is full until something is removed.
type fullDisk struct {
	sink.Store

	room int
}

func (f *fullDisk) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if f.room < len(data) {
		return fmt.Errorf("write %s: %w", path, syscall.ENOSPC)
	}
	f.room -= len(data)
	return f.Store.Write(ctx, path, data, when)
}

func (f *fullDisk) Remove(ctx context.Context, path string) error {
	if data, _, err := f.Read(ctx, path); err == nil {
		f.room += len(data)
	}
	return f.Store.Remove(ctx, path)
}

// TestPruneFullDisk frees space on a full disk: removing the first run's report makes room for the record of the
// change, which then does not list the files.
func TestPruneFullDisk(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	pruneSite(t, store)
	for _, run := range []string{"full-15", "full-16"} {
		require.NoError(t, store.Write(t.Context(), snapshot.ReportPath(run), make([]byte, 400), sink.Condition{}))
	}
	options := maintenance.PruneOptions{Keep: 3, Kinds: []snapshot.Kind{snapshot.Full}, Now: snapshottest.PublishedAt}
	planned := options
	planned.DryRun = true
	want, err := maintenance.Prune(t.Context(), snapshot.At(store), planned)
	require.NoError(t, err)
	require.Equal(t, "full-14", want.Removed[0].RunID)

	_, err = maintenance.Prune(t.Context(), snapshot.At(&fullDisk{Store: store}), options)
	require.ErrorIs(t, err, syscall.ENOSPC, "the first run to prune has no report")
	require.NoError(t, store.Write(t.Context(), snapshot.ReportPath("full-14"), make([]byte, 400), sink.Condition{}))
	got, err := maintenance.Prune(t.Context(), snapshot.At(&fullDisk{Store: store}), options)
	require.NoError(t, err)
	require.Equal(t, want.Removed, got.Removed)
	for _, run := range got.Removed {
		require.Empty(t, filesNaming(t, store, run.RunID))
	}
}

// filesNaming returns the objects that belong to a run according to their names.
func filesNaming(t *testing.T, store sink.Store, run string) []string {
	t.Helper()
	var found []string
	for entry, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		if sink.Owner(entry.Path) == run {
			found = append(found, entry.Path)
		}
	}
	return found
}
