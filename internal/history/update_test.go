package history_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// nightOf returns a night of one school with the norms of one result, and results without a bid.
func nightOf(i int, norms []string, nameless int) *night {
	n := &night{
		date: dateOf(i), run: "run-" + dateOf(i), datasets: []string{"districts", "schools", "students", "test_results"},
		schools: []string{"s"}, world: map[string][]record{
			"test_results": {{"requested_school_bid": "s", "test_result_bid": "r", "rit": "200"}},
		},
	}
	for range nameless {
		n.world["test_results"] = append(n.world["test_results"], record{"requested_school_bid": "s", "rit": "1"})
	}
	for ordinal, percentile := range norms {
		n.world["test_result_norms"] = append(n.world["test_result_norms"], record{
			"requested_school_bid": "s", "test_result_bid": "r", "ordinal": string(rune('0' + ordinal)), "percentile": percentile,
		})
	}
	return n
}

// TestLastBegunEndsFirst adds equal rows at any place in the list, and removes one again.
func TestLastBegunEndsFirst(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	for i, n := range []*night{
		nightOf(0, []string{"1", "50"}, 1), nightOf(1, []string{"50", "50", "1"}, 2), nightOf(2, []string{"50", "1"}, 1),
	} {
		require.NoError(t, n.publish(t.Context(), store))
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err, i)
	}
	versions, _ := readHistory(t, store)
	var ended []string
	for _, v := range versions {
		if v.table == "test_result_norms" || v.table == "test_results" {
			require.True(t, v.validTo != snapshot.Open || v.validFrom == dateOf(0), "%+v", v)
			if v.validTo != snapshot.Open {
				ended = append(ended, v.table+" "+v.validFrom+" "+v.validTo+" "+v.because)
			}
		}
	}
	require.ElementsMatch(t, []string{
		"test_result_norms " + dateOf(1) + " " + dateOf(2) + " changed", "test_results " + dateOf(1) + " " + dateOf(2) + " unexplained",
	}, ended)
}

// TestUnchangedPartsStay folds a night in which one school changes.
func TestUnchangedPartsStay(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	all := schoolNames()
	world := make(map[string][]record)
	for _, school := range all {
		world["students"] = append(world["students"], record{"requested_school_bid": school, "student_bid": "of " + school})
	}
	open := make([][]string, 2)
	for i := range open {
		n := &night{date: dateOf(i), run: dateOf(i), datasets: []string{"districts", "schools", "students"}, schools: all, world: world}
		require.NoError(t, n.publish(t.Context(), store))
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err)
		_, manifest := readHistory(t, store)
		for _, file := range manifest.OpenFiles("students") {
			open[i] = append(open[i], file.Path)
		}
		world["students"][0]["last_name"] = "changed"
	}
	require.Greater(t, len(open[0]), 1)
	require.NotEqual(t, open[0][0], open[1][0])
	require.Equal(t, open[0][1:], open[1][1:])
}

// TestTwoFoldsAtOnce folds in two processes at once, on disk, where one waits for the other, and on S3, which has no
// locks.
func TestTwoFoldsAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		foldTwice(t, func() sink.Store { return snapshottest.NewDir(t, root) })
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		server := s3test.Start(t)
		bucket := server.Bucket(t)
		foldTwice(t, func() sink.Store { return server.Open(t, bucket, "") })
	})
}

func foldTwice(t *testing.T, open func() sink.Store) {
	t.Helper()
	store := open()
	for i := range 3 {
		require.NoError(t, nightOf(i, []string{"1"}, i).publish(t.Context(), store))
	}
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wait.Go(func() { _, errs[i] = update(t.Context(), t, open(), false) })
	}
	wait.Wait()
	// One process may give up, and then the same command finds nothing to do.
	require.True(t, errs[0] == nil || errs[1] == nil, "%v", errs)
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	versions, manifest := readHistory(t, store)
	require.Len(t, manifest.Snapshots, 3)
	require.NotEmpty(t, versions)
	unnamed, err := snapshot.At(store).UnnamedHistory(t.Context(), manifest)
	require.NoError(t, err)
	require.Empty(t, unnamed)
	staged, err := store.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, staged)
}

// TestWaitsForAnotherFold folds while another process takes most of a second to publish its fold.
func TestWaitsForAnotherFold(t *testing.T) {
	t.Parallel()
	store := &busyHistory{Store: snapshottest.NewDir(t, t.TempDir())}
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	report, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	require.Len(t, report.Folded, 1)
}

// busyHistory is a Store on which another process changes the history.
type busyHistory struct {
	sink.Store

	since time.Time
}

