package sink

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
)

// TestVerifyFindsEveryChange changes one byte of every file of a snapshot, at
// many places, and removes each, and expects the file to be named.
func TestVerifyFindsEveryChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	takeSnapshot(t, store, newPlan("run-1", few))
	whole := tree(t, root)
	delete(whole, PlanPath("run-1")) // a plan is no part of what was published
	require.Len(t, whole, 3+2+1)
	source := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for name, data := range whole {
		path := filepath.Join(root, filepath.FromSlash(name))
		targets := []VerifyTarget{{}, {SnapshotDate: today}, {RunID: "run-1"}}
		if name == LatestPath {
			targets = targets[:1]
		}
		requireNamed := func(change string) {
			t.Helper()
			for _, target := range targets {
				report, err := Verify(t.Context(), store, target)
				require.NoError(t, err)
				require.Contains(t, problems(report), name, "%s of %s, target %+v", change, name, target)
			}
		}
		places := []int{0, len(data) - 1, len(data) / 2}
		for range 5 {
			places = append(places, source.IntN(len(data)))
		}
		if len(data) < 300 { // pointers: everywhere, in three runs of the test
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
	requireVerified(t, store, VerifyTarget{})
}

func problems(report *VerifyReport) string {
	var all []string
	for _, problem := range report.Problems {
		all = append(all, problem.String())
	}
	return strings.Join(all, "\n")
}

func TestVerifyFindsEveryProblem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	m := takeSnapshot(t, store, newPlan("run-1"))
	first, second := m.Tables["test_results"].Files[0].Path, m.Tables["test_results"].Files[1].Path
	require.NoError(t, store.Remove(t.Context(), first))
	require.NoError(t, os.Truncate(filepath.Join(root, second), 100))
	require.NoError(t, store.Remove(t.Context(), m.Ledger.Path))
	report, err := Verify(t.Context(), store, VerifyTarget{})
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
		change func(m *Manifest)
		want   string
	}{
		{"a table's rows", func(m *Manifest) {
			table := m.Tables["students"]
			table.Rows++
			m.Tables["students"] = table
		}, "_runs/run-1/manifest.json: table students has 3 rows, its files have 2"},
		{"a dataset's schools", func(m *Manifest) {
			count := m.Datasets["students"]
			count.Denied++
			m.Datasets["students"] = count
		}, "_runs/run-1/ledger.parquet: of dataset students it counts"},
		{
			"a dataset too few", func(m *Manifest) { delete(m.Datasets, "schools") },
			"_runs/run-1/ledger.parquet: it has rows of dataset schools, which the manifest does not know",
		},
		{
			"schools", func(m *Manifest) { m.Schools.OK, m.Schools.Failed = 1, 1 },
			"_runs/run-1/ledger.parquet: it counts 2 schools ok, 0 denied and 0 failed, the manifest 1, 0 and 1",
		},
		{
			"the number of schools", func(m *Manifest) { m.Schools.Total = 9 },
			"_runs/run-1/manifest.json: its counts of schools do not add up",
		},
		{
			"a file's rows", func(m *Manifest) { m.Tables["schools"].Files[0].Rows = 5 },
			"schools/snapshot_date=2026-11-20/part-0000-run-1.parquet: its footer counts 1 rows, the manifest 5",
		},
		{
			"a file's size", func(m *Manifest) { m.Tables["schools"].Files[0].Bytes = 5 },
			"schools/snapshot_date=2026-11-20/part-0000-run-1.parquet: it has ",
		},
		{
			"the run", func(m *Manifest) { m.RunID = "run-2" },
			"_runs/run-1/manifest.json: it is the manifest of another run",
		},
		{
			"the date", func(m *Manifest) { m.SnapshotDate = "2026-11-21" },
			"_runs/run-1/manifest.json: it is not what _runs/run-1/plan.json planned",
		},
		{
			"the kind", func(m *Manifest) { m.Kind = "fulk" },
			"_runs/run-1/manifest.json: it is not what _runs/run-1/plan.json planned",
		},
		{
			"the status", func(m *Manifest) { m.Status = "" },
			`_runs/run-1/manifest.json: the run is "": its files are not kept`,
		},
		{
			"the ledger", func(m *Manifest) { m.Ledger.Path = PlanPath("run-1") },
			"_runs/run-1/manifest.json: its ledger is not that of its run",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := newDir(t, t.TempDir())
			m := takeSnapshot(t, store, newPlan("run-1", few))
			test.change(m)
			require.NoError(t, writeDocument(t.Context(), store, ManifestPath("run-1"), m, Condition{}))
			for _, target := range []VerifyTarget{{RunID: "run-1"}, {SnapshotDate: today}} {
				report, err := Verify(t.Context(), store, target)
				require.NoError(t, err)
				require.Contains(t, problems(report), test.want)
			}
			report, err := Verify(t.Context(), store, VerifyTarget{})
			require.NoError(t, err)
			require.Contains(t, problems(report), "_runs/run-1/manifest.json: its SHA-256 is not the one that _snapshots/2026-11-20.json names")
		})
	}
}

func TestVerifyNothing(t *testing.T) {
	t.Parallel()
	store := newDir(t, filepath.Join(t.TempDir(), "none"))
	for want, target := range map[string]VerifyTarget{
		"no snapshot of all schools":           {},
		"there is no snapshot of 2026-11-20":   {SnapshotDate: today},
		"there is no snapshot as of 2026-11-2": {EffectiveDate: today},
		"there is no run r":                    {RunID: "r"},
	} {
		_, err := Verify(t.Context(), store, target)
		_, refused := errors.AsType[*RefusedError](err)
		require.True(t, refused, "%v", err)
		require.ErrorContains(t, err, want)
	}
	stageRun(t, store, newPlan("r"), nil)
	report, err := Verify(t.Context(), store, VerifyTarget{RunID: "r"})
	require.NoError(t, err)
	require.Equal(t, []Problem{{Path: "_runs/r/manifest.json", Problem: "is missing"}}, report.Problems)
}

