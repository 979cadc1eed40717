package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// lockless is a store without locks, like S3.
type lockless struct{ sink.Store }

func (lockless) Lock(context.Context, string, sink.LockMode, time.Duration) (func() error, error) {
	return func() error { return nil }, nil
}

// interrupted is a store on which another process acts just before the n-th document is written, not counting reports
// and signs of life.
type interrupted struct {
	lockless

	before  int64
	act     func()
	written *atomic.Int64
}

func (s interrupted) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path != snapshot.ReportPath("run") && path != snapshot.AlivePath("run") && path != snapshot.IndexPath && s.written.Add(1) == s.before {
		s.act()
	}
	return s.lockless.Write(ctx, path, data, when)
}

// TestOvertaken lets another process complete the same run while this one is paused before it writes a document. This
// one then finds the run published and its own staged files gone. A shard that was thought dead is overtaken only when
// the run is published.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	settings := defaults()
	settings.RunID, settings.Datasets, settings.SchoolsPerFile = "run", []string{"schools", "students"}, 2
	settings.Concurrency = 1 // so that the documents are always written in the same order
	world := simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}
	quiet := newSite(t, world, simulator.ServerOptions{})
	quiet.run(settings)
	want := quiet.hashes()
	const documents = 8 // the plan, three checkpoints, change, manifest, pointer and latest
	for _, shards := range []int{1, 2} {
		for n := range int64(documents) {
			s := newSite(t, world, simulator.ServerOptions{})
			when := fmt.Sprintf("%d shards, before document %d", shards, n)
			settings := settings
			settings.Shards = shards
			deps := s.deps(nil)
			var count atomic.Int64
			deps.Catalog = snapshot.At(interrupted{lockless: lockless{deps.Catalog.Store()}, before: n + 1, written: &count, act: func() {
				for i := range shards {
					other := settings
					other.Shard = i
					deps := s.deps(nil)
					deps.Catalog = snapshot.At(lockless{deps.Catalog.Store()})
					_, err := runAll(t.Context(), deps, other)
					require.NoError(t, err, when)
					if shards > 1 && i == shards-1 {
						_, err := publishAll(t.Context(), deps, pipeline.PublishSettings{RunID: "run"})
						require.NoError(t, err, when)
					}
				}
			}})
			summary, err := runAll(t.Context(), deps, settings)
			require.NoError(t, err, when)
			if n >= count.Load() {
				require.Greater(t, shards, 1, "a shard writes fewer documents")
				continue
			}
			require.Equal(t, pipeline.Published, summary.Outcome, when)
			require.Equal(t, want, s.hashes(), when)
			staged, err := deps.Catalog.Staged(t.Context())
			require.NoError(t, err)
			require.Empty(t, staged, when)
			left, err := filepath.Glob(filepath.Join(s.dest, "_runs", "run", "*"))
			require.NoError(t, err)
			require.Len(t, left, 4, "plan, manifest, ledger and report: %s", when)
		}
	}
}

// blind is a store that does not find a staged file while another process makes it visible, like stores that hide an
// upload while it is being completed.
type blind struct {
	sink.Store

	now *atomic.Bool
}

func (s blind) Holds(ctx context.Context, run string, file sink.File) (bool, error) {
	if s.now.Load() {
		return false, nil
	}
	return s.Store.Holds(ctx, run, file)
}

func (s blind) Intact(ctx context.Context, run string, file sink.File) (bool, error) {
	if s.now.Load() {
		return false, nil
	}
	return s.Store.Intact(ctx, run, file)
}

// killed is a store whose process is killed before a document is written.
type killed struct {
	lockless

	path string
}

func (s killed) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == s.path {
		return errKilled
	}
	return s.lockless.Write(ctx, path, data, when)
}

var errKilled = errors.New("killed")

// TestOvertakenWhilePublishing has another process publish half of the run. This one cannot find the staged files, and
// finishes publishing the run.
func TestOvertakenWhilePublishing(t *testing.T) {
	t.Parallel()
	settings := defaults()
	settings.RunID, settings.Datasets, settings.Concurrency = "run", []string{"schools", "students"}, 1
	s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: []int{3, 0, 5}}, simulator.ServerOptions{})
	deps := s.deps(nil)
	var count atomic.Int64
	var publishing atomic.Bool
	before := interrupted{lockless: lockless{deps.Catalog.Store()}, before: 3, written: &count, act: func() {
		other := s.deps(nil)
		other.Catalog = snapshot.At(killed{lockless: lockless{other.Catalog.Store()}, path: snapshot.ManifestPath("run")})
		_, err := runAll(t.Context(), other, settings)
		require.ErrorIs(t, err, errKilled)
		publishing.Store(true)
	}}
	deps.Catalog = snapshot.At(blind{Store: before, now: &publishing})
	summary, err := runAll(t.Context(), deps, settings)
	require.NoError(t, err)
	require.True(t, publishing.Load())
	require.True(t, summary.AlreadyPublished)
	report, err := maintenance.Verify(t.Context(), deps.Catalog, maintenance.VerifyTarget{RunID: "run"})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	staged, err := deps.Catalog.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, staged)
}
