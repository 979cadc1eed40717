package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// historySite publishes and folds three nights: results change and disappear, and a school moves from one district to
// another after the first night.
func historySite(t *testing.T, store sink.Store, edit ...func(*snapshot.Plan)) {
	t.Helper()
	for i, date := range []string{"2026-11-18", "2026-11-19", "2026-11-20"} {
		world := snapshottest.PurgeWorld()
		edit := append(slices.Clone(edit), snapshottest.OnDate(date))
		if i == 0 {
			world["schools"][1]["district_bid"] = snapshottest.GoneDistrict
			world["district_schools"][1]["district_bid"] = snapshottest.GoneDistrict
			edit = append(edit, func(p *snapshot.Plan) { p.Schools[1].District = snapshottest.GoneDistrict })
		}
		for _, name := range []string{"test_results", "test_result_norms"} {
			world[name] = slices.DeleteFunc(world[name], func(r snapshottest.Record) bool {
				return i == 2 && strings.HasPrefix(r["test_result_bid"], "3 of ")
			})
			for _, r := range world[name] {
				if i > 0 && strings.HasPrefix(r["test_result_bid"], "1 of ") {
					r["_extra"] = fmt.Sprintf(`{"night":%d}`, i)
				}
			}
		}
		run := fmt.Sprintf("night-%d", i)
		snapshottest.StageWorld(t, store, run, world, edit...)
		snapshottest.PublishRun(t, store, run)
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
	}
}

// versions returns the rows of the history in order, without the reasons. The first column has the table and valid_to.
func versions(t *testing.T, store sink.Store) []string {
	t.Helper()
	h, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	report, err := maintenance.VerifyHistory(t.Context(), snapshot.At(store))
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	var all []string
	for _, file := range h.Manifest.Files() {
		folder, _, _ := strings.Cut(file.Path, "/part-")
		require.NoError(t, erase.ReadFile(t.Context(), snapshot.At(store), file.Path, &schemas.Table{}, func(own *schemas.Table) *schemas.Table {
			texts := erase.TextColumns(own)
			texts.Columns = append(texts.Columns[:len(texts.Columns)-1], own.Columns[own.Column("valid_from")])
			return texts
		}, func(b *rows.Batch) error {
			last := len(b.Cols) - 1
			for i := range b.N {
				row := []string{folder, strconv.Itoa(int(b.Cols[last].I32[i]))}
				for c := range last {
					if !b.Cols[c].Null(i) {
						row = append(row, b.Table.Columns[c].Name+"="+string(b.Cols[c].Text(i)))
					}
				}
				all = append(all, strings.Join(row, " "))
			}
			return nil
		}))
	}
	slices.Sort(all)
	return all
}

// TestPurgeHistory purges schools and districts. A rebuild results in the same rows, and so does a purge after the
// snapshots were pruned.
func TestPurgeHistory(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	historySite(t, snapshottest.NewDir(t, start))
	tests := []struct {
		name    string
		options maintenance.PurgeOptions
		gone    []string
	}{
		{"a school", purgeOptions([]string{snapshottest.Gone}, nil), []string{snapshottest.Gone}},
		{"the other school", purgeOptions([]string{snapshottest.Stays}, nil), []string{snapshottest.Stays}},
		{"a district that a school has left", purgeOptions(nil, []string{snapshottest.GoneDistrict}), []string{snapshottest.Gone, snapshottest.GoneDistrict}},
		{"a district that a school has joined", purgeOptions(nil, []string{snapshottest.StaysToo}), []string{snapshottest.StaysToo}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := snapshottest.CopyTree(t, start)
			store := snapshottest.NewDir(t, root)
			before := snapshottest.Tree(t, root)
			full := versions(t, store)

			options := test.options
			options.DryRun = true
			would, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Equal(t, before, snapshottest.Tree(t, root), "a dry run changes nothing")
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			if len(test.options.Districts) == 0 { // Otherwise the history is rebuilt, and the number of rows it loses is not known beforehand.
				require.Equal(t, would.History.RowsRemoved, report.History.RowsRemoved)
				require.Equal(t, would.History.FilesRewritten, report.History.FilesRewritten)
			}
			require.Zero(t, report.Verification.RowsFound)
			requireNoBytes(t, root, test.gone...)
			got := versions(t, store)
			require.Less(t, len(got), len(full))
			removed := int64(0)
			for _, n := range report.History.RowsRemoved {
				removed += n
			}
			if test.name == "a district that a school has joined" { // some versions now end, so they are split
				require.Greater(t, removed, int64(len(full)-len(got)))
			} else {
				require.EqualValues(t, len(full)-len(got), removed)
			}
			after := snapshottest.Tree(t, root)
			again, err := maintenance.Purge(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			require.True(t, again.Nothing())
			require.Equal(t, after, snapshottest.Tree(t, root))

			require.NoError(t, foldHistory(t, false)(t.Context(), store), "no snapshot counts as replaced")
			require.Equal(t, after, snapshottest.Tree(t, root))
			require.NoError(t, foldHistory(t, true)(t.Context(), store))
			require.Equal(t, versions(t, store), got)
			requireNoBytes(t, root, test.gone...)

			pruned := snapshottest.CopyTree(t, start)
			store = snapshottest.NewDir(t, pruned)
			require.NoError(t, pruneTo(1)(t.Context(), store))
			require.Equal(t, full, versions(t, store), "the history stays")
			report, err = maintenance.Purge(t.Context(), snapshot.At(store), test.options)
			require.NoError(t, err)
			cannotTell := strings.Contains(strings.Join(report.NotReached, "\n"), "the coverage of 1 school in the history")
			require.Equal(t, len(test.options.Districts) > 0, cannotTell, report.NotReached)
			if !cannotTell {
				require.Equal(t, got, versions(t, store))
			}
			requireNoBytes(t, pruned, test.gone...)
		})
	}
}

