package sink

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink/parquetfile"
	"example.org/growthexport/schemas"
)

// TestPurgeSchool removes a school from every run: its own rows, what others
// hold of it, and what was made from these records.
func TestPurgeSchool(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	purgeSite(t, store)
	before := tree(t, root)

	options := purgeOptions([]string{gone, "nobody"}, nil)
	options.DryRun = true
	var unknown *UnknownBidsError
	_, err := Purge(t.Context(), store, options)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"nobody"}, unknown.Bids)
	options.AllowUnknown = true
	would, err := Purge(t.Context(), store, options)
	require.NoError(t, err)
	require.Equal(t, before, tree(t, root), "a dry run changes nothing")

	options.DryRun = false
	report, err := Purge(t.Context(), store, options)
	require.NoError(t, err)
	require.Equal(t, would.RowsRemoved, report.RowsRemoved)
	require.Equal(t, []string{"nobody"}, report.Unknown)
	require.Equal(t, map[string]int64{
		"schools": 4, "district_schools": 4, "students": 8,
		"test_results": 4 * (4 + 1), "test_result_norms": 4 * (4 + 2), "test_result_instructional_areas": 4 * (4 + 2),
	}, report.RowsRemoved)
	require.Zero(t, report.Reread.RowsFound)
	require.Empty(t, report.Reread.RowsMentioning)
	require.Len(t, report.Runs, 4)
	require.Equal(t, 4*6, report.FilesRewritten)

	for _, run := range purgedRuns() {
		requireVerified(t, store, VerifyTarget{RunID: run})
		got := readWorld(t, store, run)
		for name, records := range got {
			for _, r := range records {
				for _, text := range r {
					require.NotEqual(t, gone, text, "table %s of %s: %v", name, run, r)
				}
			}
		}
		require.Len(t, got["test_results"], 3)
		require.Equal(t, []record{
			{"requested_school_bid": stays},
			{"requested_school_bid": stays, "test_result_bid": "1 of " + stays},
			{"requested_school_bid": stays, "test_result_bid": "3 of " + stays},
		}, got["test_result_norms"], "the elements of the record that went are gone, and no others")
		require.Len(t, got["academic_years"], 3)
	}
	requireVerified(t, store, VerifyTarget{})
	requireNoBytes(t, root, gone)
	requireRewrittenLikeNew(t, store, latestRun)

	var proof PurgeReport
	data, _, err := store.Read(t.Context(), PurgePath(report.ID))
	require.NoError(t, err)
	require.NoError(t, decodeDocument("", data, &proof))
	require.Equal(t, purgeDone, proof.State)
	require.Equal(t, report.RowsRemoved, proof.RowsRemoved)
	require.Equal(t, rewrittenFiles(report), rewrittenFiles(&proof))

	// What has nothing to do with it is as it was.
	after := tree(t, root)
	for name, text := range before {
		if strings.HasPrefix(name, "districts/") || strings.HasPrefix(name, "academic_years/") || strings.Contains(name, "ledger") {
			require.Equal(t, text, after[name], name)
		}
	}
	again, err := Purge(t.Context(), store, options)
	require.NoError(t, err)
	require.True(t, again.Nothing())
	require.Equal(t, after, tree(t, root))
}

// requireNoBytes looks for a text in the bytes of every data file as they are,
// which statistics and page indexes are, and in every text that is read.
func requireNoBytes(t *testing.T, root, text string) {
	t.Helper()
	looked := 0
	for name, data := range tree(t, root) {
		if strings.HasPrefix(name, "_") {
			continue
		}
		looked++
		require.NotContains(t, data, text, name)
	}
	require.Positive(t, looked)
}

