package maintenance_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeDisturbed lets another process change the destination between two operations. The purge searches again and
// finishes, and every run is complete.
func TestPurgeDisturbed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		act        func(t *testing.T, store sink.Store)
		runs       []string
	}{
		{"the run is replaced", snapshot.ManifestPath(snapshottest.LatestRun), func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.PublishWorld(t, store, "later", snapshottest.Planned(time.Hour))
		}, []string{"later"}},
		{"what was staged is lost", snapshot.ChangePath(snapshottest.LatestRun), func(t *testing.T, store sink.Store) {
			t.Helper()
			require.NoError(t, store.Sweep(t.Context(), snapshottest.LatestRun))
		}, []string{snapshottest.LatestRun}},
		{"another run is published", snapshot.ChangePath(snapshottest.LatestRun), func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.PublishWorld(t, store, "other", snapshottest.OnDate("2026-11-18"))
		}, []string{snapshottest.LatestRun, "other"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
			acted := false
			disturbed := &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: test.path, Act: func() {
				acted = true
				test.act(t, snapshottest.Lockless{Store: store})
			}}
			report, err := maintenance.Purge(t.Context(), snapshot.At(disturbed), purgeOptions([]string{snapshottest.Gone}, nil))
			require.NoError(t, err)
			require.True(t, acted)
			purged := slices.DeleteFunc(report.Runs, func(r maintenance.PurgedRun) bool { return len(r.Files) == 0 }) // only the ledger of a replaced run
			require.Len(t, purged, len(test.runs))
			for _, run := range test.runs {
				snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
			}
			requireNoBytes(t, root, snapshottest.Gone)
			for name := range snapshottest.Tree(t, root) {
				require.NotContains(t, name, "change.json")
				require.NotContains(t, name, "_staging/")
				if name[0] != '_' && !slices.Contains(test.runs, snapshottest.LatestRun) {
					require.NotContains(t, name, snapshottest.LatestRun)
				}
			}
		})
	}
}

// TestPurgeHistoryDisturbed adds a snapshot to the history while the history is being purged: the purge searches again,
// and the history keeps the snapshot.
func TestPurgeHistoryDisturbed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	historySite(t, store)
	acted := false
	disturbed := &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: snapshot.ChangePath("night-2"), Act: func() {
		acted = true
		other := snapshottest.Lockless{Store: store}
		snapshottest.PublishWorld(t, other, "night-3", snapshottest.OnDate("2026-11-21"))
		require.NoError(t, foldHistory(t, false)(t.Context(), other))
	}}
	_, err := maintenance.Purge(t.Context(), snapshot.At(disturbed), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	require.True(t, acted)
	current, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2026-11-21", current.Manifest.Through())
	report, err := maintenance.VerifyHistory(t.Context(), snapshot.At(store))
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	requireNoBytes(t, root, snapshottest.Gone)
}

func link(t *testing.T, root, from, to string) {
	t.Helper()
	require.NoError(t, os.Link(filepath.Join(root, from), filepath.Join(root, to)))
}

// intruded is a Store on which another process acts before the first write to a path. Unlike the locks of an
// Interloper, its locks exclude other processes.
type intruded struct {
	sink.Store

	path string
	once sync.Once
	act  func()
}

func (i *intruded) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == i.path {
		i.once.Do(i.act)
	}
	return i.Store.Write(ctx, path, data, when)
}