// meddling is a store on which somebody else does something just before the
// n-th file is opened.
type meddling struct {
	Store

	opened *atomic.Int64
	before int64
	act    func()
}

func (m meddling) Open(ctx context.Context, path string) (Object, error) {
	if m.opened.Add(1) == m.before {
		m.act()
	}
	return m.Store.Open(ctx, path)
}

func TestVerifyOfASnapshotThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for before := range int64(6) {
		for i, target := range []VerifyTarget{{}, {SnapshotDate: today}, {RunID: "a"}} {
			store := newDir(t, t.TempDir())
			takeSnapshot(t, store, newPlan("a", few))
			stageRun(t, store, newPlan("b", few, planned(time.Hour)), nil)
			meddled := meddling{Store: store, opened: new(atomic.Int64), before: before + 1, act: func() { publishRun(t, store, "b") }}
			report, err := Verify(t.Context(), meddled, target)
			require.NoError(t, err)
			if i < 2 {
				require.Empty(t, report.Problems)
			} else if len(report.Problems) > 0 { // else all files were open by then
				require.Contains(t, problems(report), "replaced", "of the run that is asked for its files are gone, and why")
			}
		}
	}
}

// TestVerifyWhileARunIsPublished stops a publishing before each of its
// operations and verifies what is there: neither the snapshot that it replaces
// nor its own is damaged. What _latest.json says during the publishing differs
// between the first snapshot of a destination, a replacement and one of a newer
// date.
func TestVerifyWhileARunIsPublished(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]*Plan{
		"first": nil, "replacing": newPlan("a", few), "newer": newPlan("a", few, onDate("2026-11-19")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(0); ; n++ {
				store := newDir(t, t.TempDir())
				if before != nil {
					takeSnapshot(t, store, before)
				}
				stageRun(t, store, newPlan("b", few, planned(time.Hour)), nil)
				stopped := &mortal{Store: store}
				stopped.left.Store(n)
				_, killed := Publish(t.Context(), stopped, gather(t, store, "b"), options())
				requireNothingDamaged(t, store, before != nil, fmt.Sprint("before operation ", n))
				if killed == nil {
					break
				}
			}
		})
	}
}

// TestVerifyInStepWithAPublishing lets each operation of a verification be
// followed by one of a replacement, from every point of the replacement on.
func TestVerifyInStepWithAPublishing(t *testing.T) {
	t.Parallel()
	for offset, over := 0, false; !over; offset++ {
		for _, stride := range []int{1, 5} {
			store := newDir(t, t.TempDir())
			takeSnapshot(t, store, newPlan("a", few))
			stageRun(t, store, newPlan("b", few, planned(time.Hour)), nil)
			g := gather(t, store, "b")
			tokens, free, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			publisher := &mortal{Store: store, wait: func() {
				select {
				case <-tokens:
				case <-free:
				}
			}}
			publisher.left.Store(math.MaxInt64)
			var failed error
			go func() {
				defer close(ended)
				_, failed = Publish(t.Context(), publisher, g, options())
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
			verifier := &mortal{Store: store, wait: func() { advance(stride) }}
			verifier.left.Store(math.MaxInt64)
			requireNothingDamaged(t, verifier, true, fmt.Sprint("from operation ", offset))
			close(free)
			<-ended
			require.NoError(t, failed)
		}
	}
}

// requireNothingDamaged verifies the latest snapshot and today's, which may be
// missing if there was none before.
func requireNothingDamaged(t *testing.T, store Store, before bool, when string) {
	t.Helper()
	for _, target := range []VerifyTarget{{}, {SnapshotDate: today}, {RunID: "a"}} {
		report, err := Verify(t.Context(), store, target)
		if _, none := errors.AsType[*RefusedError](err); none {
			require.True(t, !before || target.SnapshotDate != "", when)
			continue
		}
		require.NoError(t, err, when)
		for _, problem := range report.Problems {
			require.True(t, target.RunID != "" && strings.Contains(problem.Problem, "replaced"), "%s: %s", when, problem)
		}
	}
}

func TestVerifyPointersAgainstEachOther(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	takeSnapshot(t, store, newPlan("a", few, onDate("2026-11-19")))
	takeSnapshot(t, store, newPlan("b", few))
	m, err := ReadManifest(t.Context(), store, "a")
	require.NoError(t, err)

	t.Log("_latest.json names an older run")
	require.NoError(t, writeDocument(t.Context(), store, LatestPath, Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: ManifestPath(m.RunID)}, Condition{}))
	report, err := Verify(t.Context(), store, VerifyTarget{})
	require.NoError(t, err)
	require.Equal(t, []Problem{{
		Path: LatestPath, Problem: "names the snapshot of 2026-11-19, the newest is of 2026-11-20",
	}}, report.Problems)

	t.Log("the pointer of a date names another run than the one published for it")
	pointer, _, err := readDocument[Pointer](t.Context(), store, PointerPath(Full, "2026-11-19"))
	require.NoError(t, err)
	require.NoError(t, writeDocument(t.Context(), store, PointerPath(Full, today), pointer, Condition{}))
	report, err = Verify(t.Context(), store, VerifyTarget{RunID: "b"})
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.Equal(t, "_snapshots/2026-11-20.json", report.Problems[0].Path)
}