// requireRewrittenLikeNew writes the rows of every file of a run as a new file
// would be, whose bytes are the same.
func requireRewrittenLikeNew(t *testing.T, store Store, run string) {
	t.Helper()
	m, err := ReadManifest(t.Context(), store, run)
	require.NoError(t, err)
	for name, listed := range m.Tables {
		table, _, _ := schemas.FindTable(name)
		for _, file := range listed.Files {
			var out bytes.Buffer
			w := parquetfile.NewWriter(&out, table, parquetfile.Options{})
			require.NoError(t, readFile(t.Context(), store, file.Path, table, as(table), w.Append))
			_, err := w.Close()
			require.NoError(t, err)
			require.Equal(t, Hash(out.Bytes()), file.SHA256, file.Path)
		}
	}
}

// TestPurgeDistrict removes a district with its school and with what it says of
// the school of another.
func TestPurgeDistrict(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	purgeSite(t, store)
	report, err := Purge(t.Context(), store, purgeOptions(nil, []string{goneDistrict}))
	require.NoError(t, err)
	require.Equal(t, []string{gone}, report.Schools)
	require.Empty(t, report.Unknown)
	for _, run := range purgedRuns() {
		requireVerified(t, store, VerifyTarget{RunID: run})
		got := readWorld(t, store, run)
		require.Equal(t, []record{{"district_bid": staysToo}}, got["districts"])
		require.Len(t, got["schools"], 1)
		require.Len(t, got["district_schools"], 1)
		require.Len(t, got["students"], 2)
		require.Len(t, got["academic_years"], 1)
		require.Len(t, got["enrollment_sessions"], 1)
		require.Equal(t, "s "+staysToo, got["enrollment_sessions"][0]["enrollment_session_bid"])
	}
	requireNoBytes(t, root, gone)
	requireNoBytes(t, root, goneDistrict)
}

// TestPurgeAgain purges another school of a run that was purged before.
func TestPurgeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	purgeSite(t, store)
	for _, school := range []string{gone, stays} {
		_, err := Purge(t.Context(), store, purgeOptions([]string{school}, nil))
		require.NoError(t, err)
		requireNoBytes(t, root, school)
	}
	for _, run := range purgedRuns() {
		requireVerified(t, store, VerifyTarget{RunID: run})
		require.Empty(t, readWorld(t, store, run)["test_results"])
	}
	require.Contains(t, tree(t, root), "students/snapshot_date="+today+"/part-00000002-"+latestRun+".parquet")
}

// TestPurgeUnfinished drops runs that are not published, for what they have
// staged cannot be looked into, and none where the bid is nobody's.
func TestPurgeUnfinished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	purgeSite(t, store)
	stageWorld(t, store, "staged", purgeWorld(), planned(time.Hour))
	_, err := CreatePlan(t.Context(), store, newPlan("only-planned", few))
	require.NoError(t, err)
	before := tree(t, root)
	unknown := purgeOptions([]string{"nobody"}, nil)
	_, err = Purge(t.Context(), store, unknown)
	require.ErrorAs(t, err, new(*UnknownBidsError))
	unknown.AllowUnknown = true
	report, err := Purge(t.Context(), store, unknown)
	require.NoError(t, err)
	require.True(t, report.Nothing())
	require.Equal(t, before, tree(t, root))

	for _, shard := range [][2]int{{0, 1}, {2, 3}, {0, 7}, {3, 8}, {0, 16}} {
		unlock, err := HoldRunShared(t.Context(), store, "staged", shard[0], shard[1])
		require.NoError(t, err)
		_, err = Purge(t.Context(), newDir(t, root), purgeOptions([]string{gone}, nil))
		require.ErrorAs(t, err, new(*RefusedError))
		require.NoError(t, unlock())
		require.Equal(t, before, tree(t, root))
	}

	report, err = Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"staged"}, report.DroppedRuns)
	require.NoDirExists(t, filepath.Join(root, "_staging"))
	require.NoDirExists(t, filepath.Join(root, "_runs", "staged"))
	require.FileExists(t, filepath.Join(root, "_runs", "only-planned", "plan.json"))
}

