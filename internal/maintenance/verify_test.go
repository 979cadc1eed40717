package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestVerifyFindsEveryChange changes single bytes at many positions of every file, and then truncates, empties and removes the
// file. Each time, Verify must report a problem that gives the path of the file.
func TestVerifyFindsEveryChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run-1", snapshottest.Few))
	whole := snapshottest.Tree(t, root)
	delete(whole, snapshot.PlanPath("run-1")) // plans are not verified
	require.Len(t, whole, 3+2+1)
	source := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for name, data := range whole {
		path := filepath.Join(root, filepath.FromSlash(name))
		targets := []maintenance.VerifyTarget{{}, {SnapshotDate: snapshottest.Today}, {RunID: "run-1"}}
		if name == snapshot.LatestPath {
			targets = targets[:1]
		}
		requireNamed := func(change string) {
			t.Helper()
			for _, target := range targets {
				report, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
				require.NoError(t, err)
				require.Contains(t, problems(report), name, "%s of %s, target %+v", change, name, target)
			}
		}
		places := []int{0, len(data) - 1, len(data) / 2}
		for range 5 {
			places = append(places, source.IntN(len(data)))
		}
		if len(data) < 300 { // a pointer: every third byte from a random start
			for i := source.IntN(3); i < len(data); i += 3 {
				places = append(places, i)
			}
		}
		for _, place := range places {
			changed := []byte(data)
			changed[place] ^= byte(1 + source.IntN(255))
			require.NoError(t, os.WriteFile(path, changed, 0o600))
			requireNamed("a change")
		}
		require.NoError(t, os.WriteFile(path, []byte(data[:len(data)/2]), 0o600))
		requireNamed("the end")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		requireNamed("all")
		require.NoError(t, os.Remove(path))
		requireNamed("the removal")
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}

func problems(report *maintenance.VerifyReport) string {
	var all []string
	for _, problem := range report.Problems {
		all = append(all, problem.String())
	}
	return strings.Join(all, "\n")
}

func TestVerifyFindsEveryProblem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	m := snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run-1"))
	first, second := m.Tables["test_results"].Files[0].Path, m.Tables["test_results"].Files[1].Path
	require.NoError(t, store.Remove(t.Context(), first))
	require.NoError(t, os.Truncate(filepath.Join(root, second), 100))
	require.NoError(t, store.Remove(t.Context(), m.Ledger.Path))
	report, err := maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.False(t, report.OK())
	var paths []string
	for _, problem := range report.Problems {
		paths = append(paths, problem.Path)
	}
	require.Subset(t, paths, []string{first, second, m.Ledger.Path})
	require.IsNonDecreasing(t, paths)
}

func TestVerifyComparesTotals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(m *snapshot.Manifest)
		want   string
	}{
		{"a table's rows", func(m *snapshot.Manifest) {
			table := m.Tables["students"]
			table.Rows++
			m.Tables["students"] = table
		}, "_runs/run-1/manifest.json: table students has 3 rows, but its files have 2"},
		{"a dataset's schools", func(m *snapshot.Manifest) {
			count := m.Datasets["students"]
			count.Denied++
			m.Datasets["students"] = count
		}, "_runs/run-1/ledger.parquet: dataset students: the ledger counts"},
		{
			"a dataset too few", func(m *snapshot.Manifest) { delete(m.Datasets, "schools") },
			"_runs/run-1/ledger.parquet: it has rows of dataset schools, which is not in the manifest",
		},
		{
			"schools", func(m *snapshot.Manifest) { m.Schools.OK, m.Schools.Failed = 1, 1 },
			"_runs/run-1/ledger.parquet: it counts 2 schools ok, 0 denied and 0 failed, but the manifest counts 1, 0 and 1",
		},
		{
			"the number of schools", func(m *snapshot.Manifest) { m.Schools.Total = 9 },
			"_runs/run-1/manifest.json: its counts of schools do not add up",
		},
		{
			"a file's rows", func(m *snapshot.Manifest) { m.Tables["schools"].Files[0].Rows = 5 },
			"schools/snapshot_date=2026-11-20/part-0000-run-1.parquet: its footer counts 1 rows, but the manifest says 5",
		},
		{
			"a file's size", func(m *snapshot.Manifest) { m.Tables["schools"].Files[0].Bytes = 5 },
			"schools/snapshot_date=2026-11-20/part-0000-run-1.parquet: it has ",
		},
		{
			"the run", func(m *snapshot.Manifest) { m.RunID = "run-2" },
			"_runs/run-1/manifest.json: it is the manifest of another run",
		},
		{
			"the date", func(m *snapshot.Manifest) { m.SnapshotDate = "2026-11-21" },
			"_runs/run-1/manifest.json: it does not match _runs/run-1/plan.json",
		},
		{
			"the kind", func(m *snapshot.Manifest) { m.Kind = "fulk" },
			"_runs/run-1/manifest.json: it does not match _runs/run-1/plan.json",
		},
		{
			"the status", func(m *snapshot.Manifest) { m.Status = "" },
			`_runs/run-1/manifest.json: the status of the run is "", so its files are not kept`,
		},
		{
			"the ledger", func(m *snapshot.Manifest) { m.Ledger.Path = snapshot.PlanPath("run-1") },
			"_runs/run-1/manifest.json: its ledger belongs to another run",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			m := snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run-1", snapshottest.Few))
			test.change(m)
			require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.ManifestPath("run-1"), m, sink.Condition{}))
			for _, target := range []maintenance.VerifyTarget{{RunID: "run-1"}, {SnapshotDate: snapshottest.Today}} {
				report, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
				require.NoError(t, err)
				require.Contains(t, problems(report), test.want)
			}
			report, err := maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{})
			require.NoError(t, err)
			require.Contains(t, problems(report), "_runs/run-1/manifest.json: its SHA-256 is not the one in _snapshots/2026-11-20.json")
		})
	}
}