// TestPurgeWaitsForFold checks that a purge does not begin while another process changes the history.
func TestPurgeWaitsForFold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	unlock, err := snapshot.At(snapshottest.NewDir(t, root)).LockHistory(t.Context())
	require.NoError(t, err)
	before := snapshottest.Tree(t, root)
	within, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := lockedStore{store, cancel}
	_, err = maintenance.Purge(within, snapshot.At(waiting), purgeOptions([]string{snapshottest.Gone}, nil))
	require.ErrorContains(t, err, "lock the history")
	require.Equal(t, before, snapshottest.Tree(t, root))
	require.NoError(t, unlock())
	require.NoError(t, purgeDistrict(t.Context(), store))
}

// lockedStore calls held when it is asked for a lock that another process holds.
type lockedStore struct {
	sink.Store

	held func()
}

func (s lockedStore) Lock(ctx context.Context, name string, mode sink.LockMode, patience time.Duration) (func() error, error) {
	unlock, err := s.Store.Lock(ctx, name, mode, 0)
	if errors.Is(err, sink.ErrLocked) && patience > 0 {
		s.held()
		return s.Store.Lock(ctx, name, mode, patience)
	}
	return unlock, err
}

// TestPurgeHistoryFiles checks that files without rows of the school are left unchanged.
func TestPurgeHistoryFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	historySite(t, store)
	before := snapshottest.Tree(t, root)
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	after := snapshottest.Tree(t, root)
	same := 0
	for path := range maps.Keys(before) {
		if strings.HasPrefix(path, "history/districts/") || strings.HasPrefix(path, "history/academic_years/") {
			require.Equal(t, before[path], after[path], path)
			same++
		}
	}
	require.Positive(t, same)
}