// TestPurgeTells of what is not as it should be, and changes no run then.
func TestPurgeTells(t *testing.T) {
	t.Parallel()
	students := "students/snapshot_date=" + today + "/"
	tests := []struct {
		name  string
		spoil func(t *testing.T, root string)
		says  string
	}{
		{"a file that no run names", func(t *testing.T, root string) {
			t.Helper()
			link(t, root, students+"part-0000-"+latestRun+".parquet", students+"part-0000-restored.parquet")
		}, students + "part-0000-restored.parquet"},
		{"a damaged file", func(t *testing.T, root string) {
			t.Helper()
			link(t, root, "students/snapshot_date="+earlierDate+"/part-0000-"+earlierRun+".parquet", "x")
			data, err := os.ReadFile(filepath.Join(root, "x"))
			require.NoError(t, err)
			data[8] ^= 1
			require.NoError(t, os.WriteFile(filepath.Join(root, "x"), data, 0o600))
		}, "part-0000-" + earlierRun},
		{"a damaged manifest", func(t *testing.T, root string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(root, ManifestPath(latestRun)), []byte("{"), 0o600))
		}, ManifestPath(latestRun)},
		{"a manifest that the pointer does not name", func(t *testing.T, root string) {
			t.Helper()
			path := filepath.Join(root, ManifestPath(latestRun))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte("1.0.0"), []byte("1.0.1"), 1), 0o600))
		}, ManifestPath(latestRun)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			purgeSite(t, store)
			test.spoil(t, root)
			_, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestPurgeDisturbed has somebody else step in between two operations: the
// purge looks again and comes to its end, and every run is whole.
func TestPurgeDisturbed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		act        func(t *testing.T, store Store)
		runs       []string
	}{
		{"the run is replaced", ManifestPath(latestRun), func(t *testing.T, store Store) {
			t.Helper()
			publishWorld(t, store, "later", planned(time.Hour))
		}, []string{"later"}},
		{"what was staged is lost", ChangePath(latestRun), func(t *testing.T, store Store) {
			t.Helper()
			require.NoError(t, store.Sweep(t.Context(), latestRun))
		}, []string{latestRun}},
		{"another run is published", ChangePath(latestRun), func(t *testing.T, store Store) {
			t.Helper()
			publishWorld(t, store, "other", onDate("2026-11-18"))
		}, []string{latestRun, "other"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			publishWorld(t, store, latestRun)
			acted := false
			disturbed := &interloper{lockless: lockless{store}, path: test.path, act: func() {
				acted = true
				test.act(t, lockless{store})
			}}
			report, err := Purge(t.Context(), disturbed, purgeOptions([]string{gone}, nil))
			require.NoError(t, err)
			require.True(t, acted)
			require.Len(t, report.Runs, len(test.runs))
			for _, run := range test.runs {
				requireVerified(t, store, VerifyTarget{RunID: run})
			}
			requireNoBytes(t, root, gone)
			for name := range tree(t, root) {
				require.NotContains(t, name, "change.json")
				require.NotContains(t, name, "_staging/")
				if name[0] != '_' && !slices.Contains(test.runs, latestRun) {
					require.NotContains(t, name, latestRun)
				}
			}
		})
	}
}

func link(t *testing.T, root, from, to string) {
	t.Helper()
	require.NoError(t, os.Link(filepath.Join(root, from), filepath.Join(root, to)))
}

// TestPurgeKnownBids expects a bid to be known wherever it occurs, and to be
// unknown only if it occurs nowhere.
func TestPurgeKnownBids(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	stageWorld(t, store, latestRun, purgeWorld(), func(p *Plan) {
		p.FailedSchools = []SchoolFailure{{SchoolBid: "failed", Dataset: "schools", Error: "unknown"}}
		p.Districts = []string{"empty district"}
	})
	publishRun(t, store, latestRun)
	require.NoError(t, os.Remove(filepath.Join(root, PlanPath(latestRun))))
	known := func(bid string, byDistrict bool) error {
		options := purgeOptions([]string{bid}, nil)
		if byDistrict {
			options = purgeOptions(nil, []string{bid})
		}
		options.DryRun = true
		_, err := Purge(t.Context(), store, options)
		return err
	}
	require.NoError(t, known("failed", false), "the manifest and the ledger name it")
	require.NoError(t, known(gone, false))
	require.NoError(t, known(goneDistrict, true))
	require.Error(t, known("empty district", true), "only the plan named it")

	// The rows of a school that was purged are gone, and its ledger rows stay.
	_, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	report, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	require.True(t, report.Nothing())
}