// Write writes a document.
func (b *busyHistory) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == "_history/change.json" {
		if b.since.IsZero() {
			b.since = time.Now()
		}
		if time.Since(b.since) < 700*time.Millisecond {
			return fmt.Errorf("write %s: %w", path, sink.ErrConflict)
		}
	}
	return b.Store.Write(ctx, path, data, when)
}

// TestDamagedHistory expects the error to name the damaged object and to say what to do.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	require.NoError(t, nightOf(1, []string{"2"}, 0).publish(t.Context(), store))
	for _, path := range []string{snapshot.HistoryPointerPath, manifestPath(t, store)} {
		before, _, err := store.Read(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, store.Write(t.Context(), path, []byte("{"), sink.Condition{}))
		_, err = update(t.Context(), t, store, false)
		damaged := new(history.DamagedError)
		require.ErrorAs(t, err, &damaged, path)
		require.ErrorContains(t, err, path+": the document is damaged")
		require.ErrorContains(t, err, "history --rebuild")
		require.NoError(t, store.Write(t.Context(), path, before, sink.Condition{}))
	}
	// A pointer may be valid JSON without referring to anything, and there may be a stray file next to the pointers of
	// snapshots.
	require.NoError(t, store.Write(t.Context(), snapshot.HistoryPointerPath, []byte("{}"), sink.Condition{}))
	_, err = update(t.Context(), t, store, false)
	require.ErrorContains(t, err, "history --rebuild")
	require.NoError(t, store.Write(t.Context(), "_snapshots/.DS_Store", []byte("x"), sink.Condition{}))
	report, err := update(t.Context(), t, store, true)
	require.NoError(t, err)
	require.Equal(t, dateOf(1), report.Through)
	readHistory(t, store)
}

// TestDamagedSnapshot checks that a snapshot is neither folded nor compared if the bytes of one of its files have
// changed, even if the file can still be read.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	manifest, err := snapshot.At(store).Current(t.Context(), snapshot.Full, dateOf(0))
	require.NoError(t, err)
	for _, table := range manifest.Tables {
		for _, file := range table.Files {
			path := filepath.Join(root, file.Path)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := bytes.Replace(content, []byte("growth-export"), []byte("Growth-export"), 1) // created_by
			require.NotEqual(t, content, changed, file.Path)
			require.NoError(t, os.WriteFile(path, changed, 0o600))
			_, err = update(t.Context(), t, store, false)
			require.ErrorIs(t, err, sink.ErrDamaged, file.Path)
			require.ErrorContains(t, err, file.Path)
			_, err = history.Diff(t.Context(), snapshot.At(store), manifest, manifest)
			require.ErrorIs(t, err, sink.ErrDamaged, file.Path)
			require.ErrorContains(t, err, file.Path)
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
	}
	_, err = update(t.Context(), t, store, false)
	require.NoError(t, err)
}

func manifestPath(t *testing.T, store sink.Store) string {
	t.Helper()
	h, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	return h.Pointer.Manifest
}

// TestChangedSnapshotIsFoldedAgain checks that a fold is not published if a purge has rewritten its snapshot in the
// meantime.
func TestChangedSnapshotIsFoldedAgain(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	pointer := snapshot.PointerPath(snapshot.Full, dateOf(0))
	changed := &meddler{Store: store, act: func(ctx context.Context) error {
		data, _, err := store.Read(ctx, pointer)
		if err != nil {
			return err
		}
		return store.Write(ctx, pointer, []byte(strings.Replace(string(data), `"manifest_sha256": "`, `"manifest_sha256": "0`, 1)), sink.Condition{})
	}}
	_, err := update(t.Context(), t, changed, false)
	require.NoError(t, err)
	current, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(current.Manifest.Snapshots[0].ManifestSHA256, "0"), "the snapshot was folded again")
	staged, err := store.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, slices.DeleteFunc(slices.Collect(maps.Keys(staged)), func(owner string) bool { return strings.HasPrefix(owner, "run") }))
}

// TestPrunedSnapshotIsPublishedAgain checks that a fold notices different rows of a folded date although the run has
// the same id.
func TestPrunedSnapshotIsPublishedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	for i := range 2 {
		require.NoError(t, nightOf(i, []string{"1"}, 0).publish(t.Context(), store))
	}
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)

	n := nightOf(0, []string{"2"}, 0)
	n.prune(t, root)
	require.NoError(t, n.publish(t.Context(), store))
	_, err = update(t.Context(), t, store, false)
	var rebuild *history.NeedsRebuildError
	require.ErrorAs(t, err, &rebuild)
	require.Equal(t, []string{n.date}, rebuild.Dates)
}