// TestPruneUnfolded checks that snapshots that are not in the history are kept, together with the snapshots that are
// needed by a rebuild that adds them. Snapshots that do not belong to the history are removed on request.
func TestPruneUnfolded(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	publish := func(day string, edit ...func(*snapshot.Plan)) {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full-"+day, append(edit, snapshottest.Few, snapshottest.OnDate("2026-11-"+day))...))
	}
	publish("12")
	publish("14")
	publish("15")
	require.NoError(t, foldHistory(t, false)(t.Context(), store))
	publish("13")
	publish("16")
	publish("17", func(p *snapshot.Plan) { p.Scope.Perspectives = "other" })
	publish("18", func(p *snapshot.Plan) { p.Scope.Schools = []string{"s1"} })
	publish("19")
	options := maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt, DryRun: true}
	for _, options.DryRun = range []bool{true, false} {
		report, err := maintenance.Prune(t.Context(), snapshot.At(store), options)
		require.NoError(t, err)
		require.Empty(t, removedRuns(report))
		require.Equal(t, []maintenance.UnfoldedRun{
			{RunID: "full-13", SnapshotDate: "2026-11-13", Command: "growth-export history --rebuild"},
			{RunID: "full-16", SnapshotDate: "2026-11-16", Command: "growth-export history"},
			{RunID: "full-17", SnapshotDate: "2026-11-17", Reason: "it was taken with --perspectives other, but those in the history with all"},
			{RunID: "full-18", SnapshotDate: "2026-11-18", Reason: "it holds only some schools"},
		}, report.Unfolded)
		require.Equal(t, []string{"2026-11-12", "2026-11-14", "2026-11-15"}, report.NeededByRebuild)
		require.Equal(t, 8, report.Kept)
	}
	options.LeftOut = true
	report, err := maintenance.Prune(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []string{"full-17", "full-18"}, removedRuns(report))
	require.Equal(t, 6, report.Kept)
	// The advice can be followed.
	require.NoError(t, foldHistory(t, true)(t.Context(), store))
	report, err = maintenance.Prune(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []string{"full-12", "full-13", "full-14", "full-15", "full-16"}, removedRuns(report))
	require.Empty(t, report.NeededByRebuild)
	require.NotEmpty(t, versions(t, store))

	// Once snapshots that a rebuild needs are pruned, no command adds an earlier one.
	publish("11")
	publish("20")
	require.NoError(t, foldHistory(t, false)(t.Context(), store))
	report, err = maintenance.Prune(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []string{"full-19"}, removedRuns(report))
	require.Equal(t, []maintenance.UnfoldedRun{{RunID: "full-11", SnapshotDate: "2026-11-11"}}, report.Unfolded)

	// Nor a run that was pruned and exported again, under the same id.
	snapshottest.StageRun(t, store, snapshottest.NewPlan("full-12", snapshottest.Few, snapshottest.OnDate("2026-11-12")), nil)
	plan, err := snapshot.At(store).ReadPlan(t.Context(), "full-12")
	require.NoError(t, err)
	staged, err := snapshot.At(store).Collect(t.Context(), plan)
	require.NoError(t, err)
	later := snapshottest.Options()
	later.Now = func() time.Time { return snapshottest.PublishedAt().Add(time.Hour) }
	_, err = snapshot.At(store).Publish(t.Context(), staged, later)
	require.NoError(t, err)
	report, err = maintenance.Prune(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Empty(t, removedRuns(report))
	require.Len(t, report.Unfolded, 2)

	// An update folds the last date again if it was replaced.
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("again-20", snapshottest.Few, snapshottest.OnDate("2026-11-20"), func(p *snapshot.Plan) { p.Replace = true }))
	publish("21")
	report, err = maintenance.Prune(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Contains(t, report.Unfolded, maintenance.UnfoldedRun{RunID: "again-20", SnapshotDate: "2026-11-20", Command: "growth-export history"})
	require.Empty(t, report.NeededByRebuild)
}

// TestReplacedAfterPurge purges the district that a school left on the newest night, and replaces that night. After the
// purge, rows that had not changed on that night begin on it. The replacement does not end them on the same day.
func TestReplacedAfterPurge(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	fold := func(run, date string, edit ...func(*snapshot.Plan)) {
		world := snapshottest.PurgeWorld()
		switch run {
		case "in-district":
			world["schools"][1]["district_bid"] = snapshottest.GoneDistrict
			edit = append(edit, func(p *snapshot.Plan) { p.Schools[1].District = snapshottest.GoneDistrict })
		case "replacement":
			for _, r := range world["students"] {
				r["last_name"] = "changed"
			}
			edit = append(edit, func(p *snapshot.Plan) { p.Replace = true })
		}
		snapshottest.StageWorld(t, store, run, world, append(edit, snapshottest.OnDate(date))...)
		snapshottest.PublishRun(t, store, run)
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
	}
	fold("in-district", "2026-11-19")
	fold("left-it", "2026-11-20")
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions(nil, []string{snapshottest.GoneDistrict}))
	require.NoError(t, err)
	fold("replacement", "2026-11-20")
	got := versions(t, store)
	require.NoError(t, foldHistory(t, true)(t.Context(), store))
	require.Equal(t, versions(t, store), got)
}
