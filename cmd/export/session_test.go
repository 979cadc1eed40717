//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// killedAtChange is a store whose process is killed once the change of a run is written.
type killedAtChange struct{ sink.Store }

var errKilledAtChange = errors.New("killed")

func (killedAtChange) Commit(context.Context, string, sink.File) error { return errKilledAtChange }

// TestEveryCommandFinishesWhatWasKilled kills a process that publishes a run, once its change is written. Whichever command comes next
// publishes the run, says so, and leaves no outdated page.
func TestEveryCommandFinishesWhatWasKilled(t *testing.T) {
	t.Parallel()
	disk := &testStorage{root: t.TempDir()}
	start := disk.newDest()
	store := start.open(t)
	plan := []func(*snapshot.Plan){snapshottest.Datasets("schools", "students", "test_results")}
	snapshottest.PublishWorld(t, store, "before", append(plan, snapshottest.OnDate("2026-11-22"))...)
	start.command(t, "report").runOK()
	start.command(t, "history").runOK()
	start.command(t, "delta-lake").runOK()
	snapshottest.StageWorld(t, store, "night", snapshottest.PurgeWorld(), append(plan, snapshottest.OnDate("2026-11-23"))...)
	_, err := snapshot.At(killedAtChange{store}).Publish(t.Context(), snapshottest.Collect(t, store, "night"), snapshottest.Options())
	require.ErrorIs(t, err, errKilledAtChange)
	require.True(t, start.has(snapshot.ChangePath("night")))

	for _, command := range []string{
		"run --simulate --snapshot-date 2026-11-21 --backdate --datasets schools --accept-base-url --max-shrink off",
		"publish", "publish --delta-lake --history", "prune --keep 30", "prune --keep 1", "history", "delta-lake",
		"purge --schools " + snapshottest.Gone, "purge --students nobody --allow-unknown", "status --clean", "report --run-id before",
	} {
		t.Run(strings.ReplaceAll(command, "/", "_"), func(t *testing.T) {
			t.Parallel()
			dest := start.copy(t)
			words := strings.Fields(command)
			result := dest.command(t, words[0], words[1:]...).runOK()
			require.Contains(t, result.stdout+result.stderr, "night", "the output names the run")
			require.False(t, dest.has(snapshot.ChangePath("night")))
			report, err := os.ReadFile(dest.path(snapshot.ReportPath("night")))
			require.NoError(t, err)
			require.Contains(t, string(report), "Published")
			index, err := os.ReadFile(dest.path(snapshot.IndexPath))
			require.NoError(t, err)
			require.Contains(t, string(index), `<a href="night/report.html">2026-11-23</a>`)
			if words[0] != "status" && words[0] != "report" {
				dest.command(t, "verify", "--delta-lake").runOK()
			}
		})
	}
}
