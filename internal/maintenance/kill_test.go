package maintenance_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

var kills = flag.Int("kills", 0, "kills of each command of TestKilledAnywhere on each kind of destination, 0 for a few, -1 for all, and for all failures of a purge")

// killTest is a command that is killed, and commands that may come next.
type killTest struct {
	name   string
	setUp  func(t *testing.T, store sink.Store)
	do     command
	finish []command
	few    bool // only a few kills, on disk too
}

type command func(context.Context, sink.Store) error

// TestKilledAnywhere kills a command before each of its writes, or makes one of its reads fail, lets another command of
// the same or another kind finish the interrupted change, and repeats the first command. A command that reports no
// error has done its work. Every pointer leads to a complete snapshot at any time, no change stays unfinished, and at
// the end the files are the same as after undisturbed commands.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	tests := []killTest{
		{"run", func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.PublishWorld(t, store, snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate), snapshottest.Datasets("schools"))
		}, exportNight, []command{exportNight, snapshottest.FinishAll, purgeUnknown, pruneTo(100)}, false},
		{"purge", func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.PublishWorld(t, store, snapshottest.LatestRun, snapshottest.Datasets("schools", "test_results"))
			snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Datasets("schools"), snapshottest.Planned(time.Hour))
		}, purgeDistrict, []command{purgeDistrict, snapshottest.FinishAll, pruneTo(100)}, false},
		{"prune", func(t *testing.T, store sink.Store) {
			t.Helper()
			for _, day := range []string{"17", "18", "19"} {
				snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full-"+day, snapshottest.Few, snapshottest.OnDate("2026-11-"+day)))
			}
		}, pruneTo(1), []command{pruneTo(1), exportNight, purgeUnknown, pruneTo(100)}, false},
	}
	for _, test := range slices.Concat(tests, historyKills(t), studentKills(t)) {
		for _, on := range []string{"disk", "S3"} {
			t.Run(test.name+" on "+on, func(t *testing.T) {
				t.Parallel()
				d := newKillDest(t, on == "S3")
				test.setUp(t, d.store)
				killAnywhere(t, d, test)
			})
		}
	}
}

func killAnywhere(t *testing.T, start *killDest, test killTest) {
	t.Helper()
	do, finish := test.do, test.finish
	operations := 0
	var done map[string]string
	want := make([]map[string]string, len(finish))
	for i := range finish {
		undisturbed := start.copy(t)
		counter := &snapshottest.Mortal{Store: undisturbed.store}
		counter.Left.Store(1 << 40)
		for j, command := range []command{do, finish[i], do} {
			require.NoError(t, command(t.Context(), counter))
			if j == 0 {
				operations = int(1<<40 - counter.Left.Load())
				done = undisturbed.files(t)
			}
		}
		want[i] = undisturbed.files(t)
	}
	require.Greater(t, operations, 20)
	total := *kills
	switch {
	case total > 0:
	case total < 0:
		total = operations
	case testing.Short():
		total = 2
	case start.bucket == "" && !test.few:
		total = 24
	case start.bucket == "":
		total = 8
	default:
		total = 4
	}
	for i := range total {
		n, finisher := i%operations, (i+i/operations)%len(finish)
		if total < operations {
			n = i * operations / total
		}
		d := start.copy(t)
		when := fmt.Sprintf("before operation %d of %d, then command %d", n, operations, finisher)
		dead := &snapshottest.Mortal{Store: d.store, Survives: true}
		dead.Left.Store(int64(n))
		if err := do(t.Context(), dead); err == nil {
			require.Equal(t, done, d.files(t), when)
		} else {
			require.ErrorIs(t, err, snapshottest.ErrKilled, when)
		}
		requireSoundPointers(t, d.root, when)
		requireSoundHistory(t, d.store, when)

		require.NoError(t, finish[finisher](t.Context(), d.store), when)
		requireSoundPointers(t, d.root, when)
		changing, err := snapshot.At(d.store).Changes(t.Context(), func(*snapshot.Change) bool { return true })
		require.NoError(t, err, when)
		require.Empty(t, changing, when)
		requireSoundHistory(t, d.store, when)

		require.NoError(t, do(t.Context(), d.store), when)
		got := d.files(t)
		require.ElementsMatch(t, snapshottest.Names(want[finisher]), snapshottest.Names(got), when)
		require.Equal(t, want[finisher], got, when)
		require.NoError(t, os.RemoveAll(d.root))
	}
	t.Logf("%d kills at %d store operations, finished by %d commands", total, operations, len(finish))
}

func purgeDistrict(ctx context.Context, store sink.Store) error {
	_, err := maintenance.Purge(ctx, snapshot.At(store), purgeOptions(nil, []string{snapshottest.GoneDistrict}))
	return err
}

// purgeUnknown finds nothing to purge.
func purgeUnknown(ctx context.Context, store sink.Store) error {
	options := purgeOptions([]string{"unknown"}, nil)
	options.AllowUnknown = true
	_, err := maintenance.Purge(ctx, snapshot.At(store), options)
	return err
}

func pruneTo(keep int) command {
	return func(ctx context.Context, store sink.Store) error {
		_, err := maintenance.Prune(ctx, snapshot.At(store), maintenance.PruneOptions{Keep: keep, Now: snapshottest.PublishedAt})
		return err
	}
}

// killDest is a destination on disk or S3 that can be copied.
type killDest struct {
	store  sink.Store
	root   string // the folder of the files; the S3 server stores objects as files
	server *s3test.Server
	bucket string // empty on disk
}

func newKillDest(t *testing.T, onS3 bool) *killDest {
	t.Helper()
	if !onS3 {
		root := t.TempDir()
		return &killDest{store: snapshottest.NewDir(t, root), root: root}
	}
	d := &killDest{server: s3test.Start(t)}
	return d.newBucket(t)
}

func (d *killDest) newBucket(t *testing.T) *killDest {
	t.Helper()
	bucket := d.server.Bucket(t)
	return &killDest{store: d.server.Open(t, bucket, "pre"), root: filepath.Join(d.server.Root, bucket, "pre"), server: d.server, bucket: bucket}
}

func (d *killDest) copy(t *testing.T) *killDest {
	t.Helper()
	if d.server == nil {
		root := snapshottest.CopyTree(t, d.root)
		return &killDest{store: snapshottest.NewDir(t, root), root: root}
	}
	to := d.newBucket(t)
	snapshottest.LinkTree(t, d.root, to.root)
	return to
}

// files returns all files, and expects that nothing is staged.
func (d *killDest) files(t *testing.T) map[string]string {
	t.Helper()
	files := snapshottest.Tree(t, d.root)
	for path := range files {
		require.False(t, strings.HasPrefix(path, "_staging/") && !strings.HasSuffix(path, "/"), path)
	}
	if d.server != nil {
		require.Empty(t, d.server.Uploads(t, d.bucket))
	}
	return files
}
