package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

var errRefused = errors.New("the disk refuses it")

// refusing is a store that fails to commit files of run "stuck", and to write a document at one path.
type refusing struct {
	sink.Store

	document string
}

func (s refusing) Commit(ctx context.Context, run string, file sink.File) error {
	if run == "stuck" && strings.HasPrefix(file.Path, "students/") {
		return errRefused
	}
	return s.Store.Commit(ctx, run, file)
}

func (s refusing) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == s.document {
		return fmt.Errorf("write %s: %w", path, errRefused) // as stores do
	}
	return s.Store.Write(ctx, path, data, when)
}

// TestStuckRunBlocksOnlyItsDate interrupts the publishing of a run so that it cannot be finished. Other dates are
// published, another run of the same date fails with an error that says what blocks it, and everything is published
// once the cause is removed.
func TestStuckRunBlocksOnlyItsDate(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
	take := func(run string, day int, broken bool) (*pipeline.Summary, error) {
		deps := s.deps(nil)
		if broken {
			deps.Catalog = snapshot.At(refusing{Store: deps.Catalog.Store()})
		}
		deps.Now = func() time.Time { return theDay.AddDate(0, 0, day) }
		settings := defaults()
		settings.RunID, settings.Datasets = run, []string{"schools", "students"}
		return runAll(t.Context(), deps, settings)
	}
	_, err := take("stuck", 0, true)
	require.ErrorIs(t, err, errRefused)

	summary, err := take("next", 1, true)
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, summary.Outcome)
	for _, run := range []string{"same", "stuck"} {
		s.server.ResetLog()
		_, err = take(run, 0, true)
		require.ErrorIs(t, err, errRefused, run)
		require.ErrorContains(t, err, "the interrupted publish of run stuck cannot be finished")
		require.ErrorContains(t, err, "--run-id stuck --abandon")
		require.Empty(t, s.server.Log(), "it fails before any request")
	}
	broken := s.deps(nil)
	broken.Catalog = snapshot.At(refusing{Store: broken.Catalog.Store()})
	_, err = publishAll(t.Context(), broken, pipeline.PublishSettings{})
	require.ErrorIs(t, err, errRefused)

	summary, err = take("same", 0, false)
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, summary.Outcome)
	manifest, err := broken.Catalog.ReadManifest(t.Context(), "stuck")
	require.NoError(t, err)
	require.Equal(t, snapshot.Replaced, manifest.Status, "it was finished first")
}

// TestFailureAfterThePointer has a store on which _latest.json cannot be written. The run is published and says which
// step has failed, and the next command finishes it.
func TestFailureAfterThePointer(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Datasets = "run", []string{"schools", "students"}
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(refusing{Store: deps.Catalog.Store(), document: snapshot.LatestPath})
	for range 2 {
		summary, err := runAll(t.Context(), deps, settings)
		require.NoError(t, err)
		require.Equal(t, pipeline.Published, summary.Outcome)
		require.Contains(t, summary.Unfinished, "write _latest.json: the disk refuses it")
	}
	catalog := s.deps(nil).Catalog
	manifest, err := catalog.Current(t.Context(), snapshot.Full, "2026-11-20")
	require.NoError(t, err)
	require.Equal(t, "run", manifest.RunID)

	summary, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "run"})
	require.NoError(t, err)
	require.Empty(t, summary.Unfinished)
	report, err := maintenance.Verify(t.Context(), catalog, maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	begun, err := catalog.PublishingStarted(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, begun)
	_, _, err = catalog.Read(t.Context(), snapshot.ChangePath("run"))
	require.ErrorIs(t, err, sink.ErrNotFound)
}