// intruded is a Store on which another process acts before the first write to a
// path. Unlike an interloper's, its locks exclude others.
type intruded struct {
	Store

	path string
	once sync.Once
	act  func()
}

func (i *intruded) Write(ctx context.Context, path string, data []byte, when Condition) error {
	if path == i.path {
		i.once.Do(i.act)
	}
	return i.Store.Write(ctx, path, data, when)
}

// TestPurgeIntruded has a run begin after the purge has looked for runs: what it
// stages is dropped before the proof, or no proof is written while it is at
// work.
func TestPurgeIntruded(t *testing.T) {
	t.Parallel()
	options := purgeOptions([]string{gone}, nil)
	id := publishedAt().Format("20060102T150405Z") + "-" + PurgeAsked{Schools: options.Schools}.id()
	for _, test := range []struct {
		name, path       string
		atWork, lockless bool
	}{
		{"ended", PurgePath(id), false, false},
		{"at work", PurgePath(id), true, false},
		{"ended, late", ChangePath(latestRun), false, false},
		{"at work, late", ChangePath(latestRun), true, false},
		{"without locks", ChangePath(latestRun), false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			publishWorld(t, newDir(t, root), latestRun)
			release := func() error { return nil }
			var store Store = newDir(t, root)
			if test.lockless {
				store = lockless{store}
			}
			acted := false
			store = &intruded{Store: store, path: test.path, act: func() {
				acted = true
				other := newDir(t, root)
				if test.atWork {
					var err error
					release, err = HoldRunShared(t.Context(), other, "intruder", 0, 1)
					require.NoError(t, err)
				}
				stageWorld(t, other, "intruder", purgeWorld(), onDate("2026-11-21"))
			}}
			report, err := Purge(t.Context(), store, options)
			require.True(t, acted)
			if test.atWork {
				var refused *RefusedError
				require.ErrorAs(t, err, &refused)
				require.Regexp(t, `run intruder is held by process \d+ on host`, refused.Reason)
				proof, _, reading := readDocument[PurgeReport](t.Context(), store, PurgePath(id))
				require.NoError(t, reading)
				require.Equal(t, purgeBegun, proof.State, "there is no proof")
				require.NoError(t, release())
				report, err = Purge(t.Context(), store, options)
			}
			require.NoError(t, err)
			require.Equal(t, []string{"intruder"}, report.DroppedRuns)
			require.Equal(t, purgeDone, report.State)
			require.NoDirExists(t, filepath.Join(root, "_runs", "intruder"))
			if !test.lockless {
				require.NoDirExists(t, filepath.Join(root, "_staging"))
			}
			require.Equal(t, test.lockless, strings.Contains(strings.Join(report.NotReached, "\n"), "this destination has no locks"))
		})
	}
}

// TestPurgeHoldsPublished does not rewrite a published run while a process that
// does not know that it is published works on it.
func TestPurgeHoldsPublished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	publishWorld(t, store, latestRun)
	release, err := HoldRunShared(t.Context(), store, latestRun, 3, 8)
	require.NoError(t, err)
	before := tree(t, root)
	_, err = Purge(t.Context(), newDir(t, root), purgeOptions([]string{gone}, nil))
	require.ErrorAs(t, err, new(*RefusedError))
	require.Equal(t, before, tree(t, root))
	require.NoError(t, release())
	_, err = Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
}

