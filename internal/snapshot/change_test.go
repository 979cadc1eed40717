package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// overtakenAt is a Store without locks on which another process acts just before a document is read for the first time.
type overtakenAt struct {
	snapshottest.Lockless

	path string
	once sync.Once
	act  func()
}

func (o *overtakenAt) Read(ctx context.Context, path string) ([]byte, string, error) {
	if path == o.path {
		o.once.Do(o.act)
	}
	return o.Lockless.Read(ctx, path)
}

func today() string { return snapshot.PointerPath(snapshot.Full, snapshottest.Today) }

func purgeSchool(ctx context.Context, store sink.Store, school string) error {
	_, err := maintenance.Purge(ctx, snapshot.At(store), maintenance.PurgeOptions{Schools: []string{school}, Now: snapshottest.PublishedAt})
	return err
}

func recoverAll(t *testing.T, store sink.Store) *snapshot.Recovered {
	t.Helper()
	recovered, err := snapshot.At(store).Recover(t.Context())
	require.NoError(t, err)
	return recovered
}

// TestDateTakenAfterTheChangeWasMade lets another process finish a Publish, and a third process publish the next run of
// the date, before the publisher reads the pointer: the files of the next run must be kept.
func TestDateTakenAfterTheChangeWasMade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}
	snapshottest.StageRun(t, store, snapshottest.NewPlan("first", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("next", snapshottest.Few), nil)
	slow := &overtakenAt{Lockless: store, path: today(), act: func() {
		require.NoError(t, recoverAll(t, store).Err())
		_, err := snapshot.At(killedBefore{store, snapshot.ManifestPath("first")}).Publish(t.Context(), snapshottest.Collect(t, store, "next"), snapshottest.Options())
		require.ErrorIs(t, err, snapshottest.ErrKilled, "the process is killed after the run has taken the date")
	}}
	_, err := snapshot.At(killedBefore{store, today()}).Publish(t.Context(), snapshottest.Collect(t, store, "first"), snapshottest.Options())
	require.ErrorIs(t, err, snapshottest.ErrKilled)

	require.NoError(t, recoverAll(t, slow).Err())
	require.NoError(t, recoverAll(t, store).Err())
	requireOneWinner(t, root, []string{"first", "next"})
}

// TestPurgedAgainBehindASlowFinisher lets a second purge end while another process is still finishing the first one.
func TestPurgedAgainBehindASlowFinisher(t *testing.T) {
	t.Parallel()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, t.TempDir())}
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{store, today()}, snapshottest.Gone), snapshottest.ErrKilled)
	slow := &overtakenAt{Lockless: store, path: today(), act: func() {
		require.NoError(t, purgeSchool(t.Context(), store, snapshottest.Gone))
		require.NoError(t, purgeSchool(t.Context(), store, snapshottest.Stays))
	}}
	require.NoError(t, recoverAll(t, slow).Err())
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}

// TestEndKeepsALaterChange checks that a process that is still applying an undone purge does not remove the change of a
// later purge of the same manifest.
func TestEndKeepsALaterChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}
	run := snapshottest.LatestRun
	snapshottest.PublishWorld(t, store, run)
	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{store, snapshot.ManifestPath(run)}, snapshottest.Gone), snapshottest.ErrKilled)
	stale, version, err := snapshot.At(store).CurrentChange(t.Context(), run)
	require.NoError(t, err)
	for _, file := range stale.Files() {
		require.NoError(t, store.Abort(t.Context(), run, file))
		require.NoError(t, store.Remove(t.Context(), file.Path))
	}
	require.NoError(t, recoverAll(t, store).Err())

	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{store, today()}, snapshottest.Stays), snapshottest.ErrKilled)
	_, err = snapshot.ApplyChange(snapshot.At(store), t.Context(), stale, version)
	require.ErrorIs(t, err, sink.ErrConflict)
	require.NoError(t, recoverAll(t, store).Err())
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	manifest, err := snapshot.At(store).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	named := manifest.Paths()
	for path := range snapshottest.Tree(t, root) {
		require.True(t, strings.HasPrefix(path, "_") || named[path], "%s is visible, but is not in the manifest", path)
	}
}

