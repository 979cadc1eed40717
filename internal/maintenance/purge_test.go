package maintenance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestPurgeSchool removes a school from every run: its own rows, rows of other schools that are about it, and the child
// rows of both.
func TestPurgeSchool(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PurgeSite(t, store)
	before := snapshottest.Tree(t, root)

	options := purgeOptions([]string{snapshottest.Gone, "nobody"}, nil)
	options.DryRun = true
	var unknown *maintenance.UnknownBidsError
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"nobody"}, unknown.Bids)
	options.AllowUnknown = true
	for _, swapped := range []struct {
		schools, districts []string
		want               maintenance.WrongKindError
	}{
		{[]string{snapshottest.Gone, snapshottest.GoneDistrict}, nil, maintenance.WrongKindError{Districts: []string{snapshottest.GoneDistrict}}},
		{nil, []string{snapshottest.Gone}, maintenance.WrongKindError{Schools: []string{snapshottest.Gone}}},
	} {
		var wrong *maintenance.WrongKindError
		other := options
		other.Schools, other.Districts = swapped.schools, swapped.districts
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), other)
		require.ErrorAs(t, err, &wrong)
		require.ElementsMatch(t, swapped.want.Districts, wrong.Districts)
		require.ElementsMatch(t, swapped.want.Schools, wrong.Schools)
	}
	would, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, before, snapshottest.Tree(t, root), "a dry run changes nothing")
	require.Equal(t, "planned", would.State)

	options.DryRun = false
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, "done", report.State)
	require.Equal(t, would.RowsRemoved, report.RowsRemoved)
	require.Equal(t, []string{"nobody"}, report.Unknown)
	require.Equal(t, map[string]int64{
		"schools": 4, "district_schools": 4, "students": 8,
		"test_results": 4 * (4 + 1), "test_result_norms": 4 * (4 + 2), "test_result_instructional_areas": 4 * (4 + 2),
	}, report.RowsRemoved)
	require.Zero(t, report.Verification.RowsFound)
	require.Empty(t, report.Verification.RowsMentioning)
	require.Len(t, report.Runs, 4)
	require.Equal(t, 4*6, report.FilesRewritten)
	require.EqualValues(t, 4*3, report.LedgerRowsRemoved)

	for _, run := range snapshottest.PurgedRuns() {
		snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
		got := readWorld(t, store, run)
		for name, records := range got {
			for _, r := range records {
				for _, text := range r {
					require.NotEqual(t, snapshottest.Gone, text, "table %s of %s: %v", name, run, r)
				}
			}
		}
		require.Len(t, got["test_results"], 3)
		require.Equal(t, []snapshottest.Record{
			{"requested_school_bid": snapshottest.Stays},
			{"requested_school_bid": snapshottest.Stays, "test_result_bid": "1 of " + snapshottest.Stays},
			{"requested_school_bid": snapshottest.Stays, "test_result_bid": "3 of " + snapshottest.Stays},
		}, got["test_result_norms"], "exactly the elements of the purged record are gone")
		require.Len(t, got["academic_years"], 3)
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	requireNoBytes(t, root, snapshottest.Gone)
	requireRewrittenLikeNew(t, store, snapshottest.LatestRun)

	var proof maintenance.PurgeReport
	data, _, err := store.Read(t.Context(), maintenance.PurgePath(report.ID))
	require.NoError(t, err)
	require.NoError(t, snapshot.DecodeDocument("", data, &proof))
	require.Equal(t, maintenance.PurgeDone, proof.State)
	require.Equal(t, report.RowsRemoved, proof.RowsRemoved)
	require.Equal(t, rewrittenFiles(report), rewrittenFiles(&proof))

	// Unrelated files are unchanged.
	after := snapshottest.Tree(t, root)
	for name, text := range before {
		if strings.HasPrefix(name, "districts/") || strings.HasPrefix(name, "academic_years/") {
			require.Equal(t, text, after[name], name)
		}
	}
	again, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.True(t, again.Nothing())
	require.Equal(t, after, snapshottest.Tree(t, root))
}