// TestPurgeIntruded starts a run after the purge has listed the runs. The run's staged files are dropped before the
// proof is written, and no proof is written while a process is working on the run.
func TestPurgeIntruded(t *testing.T) {
	t.Parallel()
	options := purgeOptions([]string{snapshottest.Gone}, nil)
	id := snapshottest.PublishedAt().Format("20060102T150405Z") + "-" + maintenance.PurgeAsked{Schools: options.Schools}.ID()
	for _, test := range []struct {
		name, path       string
		atWork, lockless bool
	}{
		{"ended", maintenance.PurgePath(id), false, false},
		{"at work", maintenance.PurgePath(id), true, false},
		{"ended, late", snapshot.ChangePath(snapshottest.LatestRun), false, false},
		{"at work, late", snapshot.ChangePath(snapshottest.LatestRun), true, false},
		{"without locks", snapshot.ChangePath(snapshottest.LatestRun), false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			snapshottest.PublishWorld(t, snapshottest.NewDir(t, root), snapshottest.LatestRun)
			release := func() error { return nil }
			var store sink.Store = snapshottest.NewDir(t, root)
			if test.lockless {
				store = snapshottest.Lockless{Store: store}
			}
			acted := false
			store = &intruded{Store: store, path: test.path, act: func() {
				acted = true
				other := snapshottest.NewDir(t, root)
				if test.atWork {
					var err error
					release, err = snapshot.At(other).HoldRunShared(t.Context(), "intruder", 0, 1)
					require.NoError(t, err)
				}
				snapshottest.StageWorld(t, other, "intruder", snapshottest.PurgeWorld(), snapshottest.OnDate("2026-11-21"))
			}}
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.True(t, acted)
			if test.atWork {
				var refused *snapshot.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Regexp(t, `run intruder is held by process \d+ on host`, refused.Reason)
				proof, _, reading := snapshot.ReadDocument[maintenance.PurgeReport](t.Context(), store, maintenance.PurgePath(id))
				require.NoError(t, reading)
				require.Equal(t, maintenance.PurgeBegun, proof.State, "there is no proof")
				require.NoError(t, release())
				report, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
			}
			require.NoError(t, err)
			require.Equal(t, []string{"intruder"}, report.DroppedRuns)
			require.Equal(t, maintenance.PurgeDone, report.State)
			require.NoDirExists(t, filepath.Join(root, "_runs", "intruder"))
			if !test.lockless {
				require.NoDirExists(t, filepath.Join(root, "_staging"))
			}
			require.Equal(t, test.lockless, strings.Contains(strings.Join(report.NotReached, "\n"), "this destination has no locks"))
		})
	}
}

// TestPurgePublishedSince publishes a staged run after the purge has found it, on a store without locks to prevent
// that: the run stays published, and is purged.
func TestPurgePublishedSince(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	snapshottest.StageWorld(t, store, "late", snapshottest.PurgeWorld(), snapshottest.OnDate("2026-11-21"))
	options := purgeOptions([]string{snapshottest.Gone}, nil)
	id := snapshottest.PublishedAt().Format("20060102T150405Z") + "-" + maintenance.PurgeAsked{Schools: options.Schools}.ID()
	acted := false
	disturbed := &intruded{Store: store, path: maintenance.PurgePath(id), act: func() {
		acted = true
		snapshottest.PublishRun(t, store, "late")
	}}
	_, err := maintenance.Purge(t.Context(), snapshot.At(disturbed), options)
	require.NoError(t, err)
	require.True(t, acted)
	for _, run := range []string{snapshottest.LatestRun, "late"} {
		snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
	}
	requireNoBytes(t, root, snapshottest.Gone)
}

// TestPurgeHoldsPublished checks that a published run is not rewritten while a process is working on it that does not
// know that the run is published.
func TestPurgeHoldsPublished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	release, err := snapshot.At(store).HoldRunShared(t.Context(), snapshottest.LatestRun, 3, 8)
	require.NoError(t, err)
	before := snapshottest.Tree(t, root)
	_, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), purgeOptions([]string{snapshottest.Gone}, nil))
	require.ErrorAs(t, err, new(*snapshot.RefusedError))
	require.Equal(t, before, snapshottest.Tree(t, root))
	require.NoError(t, release())
	_, err = maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
}