// TestPrunedDateIsExportedAgain checks that a new snapshot of a date that was folded and pruned does not stop a history that
// cannot be rebuilt: it is left out. One that replaced the folded snapshot before others were pruned is an error.
func TestPrunedDateIsExportedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run    string // empty for the id of the pruned run
		pruned bool   // the folded run of the date was pruned
	}{"same id": {"", true}, "other id": {"other", true}, "replaced": {"other", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			for i := range 4 {
				require.NoError(t, nightOf(i, []string{strconv.Itoa(i)}, 0).publish(t.Context(), store))
			}
			_, err := update(t.Context(), t, store, false)
			require.NoError(t, err)
			before, _ := readHistory(t, store)
			nightOf(0, nil, 0).prune(t, root)
			again := nightOf(1, []string{"9"}, 0)
			if test.pruned {
				again.prune(t, root)
			}
			pruned := again.run
			again.run = cmp.Or(test.run, again.run)
			require.NoError(t, again.publish(t.Context(), store))

			report, err := update(t.Context(), t, store, false)
			if !test.pruned {
				var rebuild *history.NeedsRebuildError
				require.ErrorAs(t, err, &rebuild)
				require.Equal(t, []string{again.date}, rebuild.Dates)
				require.Equal(t, []string{dateOf(0)}, rebuild.Pruned)
				return
			}
			require.NoError(t, err)
			leftOut := []history.LeftOut{{Date: again.date, RunID: again.run, Reason: "the history holds run " + pruned +
				" of this date, which was pruned, and a rebuild needs the snapshots of " + dateOf(0) + ", which are pruned", Late: true}}
			require.Equal(t, leftOut, report.LeftOut)
			unchanged, _ := readHistory(t, store)
			require.ElementsMatch(t, before, unchanged)

			require.NoError(t, nightOf(4, []string{"3"}, 1).publish(t.Context(), store))
			report, err = update(t.Context(), t, store, false)
			require.NoError(t, err)
			require.Equal(t, dateOf(4), report.Through)
			require.Equal(t, leftOut, report.LeftOut)
			_, err = update(t.Context(), t, store, true)
			require.ErrorContains(t, err, "a rebuild needs the snapshots of "+dateOf(0)+", which are pruned; nothing was changed")
		})
	}
}

// meddler is a Store on which another process acts once the first file of a history is staged.
type meddler struct {
	sink.Store

	act  func(context.Context) error
	once sync.Once
}

// Draft starts a file.
func (m *meddler) Draft(ctx context.Context, owner, path string) (sink.Draft, error) {
	var err error
	m.once.Do(func() { err = m.act(ctx) })
	if err != nil {
		return nil, err
	}
	return m.Store.Draft(ctx, owner, path)
}

// TestScatteredSchools folds snapshots whose files hold the schools in another order than the history. Each file may be
// opened at most twice: for its columns and for its rows.
func TestScatteredSchools(t *testing.T) {
	t.Parallel()
	schools := []string{"a", "c", "e", "b", "d", "f", "g"} // three in a file
	roots := []string{t.TempDir(), t.TempDir()}
	for i, root := range roots {
		if i == 1 {
			slices.Sort(schools)
		}
		store := &openCounter{Store: snapshottest.NewDir(t, root), opens: make(map[string]int)}
		for k := range 2 {
			n := nightOf(k, nil, 0)
			n.schools, n.world = slices.Clone(schools), make(map[string][]record)
			for _, school := range schools {
				for j := range 3 {
					bid := school + strconv.Itoa(j)
					n.world["students"] = append(n.world["students"], record{
						"requested_school_bid": school, "student_bid": bid, "last_name": strconv.Itoa(j * k),
					})
				}
			}
			require.NoError(t, n.publish(t.Context(), store))
			clear(store.opens)
			_, err := update(t.Context(), t, store, false)
			require.NoError(t, err)
			require.Equal(t, 2, slices.Max(slices.Collect(maps.Values(store.opens))), store.opens)
		}
		versions, _ := readHistory(t, store)
		require.Len(t, versions, 7*(3+2)+14)
	}
	var content [2][]string
	for i, root := range roots {
		for path, text := range historyFiles(t, root) {
			if strings.HasPrefix(path, "history/students/") {
				content[i] = append(content[i], text)
			}
		}
	}
	require.ElementsMatch(t, content[1], content[0], "the bytes do not depend on the files of the snapshot")
}

// openCounter counts how often the data files of snapshots are opened.
type openCounter struct {
	sink.Store

	mu    sync.Mutex
	opens map[string]int
}

// Open opens an object.
func (o *openCounter) Open(ctx context.Context, path string) (sink.Object, error) {
	if strings.Contains(path, "/snapshot_date=") {
		o.mu.Lock()
		o.opens[path]++
		o.mu.Unlock()
	}
	return o.Store.Open(ctx, path)
}