// TestChangeThatIsNotOne checks that a run is left alone if its change was not written by this program for that run:
// applying a change without a manifest would remove the run.
func TestChangeThatIsNotOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `null`,
		`{"format_version": 1, "run_id": "other", "kind": "full", "snapshot_date": "2026-11-20"}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "claim": {}}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "before": "abc"}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "after": {"run_id": "run"}}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "after": {"run_id": "other"}, "claim": {}}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "after": {"run_id": "other"}, "before": "abc"}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "ledger": "AAAA"}`,
		`{"format_version": 1, "run_id": "run", "kind": "full", "snapshot_date": "2026-11-20", "after": {"run_id": "run"}, "claim": {}, "ledger": "AAAA"}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run", snapshottest.Few))
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("other", snapshottest.Few, snapshottest.OnDate("2026-11-19")))
			require.NoError(t, os.WriteFile(filepath.Join(root, snapshot.ChangePath("run")), []byte(text), 0o600))
			before := snapshottest.Tree(t, root)
			recovered := recoverAll(t, store)
			require.Equal(t, before, snapshottest.Tree(t, root))
			require.Empty(t, recovered.Pruned)
			require.Len(t, recovered.Stuck, 1)
			require.ErrorIs(t, recovered.Stuck[0], sink.ErrDamaged)
			require.True(t, recovered.Stuck[0].Published)
		})
	}
}

// TestPublishOfARunThatIsPurgedOrPruned publishes the staged files of a run that other processes have published since
// and are now purging or pruning.
func TestPublishOfARunThatIsPurgedOrPruned(t *testing.T) {
	t.Parallel()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, t.TempDir())}
	run := snapshottest.EarlierRun
	snapshottest.StageWorld(t, store, run, snapshottest.PurgeWorld(), snapshottest.OnDate(snapshottest.EarlierDate))
	g := snapshottest.Collect(t, store, run)
	snapshottest.PublishRun(t, store, run)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)

	pointer := snapshot.PointerPath(snapshot.Full, snapshottest.EarlierDate)
	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{store, pointer}, snapshottest.Gone), snapshottest.ErrKilled)
	manifest, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	require.Len(t, manifest.Purges, 1)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})

	change := &snapshot.Change{FormatVersion: 1, RunID: run, Kind: snapshot.Full, SnapshotDate: snapshottest.EarlierDate}
	require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.ChangePath(run), change, sink.Condition{}))
	manifest, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.Nil(t, manifest)
	require.ErrorAs(t, err, new(*snapshot.RefusedError))
}

// unremoving is a Store that does not remove data files.
type unremoving struct{ snapshottest.Lockless }

var errKept = errors.New("the store keeps the file")

func (u unremoving) Remove(ctx context.Context, path string) error {
	if strings.HasSuffix(path, ".parquet") {
		return errKept
	}
	return u.Lockless.Remove(ctx, path)
}

// TestUndoThatFails expects an error for a purge that can neither be made nor undone.
func TestUndoThatFails(t *testing.T) {
	t.Parallel()
	store := snapshottest.Lockless{Store: snapshottest.NewDir(t, t.TempDir())}
	run := snapshottest.LatestRun
	snapshottest.PublishWorld(t, store, run)
	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{store, snapshot.ManifestPath(run)}, snapshottest.Gone), snapshottest.ErrKilled)
	change, _, err := snapshot.At(store).CurrentChange(t.Context(), run)
	require.NoError(t, err)
	require.NoError(t, store.Abort(t.Context(), run, change.Files()[0]))
	require.NoError(t, store.Remove(t.Context(), change.Files()[0].Path))

	recovered := recoverAll(t, unremoving{store})
	require.ErrorIs(t, recovered.Err(), errKept)
	require.NotErrorIs(t, recovered.Err(), sink.ErrStagedLost)
	require.NoError(t, recoverAll(t, store).Err())
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}

// unreadable is a Store that fails to read one document.
type unreadable struct {
	sink.Store

	path string
}

var errUnreadable = errors.New("the store cannot read the document")

func (u unreadable) Read(ctx context.Context, path string) ([]byte, string, error) {
	if path == u.path {
		return nil, "", errUnreadable
	}
	return u.Store.Read(ctx, path)
}

// TestUnreadableChange kills a Publish before and after it moves the pointer: only afterwards does the run count as
// published. Before, the run can be abandoned even if its change is damaged.
func TestUnreadableChange(t *testing.T) {
	t.Parallel()
	for _, killed := range []struct {
		at        string
		published bool
	}{{today(), false}, {snapshot.LatestPath, true}} {
		t.Run(killed.at, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few), nil)
			_, err := snapshot.At(killedBefore{snapshottest.Lockless{Store: store}, killed.at}).Publish(t.Context(), snapshottest.Collect(t, store, "run"), snapshottest.Options())
			require.ErrorIs(t, err, snapshottest.ErrKilled)
			stuck := recoverAll(t, unreadable{store, snapshot.ChangePath("run")}).Stuck
			require.Len(t, stuck, 1)
			require.ErrorIs(t, stuck[0], errUnreadable)
			require.Equal(t, killed.published, stuck[0].Published)
			require.Equal(t, !killed.published, stuck[0].Blocks(snapshot.Full, snapshottest.Today))

			require.NoError(t, os.WriteFile(filepath.Join(root, snapshot.ChangePath("run")), []byte("{"), 0o600))
			err = snapshot.At(store).Abandon(t.Context(), "run")
			if killed.published {
				require.ErrorAs(t, err, new(*snapshot.RefusedError))
				return
			}
			require.NoError(t, err)
			for path := range snapshottest.Tree(t, root) {
				require.NotContains(t, path, "run.parquet")
				require.NotContains(t, path, "_runs/")
			}
		})
	}
}

// TestRecoverDoesNotWaitForAPurge checks that a run that starts during a purge does not wait, because the purge
// finishes its own change. It finishes an interrupted change to the history, here a damaged one that is dropped.
func TestRecoverDoesNotWaitForAPurge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	require.ErrorIs(t, purgeSchool(t.Context(), killedBefore{snapshottest.Lockless{Store: store}, today()}, snapshottest.Gone), snapshottest.ErrKilled)
	unlock, err := store.Lock(t.Context(), snapshot.PublishLock, sink.Exclusive, 0) // as the purge would hold it
	require.NoError(t, err)
	historyChange := filepath.Join(root, snapshot.HistoryPrefix+snapshot.ChangeName)
	require.NoError(t, os.MkdirAll(filepath.Dir(historyChange), 0o700))
	require.NoError(t, os.WriteFile(historyChange, []byte("{"), 0o600))
	require.Equal(t, &snapshot.Recovered{}, recoverAll(t, snapshottest.NewDir(t, root)))
	require.NoFileExists(t, historyChange)
	require.NoError(t, unlock())
	require.NoError(t, recoverAll(t, store).Err())
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}