// requireNoBytes searches for texts in the raw bytes of every file, which include statistics and page indexes, and in
// every text column of every table. Only plans and the reports of purges may hold them.
func requireNoBytes(t *testing.T, root string, texts ...string) {
	t.Helper()
	store := snapshot.At(snapshottest.NewDir(t, root))
	looked := 0
	for name, data := range snapshottest.Tree(t, root) {
		if strings.HasPrefix(name, snapshot.PurgesPrefix) || strings.HasSuffix(name, "/"+snapshot.PlanName) {
			continue
		}
		for _, text := range texts {
			require.NotContains(t, data, text, name)
		}
		if !strings.HasSuffix(name, ".parquet") {
			continue
		}
		looked++
		require.NoError(t, erase.ReadFile(t.Context(), store, name, &schemas.Table{}, erase.TextColumns, func(b *rows.Batch) error {
			for c := range b.Cols {
				for i := range b.N {
					for _, text := range texts {
						require.False(t, !b.Cols[c].Null(i) && strings.Contains(string(b.Cols[c].Text(i)), text), "%s of %s", b.Table.Columns[c].Name, name)
					}
				}
			}
			return nil
		}))
	}
	require.Positive(t, looked)
}

// requireRewrittenLikeNew writes the rows of every file of a run to a new file, and requires the same bytes.
func requireRewrittenLikeNew(t *testing.T, store sink.Store, run string) {
	t.Helper()
	m, err := snapshot.At(store).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	for name, listed := range m.Tables {
		table, _, _ := schemas.FindTable(name)
		for _, file := range listed.Files {
			var out bytes.Buffer
			w := parquetfile.NewWriter(&out, table, parquetfile.Options{})
			require.NoError(t, erase.ReadFile(t.Context(), snapshot.At(store), file.Path, table, as(table), w.Append))
			_, err := w.Close()
			require.NoError(t, err)
			require.Equal(t, sink.Hash(out.Bytes()), file.SHA256, file.Path)
		}
	}
}

// TestPurgeDistrict removes a district with its school, and its records about a school of another district.
func TestPurgeDistrict(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PurgeSite(t, store)
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions(nil, []string{snapshottest.GoneDistrict}))
	require.NoError(t, err)
	require.Equal(t, []string{snapshottest.Gone}, report.Schools)
	require.Empty(t, report.Unknown)
	for _, run := range snapshottest.PurgedRuns() {
		snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
		got := readWorld(t, store, run)
		require.Equal(t, []snapshottest.Record{{"district_bid": snapshottest.StaysToo}}, got["districts"])
		require.Len(t, got["schools"], 1)
		require.Len(t, got["district_schools"], 1)
		require.Len(t, got["students"], 2)
		require.Len(t, got["academic_years"], 1)
		require.Len(t, got["enrollment_sessions"], 1)
		require.Equal(t, "s "+snapshottest.StaysToo, got["enrollment_sessions"][0]["enrollment_session_bid"])
	}
	requireNoBytes(t, root, snapshottest.Gone)
	requireNoBytes(t, root, snapshottest.GoneDistrict)
}

// TestPurgeAgain purges another school of a run that was purged before.
func TestPurgeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PurgeSite(t, store)
	for _, school := range []string{snapshottest.Gone, snapshottest.Stays} {
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{school}, nil))
		require.NoError(t, err)
		requireNoBytes(t, root, school)
	}
	for _, run := range snapshottest.PurgedRuns() {
		snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
		require.Empty(t, readWorld(t, store, run)["test_results"])
	}
	require.Contains(t, snapshottest.Tree(t, root), "students/snapshot_date="+snapshottest.Today+"/part-00000002-"+snapshottest.LatestRun+".parquet")
}