// TestAcceptedByHand publishes a run that is held because a table has shrunk: the manifest and every later summary say
// that it was accepted by hand.
func TestAcceptedByHand(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{60, 0, 90}}, simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Datasets = "before", []string{"schools", "students"}
	settings.SnapshotDate, settings.Backdate = "2026-11-19", true
	s.run(settings)
	fewer := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{60}}, simulator.ServerOptions{})
	fewer.dest = s.dest
	settings.RunID, settings.SnapshotDate = "fewer", ""
	held := fewer.run(settings)
	require.Equal(t, pipeline.HeldBack, held.Outcome)
	for range 2 {
		summary, err := publishAll(t.Context(), fewer.deps(nil), pipeline.PublishSettings{RunID: "fewer", AcceptHeld: true})
		require.NoError(t, err)
		require.Equal(t, pipeline.Published, summary.Outcome)
		require.Equal(t, held.Held, summary.Accepted)
	}
}

// TestObstacleIsFoundBeforeAnyRequest has another object in the place of a table's folder: the run reports it at once,
// and nothing becomes visible.
func TestObstacleIsFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a file":          func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	} {
		s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
		require.NoError(t, os.MkdirAll(s.dest, 0o700))
		obstacle := filepath.Join(s.dest, "students")
		require.NoError(t, put(obstacle))
		settings := defaults()
		settings.Datasets = []string{"schools", "students"}
		_, err := runAll(t.Context(), s.deps(nil), settings)
		require.ErrorContains(t, err, "students is "+name)
		require.Empty(t, s.server.Log())
		left, err := os.ReadDir(s.dest)
		require.NoError(t, err)
		require.Len(t, left, 1, "only the obstacle is left")

		require.NoError(t, os.Remove(obstacle))
		require.Equal(t, pipeline.Published, s.run(settings).Outcome)
	}
}

// mountedPointers is a file system on which the folder of the pointers is a
// mount.
type mountedPointers struct{ sink.FileSystem }

func (m mountedPointers) Rename(from, to string) error {
	if strings.HasPrefix(to, "_snapshots/") {
		return errRefused
	}
	return m.FileSystem.Rename(from, to)
}

// TestMountedPointersAreFoundBeforeAnyRequest expects an error before any request if no pointer can be written.
func TestMountedPointersAreFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
	require.NoError(t, os.MkdirAll(filepath.Join(s.dest, "_snapshots"), 0o700))
	store, err := sink.NewDir(s.dest, sink.DirOptions{
		WrapFileSystem: func(system sink.FileSystem) sink.FileSystem { return mountedPointers{system} },
	})
	require.NoError(t, err)
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(store)
	_, err = runAll(t.Context(), deps, defaults())
	require.ErrorContains(t, err, "cannot move files to _snapshots")
	require.Empty(t, s.server.Log())
}

// TestPublishPassesOverAStuckPurge expects the error that no run is staged if the only unfinished change is the purge
// of a published run.
func TestPublishPassesOverAStuckPurge(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Datasets = "run", []string{"schools", "students"}
	_, err := runAll(t.Context(), s.deps(nil), settings)
	require.NoError(t, err)
	catalog := s.deps(nil).Catalog
	data, _, err := catalog.Read(t.Context(), snapshot.ManifestPath("run"))
	require.NoError(t, err)
	after, err := catalog.ReadManifest(t.Context(), "run")
	require.NoError(t, err)
	after.Purges = []snapshot.ManifestPurge{{ID: "purge"}}
	change := snapshot.Change{
		FormatVersion: 1, RunID: "run", Kind: after.Kind, SnapshotDate: after.SnapshotDate, Before: sink.Hash(data), After: after,
	}
	require.NoError(t, snapshot.WriteDocument(t.Context(), catalog.Store(), snapshot.ChangePath("run"), change, sink.Condition{}))
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(refusing{Store: catalog.Store(), document: snapshot.ManifestPath("run")})
	_, err = publishAll(t.Context(), deps, pipeline.PublishSettings{})
	require.ErrorIs(t, err, pipeline.ErrUsage)
	require.ErrorContains(t, err, "is staged")
}
