package maintenance_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// historyKills kills folds, folds of a replaced snapshot, rebuilds, purges and drops.
func historyKills(t *testing.T) []killTest {
	t.Helper()
	fold := foldHistory(t, false)
	second := snapshottest.PurgeWorld()
	second["test_results"] = slices.DeleteFunc(second["test_results"], func(r snapshottest.Record) bool {
		return strings.HasPrefix(r["test_result_bid"], "2")
	})
	second["students"][0]["last_name"] = "changed"
	nights := func(t *testing.T, store sink.Store) {
		t.Helper()
		snapshottest.PublishWorld(t, store, snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate))
		require.NoError(t, fold(t.Context(), store))
		snapshottest.StageWorld(t, store, snapshottest.LatestRun, second)
		snapshottest.PublishRun(t, store, snapshottest.LatestRun)
	}
	replaced := func(t *testing.T, store sink.Store) {
		t.Helper()
		nights(t, store)
		require.NoError(t, fold(t.Context(), store))
		snapshottest.PublishWorld(t, store, "again", func(p *snapshot.Plan) { p.Replace = true })
	}
	broken := func(t *testing.T, store sink.Store) {
		t.Helper()
		nights(t, store)
		require.NoError(t, fold(t.Context(), store))
		snapshottest.PublishWorld(t, store, "again", snapshottest.OnDate(snapshottest.EarlierDate), func(p *snapshot.Plan) { p.Replace = true })
	}
	return []killTest{
		{"fold", nights, fold, []command{fold, snapshottest.FinishAll, pruneTo(100)}, false},
		{"fold of a replaced snapshot", replaced, fold, []command{fold, snapshottest.FinishAll}, true},
		{"rebuild", broken, foldHistory(t, true), []command{foldHistory(t, true), snapshottest.FinishAll}, true},
		{"purge of a history", func(t *testing.T, store sink.Store) {
			t.Helper()
			historySite(t, store, snapshottest.Datasets("schools", "test_results"))
			require.NoError(t, pruneTo(1)(t.Context(), store))
		}, purgeDistrict, []command{purgeDistrict, snapshottest.FinishAll, fold}, true},
		{"drop of ended versions", func(t *testing.T, store sink.Store) {
			t.Helper()
			historySite(t, store)
		}, dropEnded, []command{dropEnded, snapshottest.FinishAll, fold, dropEarlier}, true},
	}
}

// dropEnded drops the versions that ended on the second of three nights, and dropEarlier those that ended before it,
// which drops nothing.
func dropEnded(ctx context.Context, store sink.Store) error {
	_, err := maintenance.DropEnded(ctx, snapshot.At(store), dropOptions("2026-11-20"))
	return err
}

func dropEarlier(ctx context.Context, store sink.Store) error {
	_, err := maintenance.DropEnded(ctx, snapshot.At(store), dropOptions("2026-11-19"))
	return err
}

func dropOptions(before string) maintenance.DropEndedOptions {
	return maintenance.DropEndedOptions{Before: before, Now: snapshottest.PublishedAt, ToolVersion: "test"}
}

func foldHistory(t *testing.T, rebuild bool) command {
	t.Helper()
	return func(ctx context.Context, store sink.Store) error {
		if err := snapshottest.FinishAll(ctx, store); err != nil {
			return err
		}
		_, err := history.Update(ctx, snapshot.At(store), history.Options{
			Rebuild: rebuild,
			Workspace: func() (sink.Store, func() error, error) {
				return snapshottest.NewDir(t, t.TempDir()), func() error { return nil }, nil
			},
		})
		return err
	}
}

// requireSoundHistory requires that readers find a complete history, and nothing else unless a change of it has begun.
func requireSoundHistory(t *testing.T, store sink.Store, when string) {
	t.Helper()
	current, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err, when)
	if current == nil {
		return
	}
	report, err := maintenance.VerifyHistory(t.Context(), snapshot.At(store))
	require.NoError(t, err, when)
	require.Empty(t, report.Problems, when)
	changes, err := sink.ListAll(t.Context(), store, snapshot.HistoryPrefix+snapshot.ChangeName)
	require.NoError(t, err, when)
	if len(changes) == 0 {
		unnamed, err := snapshot.At(store).UnnamedHistory(t.Context(), current.Manifest)
		require.NoError(t, err, when)
		require.Empty(t, unnamed, when)
	}
}