// TestPurgeUnfinished drops unpublished runs, whose staged files cannot be read, but none if the bid is unknown.
func TestPurgeUnfinished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PurgeSite(t, store)
	snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Planned(time.Hour))
	_, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.NewPlan("only-planned", snapshottest.Few))
	require.NoError(t, err)
	before := snapshottest.Tree(t, root)
	unknown := purgeOptions([]string{"nobody"}, nil)
	_, err = maintenance.Purge(t.Context(), snapshot.At(store), unknown)
	require.ErrorAs(t, err, new(*maintenance.UnknownBidsError))
	unknown.AllowUnknown = true
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), unknown)
	require.NoError(t, err)
	require.True(t, report.Nothing())
	require.Equal(t, before, snapshottest.Tree(t, root))

	for _, shard := range [][2]int{{0, 1}, {2, 3}, {0, 7}, {3, 8}, {0, 16}} {
		unlock, err := snapshot.At(store).HoldRunShared(t.Context(), "staged", shard[0], shard[1])
		require.NoError(t, err)
		_, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), purgeOptions([]string{snapshottest.Gone}, nil))
		require.ErrorAs(t, err, new(*snapshot.RefusedError))
		require.NoError(t, unlock())
		require.Equal(t, before, snapshottest.Tree(t, root))
	}

	report, err = maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"staged"}, report.DroppedRuns)
	require.NoDirExists(t, filepath.Join(root, "_staging"))
	require.NoDirExists(t, filepath.Join(root, "_runs", "staged"))
	require.FileExists(t, filepath.Join(root, "_runs", "only-planned", "plan.json"))
}

// TestPurgeTells expects the error to contain the path of the damaged or unexpected file.
func TestPurgeTells(t *testing.T) {
	t.Parallel()
	students := "students/snapshot_date=" + snapshottest.Today + "/"
	tests := []struct {
		name  string
		spoil func(t *testing.T, root string)
		says  string
	}{
		{"a file that is not in any run", func(t *testing.T, root string) {
			t.Helper()
			link(t, root, students+"part-0000-"+snapshottest.LatestRun+".parquet", students+"part-0000-restored.parquet")
		}, students + "part-0000-restored.parquet"},
		{"a damaged file", func(t *testing.T, root string) {
			t.Helper()
			link(t, root, "students/snapshot_date="+snapshottest.EarlierDate+"/part-0000-"+snapshottest.EarlierRun+".parquet", "x")
			data, err := os.ReadFile(filepath.Join(root, "x"))
			require.NoError(t, err)
			data[8] ^= 1
			require.NoError(t, os.WriteFile(filepath.Join(root, "x"), data, 0o600))
		}, "part-0000-" + snapshottest.EarlierRun},
		{"a damaged manifest", func(t *testing.T, root string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(root, snapshot.ManifestPath(snapshottest.LatestRun)), []byte("{"), 0o600))
		}, snapshot.ManifestPath(snapshottest.LatestRun)},
		{"a manifest that the pointer does not refer to", func(t *testing.T, root string) {
			t.Helper()
			path := filepath.Join(root, snapshot.ManifestPath(snapshottest.LatestRun))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte("1.0.0"), []byte("1.0.1"), 1), 0o600))
		}, snapshot.ManifestPath(snapshottest.LatestRun)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.PurgeSite(t, store)
			test.spoil(t, root)
			_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestPurgeKnownBids expects a bid to be known wherever it occurs, and to be unknown only if it does not occur
// anywhere.
func TestPurgeKnownBids(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageWorld(t, store, snapshottest.LatestRun, snapshottest.PurgeWorld(), func(p *snapshot.Plan) {
		p.FailedSchools = []snapshot.SchoolFailure{{SchoolBid: "failed", Dataset: "schools", Error: "unknown"}}
		p.Districts = []string{"empty district"}
	})
	snapshottest.PublishRun(t, store, snapshottest.LatestRun)
	require.NoError(t, os.Remove(filepath.Join(root, snapshot.PlanPath(snapshottest.LatestRun))))
	known := func(bid string, byDistrict bool) error {
		options := purgeOptions([]string{bid}, nil)
		if byDistrict {
			options = purgeOptions(nil, []string{bid})
		}
		options.DryRun = true
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
		return err
	}
	require.NoError(t, known("failed", false), "the bid is in the manifest and in the ledger")
	require.NoError(t, known(snapshottest.Gone, false))
	require.NoError(t, known(snapshottest.GoneDistrict, true))
	require.Error(t, known("empty district", true), "the bid was only in the plan")

	// The report of the purge still contains the bid.
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	require.True(t, report.Nothing())
}