// TestPurgeCounts expects the manifest to count the schools that have rows left,
// whichever purge took the others.
func TestPurgeCounts(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	publishWorld(t, store, latestRun)
	withRows := func() map[string]int64 {
		m := requireManifest(t, store, latestRun)
		found := make(map[string]int64)
		for name, counts := range m.Datasets {
			found[name] = counts.SchoolsWithRow
		}
		requireVerified(t, store, VerifyTarget{})
		return found
	}
	before := withRows()
	require.Equal(t, int64(2), before["students"])
	_, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	after := withRows()
	require.Equal(t, int64(1), after["students"])
	require.Equal(t, int64(1), after["test_results"])
	require.Equal(t, before["schools"], after["schools"], "one list was fetched, and has rows left")
	_, err = Purge(t.Context(), store, purgeOptions([]string{stays}, nil))
	require.NoError(t, err)
	after = withRows()
	require.Zero(t, after["students"])
	require.Zero(t, after["test_results"])
	require.Zero(t, after["schools"])
}

// TestPurgedBefore finds the schools of a plan that were purged, by their own
// bids or by their district's, on the day of their last purge.
func TestPurgedBefore(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	publishWorld(t, store, latestRun)
	plan, err := ReadPlan(t.Context(), store, latestRun)
	require.NoError(t, err)
	before := func() []PurgedSchools {
		found, err := PurgedBefore(t.Context(), store, plan)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, before())
	options := purgeOptions([]string{gone, "unknown"}, nil)
	options.AllowUnknown = true
	_, err = Purge(t.Context(), store, options)
	require.NoError(t, err)
	plan.Schools = append(plan.Schools, School{Bid: "unknown"}, School{Bid: "opened since", District: goneDistrict})
	require.Equal(t, []PurgedSchools{{Date: today, Schools: 1}}, before())

	options = purgeOptions(nil, []string{goneDistrict})
	options.Now = func() time.Time { return publishedAt().AddDate(0, 0, 1) }
	_, err = Purge(t.Context(), store, options)
	require.NoError(t, err)
	require.Equal(t, []PurgedSchools{{Date: "2026-11-21", Schools: 2}}, before())
}

// TestPurgeAlive goes by a run's sign of life where there are no locks, and by
// the locks alone where there are.
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
			var store Store = newDir(t, root)
			stageWorld(t, store, "staged", purgeWorld())
			sign := aliveDocument{WrittenAt: publishedAt().Add(-test.ago), PID: 4711, Host: "worker-7"}
			require.NoError(t, writeDocument(t.Context(), store, AlivePath("staged"), sign, Condition{}))
			if test.lockless {
				store = lockless{store}
			}
			before := tree(t, root)
			report, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
			if test.refused {
				var refused *RefusedError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Reason, "process 4711 on host worker-7 works on run staged")
				require.Equal(t, before, tree(t, root))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"staged"}, report.DroppedRuns)
		})
	}
}

// Files are the paths of a report.
func rewrittenFiles(r *PurgeReport) (paths []string) {
	for _, run := range r.Runs {
		for _, file := range run.Files {
			paths = append(paths, file.Path)
		}
	}
	return paths
}

// readWorld returns the rows of a published run that name something, by table.
func readWorld(t *testing.T, store Store, run string) map[string][]record {
	t.Helper()
	m, err := ReadManifest(t.Context(), store, run)
	require.NoError(t, err)
	found := make(map[string][]record)
	for name, listed := range m.Tables {
		table, _, ok := schemas.FindTable(name)
		require.True(t, ok)
		some := textColumns(table)
		for _, file := range listed.Files {
			require.NoError(t, readFile(t.Context(), store, file.Path, table, as(some), func(b *rows.Batch) error {
				for i := range b.N {
					r := make(record)
					for c := range b.Cols {
						if !b.Cols[c].Null(i) {
							r[some.Columns[c].Name] = string(b.Cols[c].Text(i))
						}
					}
					found[name] = append(found[name], r)
				}
				return nil
			}))
		}
	}
	return found
}

// as reads a file as the table, which it must fit.
func as(table *schemas.Table) func(*schemas.Table) *schemas.Table {
	return func(*schemas.Table) *schemas.Table { return table }
}

func purgeOptions(schools, districts []string) PurgeOptions {
	return PurgeOptions{Schools: schools, Districts: districts, Now: publishedAt, ToolVersion: "1.0.0"}
}