func TestVerifyNothing(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, filepath.Join(t.TempDir(), "none"))
	for want, target := range map[string]maintenance.VerifyTarget{
		"no snapshot of all schools":           {},
		"there is no snapshot of 2026-11-20":   {SnapshotDate: snapshottest.Today},
		"there is no snapshot as of 2026-11-2": {EffectiveDate: snapshottest.Today},
		"there is no run r":                    {RunID: "r"},
	} {
		_, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
		_, refused := errors.AsType[*snapshot.RefusedError](err)
		require.True(t, refused, "%v", err)
		require.ErrorContains(t, err, want)
	}
}

// TestVerifyUnpublished checks that a staged run cannot be verified, and that a published run without its manifest is
// damaged.
func TestVerifyUnpublished(t *testing.T) {
	t.Parallel()
	delta := func(p *snapshot.Plan) { p.Kind = snapshot.Delta }
	for name, edit := range map[string]func(*snapshot.Plan){"full": func(*snapshot.Plan) {}, "delta": delta} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			verify := func(run string) (*maintenance.VerifyReport, error) {
				return maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{RunID: run})
			}
			snapshottest.StageRun(t, store, snapshottest.NewPlan("r", edit), nil)
			_, err := verify("r")
			_, refused := errors.AsType[*snapshot.RefusedError](err)
			require.True(t, refused, "%v", err)
			require.ErrorContains(t, err, "is not published, so there is nothing to verify")

			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("s", edit))
			require.NoError(t, store.Remove(t.Context(), snapshot.ManifestPath("s")))
			report, err := verify("s")
			require.NoError(t, err)
			require.Equal(t, []maintenance.Problem{{Path: "_runs/s/manifest.json", Problem: "is missing"}}, report.Problems)
		})
	}
}

// meddling is a store on which another process acts just before the n-th file is opened.
type meddling struct {
	sink.Store

	opened *atomic.Int64
	before int64
	act    func()
}

func (m meddling) Open(ctx context.Context, path string) (sink.Object, error) {
	if m.opened.Add(1) == m.before {
		m.act()
	}
	return m.Store.Open(ctx, path)
}

func TestVerifyOfASnapshotThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for before := range int64(6) {
		for i, target := range []maintenance.VerifyTarget{{}, {SnapshotDate: snapshottest.Today}, {RunID: "a"}} {
			store := snapshottest.NewDir(t, t.TempDir())
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a", snapshottest.Few))
			snapshottest.StageRun(t, store, snapshottest.NewPlan("b", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
			meddled := meddling{Store: store, opened: new(atomic.Int64), before: before + 1, act: func() { snapshottest.PublishRun(t, store, "b") }}
			report, err := maintenance.Verify(t.Context(), snapshot.At(meddled), target)
			if refused, ok := errors.AsType[*snapshot.RefusedError](err); i == 2 && ok { // not all files were open before the run was replaced
				require.ErrorContains(t, refused, "was replaced by run b")
				continue
			}
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		}
	}
}

// TestVerifyWhileARunIsPublished stops a Publish before each of its operations and verifies the destination: neither
// the replaced snapshot nor the new one is damaged. While a run is being published, the content of _latest.json differs
// between the first snapshot of a destination, a replacement and a snapshot of a newer date.
func TestVerifyWhileARunIsPublished(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]*snapshot.Plan{
		"first": nil, "replacing": snapshottest.NewPlan("a", snapshottest.Few), "newer": snapshottest.NewPlan("a", snapshottest.Few, snapshottest.OnDate("2026-11-19")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(0); ; n += int64(sampled(1)) {
				store := snapshottest.NewDir(t, t.TempDir())
				if before != nil {
					snapshottest.TakeSnapshot(t, store, before)
				}
				snapshottest.StageRun(t, store, snapshottest.NewPlan("b", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
				stopped := &snapshottest.Mortal{Store: store}
				stopped.Left.Store(n)
				_, killed := snapshot.At(stopped).Publish(t.Context(), snapshottest.Collect(t, store, "b"), snapshottest.Options())
				requireNothingDamaged(t, store, before != nil, fmt.Sprint("before operation ", n))
				if killed == nil {
					break
				}
			}
		})
	}
}

// TestVerifyInStepWithAPublishing interleaves the operations of a verification and a replacement, from every point of
// the replacement on.
func TestVerifyInStepWithAPublishing(t *testing.T) {
	t.Parallel()
	for offset, over := 0, false; !over; offset += sampled(1) {
		for _, stride := range []int{1, 5} {
			store := snapshottest.NewDir(t, t.TempDir())
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a", snapshottest.Few))
			snapshottest.StageRun(t, store, snapshottest.NewPlan("b", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
			g := snapshottest.Collect(t, store, "b")
			tokens, free, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			publisher := &snapshottest.Mortal{Store: store, Wait: func() {
				select {
				case <-tokens:
				case <-free:
				}
			}}
			publisher.Left.Store(math.MaxInt64)
			var failed error
			go func() {
				defer close(ended)
				_, failed = snapshot.At(publisher).Publish(t.Context(), g, snapshottest.Options())
			}()
			advance := func(steps int) {
				for range steps {
					select {
					case tokens <- struct{}{}:
					case <-ended:
						return
					}
				}
			}
			advance(offset)
			select {
			case <-ended:
				over = true
			default:
			}
			verifier := &snapshottest.Mortal{Store: store, Wait: func() { advance(stride) }}
			verifier.Left.Store(math.MaxInt64)
			requireNothingDamaged(t, verifier, true, fmt.Sprint("from operation ", offset))
			close(free)
			<-ended
			require.NoError(t, failed)
		}
	}
}

// requireNothingDamaged verifies the latest snapshot and today's, which may be missing if there was none before.
func requireNothingDamaged(t *testing.T, store sink.Store, before bool, when string) {
	t.Helper()
	for _, target := range []maintenance.VerifyTarget{{}, {SnapshotDate: snapshottest.Today}, {RunID: "a"}} {
		report, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
		if refused, none := errors.AsType[*snapshot.RefusedError](err); none {
			replaced := target.RunID != "" && strings.Contains(refused.Error(), "was replaced by run b")
			require.True(t, !before || target.SnapshotDate != "" || replaced, when)
			continue
		}
		require.NoError(t, err, when)
		require.Empty(t, report.Problems, when)
	}
}

func TestVerifyPointersAgainstEachOther(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a", snapshottest.Few, snapshottest.OnDate("2026-11-19")))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("b", snapshottest.Few))
	m, err := snapshot.At(store).ReadManifest(t.Context(), "a")
	require.NoError(t, err)

	t.Log("_latest.json refers to an older run")
	require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.LatestPath, snapshot.Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: snapshot.ManifestPath(m.RunID)}, sink.Condition{}))
	report, err := maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.Equal(t, []maintenance.Problem{{
		Path: snapshot.LatestPath, Problem: "refers to the snapshot of 2026-11-19, but the newest is of 2026-11-20",
	}}, report.Problems)

	t.Log("the pointer of a date refers to a run other than the one published for it")
	pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](t.Context(), store, snapshot.PointerPath(snapshot.Full, "2026-11-19"))
	require.NoError(t, err)
	require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.PointerPath(snapshot.Full, snapshottest.Today), pointer, sink.Condition{}))
	report, err = maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{RunID: "b"})
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.Equal(t, "_snapshots/2026-11-20.json", report.Problems[0].Path)

	t.Log("_latest.json refers to a run that was given up")
	alone := snapshottest.NewDir(t, t.TempDir())
	snapshottest.TakeSnapshot(t, alone, snapshottest.NewPlan("c", snapshottest.Few))
	require.NoError(t, alone.Remove(t.Context(), snapshot.PointerPath(snapshot.Full, snapshottest.Today)))
	require.NoError(t, alone.Remove(t.Context(), snapshot.ManifestPath("c")))
	report, err = maintenance.Verify(t.Context(), snapshot.At(alone), maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.Contains(t, report.Problems, maintenance.Problem{
		Path: snapshot.LatestPath, Problem: "refers to run c, but there is no snapshot of 2026-11-20",
	})
}