// TestPurgeAlive checks that a purge relies on the heartbeats of a run on a store without locks, and only on the locks
// otherwise.
func TestPurgeAlive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		lockless bool
		ago      time.Duration
		refused  bool
	}{
		{"recent", true, time.Minute, true},
		{"of a killed process", true, time.Hour, false},
		{"recent, with locks", false, time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			var store sink.Store = snapshottest.NewDir(t, root)
			snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld())
			sign := snapshot.Heartbeat{WrittenAt: snapshottest.PublishedAt().Add(-test.ago), PID: 4711, Host: "worker-7"}
			require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.AlivePath("staged"), sign, sink.Condition{}))
			if test.lockless {
				store = snapshottest.Lockless{Store: store}
			}
			before := snapshottest.Tree(t, root)
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
			if test.refused {
				var refused *snapshot.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Reason, "process 4711 on host worker-7 works on run staged")
				require.Equal(t, before, snapshottest.Tree(t, root))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"staged"}, report.DroppedRuns)
		})
	}
}

// whileReading is a Store without locks on which another process acts before a file of a run is first opened.
type whileReading struct {
	snapshottest.Lockless

	run  string
	once sync.Once
	act  func()
}

func (w *whileReading) Open(ctx context.Context, path string) (sink.Object, error) {
	if sink.Owner(path) == w.run && strings.HasSuffix(path, ".parquet") {
		w.once.Do(w.act)
	}
	return w.Lockless.Open(ctx, path)
}

// unremovable is a Store that does not remove data files.
type unremovable struct{ sink.Store }

func (u unremovable) Remove(ctx context.Context, path string) error {
	if strings.HasSuffix(path, ".parquet") {
		return snapshottest.ErrKilled
	}
	return u.Store.Remove(ctx, path)
}

// TestPurgeWhilePruning purges while another process prunes: before the first file of a run is read, and before the run
// is rewritten. A prune that was interrupted is finished.
func TestPurgeWhilePruning(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before reading", "before rewriting", "killed", "killed, of students"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			historySite(t, store)
			acted := false
			prune := func() {
				acted = true
				other := snapshottest.Lockless{Store: store}
				if strings.HasPrefix(when, "killed") {
					other.Store = unremovable{store}
					require.ErrorIs(t, pruneTo(1)(t.Context(), other), snapshottest.ErrKilled)
					return
				}
				require.NoError(t, pruneTo(1)(t.Context(), other))
			}
			options, gone := purgeOptions([]string{snapshottest.Gone}, nil), snapshottest.Gone
			proof := maintenance.PurgePath(snapshottest.PublishedAt().Format("20060102T150405Z") + "-" + maintenance.PurgeAsked{Schools: options.Schools}.ID())
			var disturbed sink.Store = &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: proof, Act: prune}
			if when == "killed, of students" {
				gone = "a of " + snapshottest.Gone
				options.Schools, options.Students = nil, []string{gone}
			}
			if when == "before reading" || options.Students != nil {
				disturbed = &whileReading{Lockless: snapshottest.Lockless{Store: store}, run: "night-0", act: prune}
			}
			report, err := maintenance.Purge(t.Context(), snapshot.At(disturbed), options)
			require.NoError(t, err)
			require.True(t, acted)
			require.Equal(t, maintenance.PurgeDone, report.State)
			requireNoBytes(t, root, gone)
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: "night-2"})
		})
	}
}

// stopped is a Store that fails the writes of a document.
type stopped struct {
	sink.Store

	path string
}

func (s stopped) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == s.path {
		return snapshottest.ErrKilled
	}
	return s.Store.Write(ctx, path, data, when)
}

// TestPruneWhilePurging prunes a run while another process has begun to purge it.
func TestPruneWhilePurging(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	historySite(t, store)
	acted := false
	disturbed := &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: snapshot.ChangePath("night-1"), Act: func() {
		acted = true
		other := stopped{snapshottest.Lockless{Store: store}, snapshot.ManifestPath("night-1")}
		_, err := maintenance.Purge(t.Context(), snapshot.At(other), purgeOptions([]string{snapshottest.Gone}, nil))
		require.ErrorIs(t, err, snapshottest.ErrKilled)
	}}
	report, err := maintenance.Prune(t.Context(), snapshot.At(disturbed), maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt})
	require.NoError(t, err)
	require.True(t, acted)
	require.Equal(t, []string{"night-0", "night-1"}, removedRuns(report))
	require.Equal(t, 1, report.Kept)
	for path := range snapshottest.Tree(t, root) {
		require.NotContains(t, path, "night-1")
	}
}