// TestPurgeCounts expects the manifest to count the schools that have rows left, regardless of which purge removed the
// others.
func TestPurgeCounts(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	withRows := func() map[string]int64 {
		m := requireManifest(t, store, snapshottest.LatestRun)
		found := make(map[string]int64)
		for name, counts := range m.Datasets {
			found[name] = counts.SchoolsWithRow
		}
		snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
		return found
	}
	before := withRows()
	require.Equal(t, int64(2), before["students"])
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	after := withRows()
	require.Equal(t, int64(1), after["students"])
	require.Equal(t, int64(1), after["test_results"])
	require.Equal(t, before["schools"], after["schools"], "one list was fetched, and has rows left")
	_, err = maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Stays}, nil))
	require.NoError(t, err)
	after = withRows()
	require.Zero(t, after["students"])
	require.Zero(t, after["test_results"])
	require.Zero(t, after["schools"])
}

// TestPurgedBefore finds the schools of a run that were purged and are read again, by their own bids or by their
// district's, with the day of their last purge. A school that is denied is not read, but one without rows is.
func TestPurgedBefore(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	plan, err := snapshot.At(store).ReadPlan(t.Context(), snapshottest.LatestRun)
	require.NoError(t, err)
	staged := &snapshot.StagedRun{Plan: plan, Ledger: []snapshot.LedgerRow{
		{Dataset: "students", SchoolBid: snapshottest.Gone, Status: snapshot.StatusOK, RowsWritten: 1},
		{Dataset: "students", SchoolBid: "unknown", Status: snapshot.StatusOK, RowsWritten: 1},
		{Dataset: "students", SchoolBid: "opened since", Status: snapshot.StatusOK},
		{Dataset: "students", SchoolBid: "denied", Status: snapshot.StatusDenied},
	}}
	before := func() []snapshot.PurgedSchools {
		found, err := snapshot.At(store).PurgedBefore(t.Context(), staged)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, before())
	options := purgeOptions([]string{snapshottest.Gone, "unknown"}, nil)
	options.AllowUnknown = true
	_, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	plan.Schools = append(plan.Schools, snapshot.School{Bid: "unknown"}, snapshot.School{Bid: "opened since", District: snapshottest.GoneDistrict},
		snapshot.School{Bid: "denied", District: snapshottest.GoneDistrict})
	require.Equal(t, []snapshot.PurgedSchools{{Date: snapshottest.Today, Schools: 1}}, before())

	options = purgeOptions(nil, []string{snapshottest.GoneDistrict})
	options.Now = func() time.Time { return snapshottest.PublishedAt().AddDate(0, 0, 1) }
	_, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []snapshot.PurgedSchools{{Date: "2026-11-21", Schools: 2}}, before())
}

// rewrittenFiles returns the paths in a report.
func rewrittenFiles(r *maintenance.PurgeReport) (paths []string) {
	for _, run := range r.Runs {
		for _, file := range run.Files {
			paths = append(paths, file.Path)
		}
	}
	return paths
}

// readWorld returns the rows of a published run, by table: the text columns, except those that are null.
func readWorld(t *testing.T, store sink.Store, run string) map[string][]snapshottest.Record {
	t.Helper()
	m, err := snapshot.At(store).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	found := make(map[string][]snapshottest.Record)
	for name, listed := range m.Tables {
		table, _, ok := schemas.FindTable(name)
		require.True(t, ok)
		some := erase.TextColumns(table)
		for _, file := range listed.Files {
			require.NoError(t, erase.ReadFile(t.Context(), snapshot.At(store), file.Path, table, as(some), func(b *rows.Batch) error {
				for i := range b.N {
					r := make(snapshottest.Record)
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

// as returns a function that reads any file as the given table.
func as(table *schemas.Table) func(*schemas.Table) *schemas.Table {
	return func(*schemas.Table) *schemas.Table { return table }
}

func purgeOptions(schools, districts []string) maintenance.PurgeOptions {
	return maintenance.PurgeOptions{Schools: schools, Districts: districts, Now: snapshottest.PublishedAt, ToolVersion: "1.0.0", Workspace: workspace}
}

func workspace() (sink.Store, func() error, error) { return sink.NewWorkspace("") }
