package maintenance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeResumedWithoutKey kills a purge of students between its changes. If there is no privacy key, no document
// shows which students it purges. The same command still completes the report of the killed purge, and a purge of
// another list of the same length gets a report of its own.
func TestPurgeResumedWithoutKey(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	studentSite(t, snapshottest.NewDir(t, start), asWritten)
	options := studentOptions(nil)
	undisturbed, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, snapshottest.CopyTree(t, start))), options)
	require.NoError(t, err)
	require.Len(t, undisturbed.Runs, 5)
	for changes := 0; changes < 6; changes += sampled(1) {
		root := snapshottest.CopyTree(t, start)
		_, err := maintenance.Purge(t.Context(), snapshot.At(&changesOf{Store: snapshottest.NewDir(t, root), left: changes}), options)
		require.ErrorIs(t, err, snapshottest.ErrKilled)
		killed := purgesIn(t, root)
		require.Len(t, killed, 1)
		require.NotContains(t, killed[0], "digest")

		other := options
		other.Students = []string{staysStudent, "x", "y"}
		other.Now = func() time.Time { return options.Now().Add(time.Hour) }
		at := snapshottest.CopyTree(t, root)
		report, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, at)), other)
		require.NoError(t, err)
		require.Len(t, purgesIn(t, at), 2, "%d changes", changes)
		require.Equal(t, 1, *report.Asked.Students.Matched)
		require.True(t, report.BegunAt.Equal(other.Now()))
		require.Contains(t, strings.Join(purgesIn(t, at), ""), `"state": "begun"`)

		report, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), options)
		require.NoError(t, err)
		require.Len(t, purgesIn(t, root), 1, "%d changes", changes)
		require.Contains(t, killed[0], report.ID)
		require.Equal(t, undisturbed.RowsRemoved, report.RowsRemoved)
		require.Equal(t, undisturbed.ExtraRemoved, report.ExtraRemoved)
		require.Equal(t, undisturbed.History.RowsRemoved, report.History.RowsRemoved)
		require.Equal(t, 2, *report.Asked.Students.Matched)
		require.Equal(t, maintenance.PurgeDone, report.State)
	}
}

// killedWithHistory is the store of a command that is killed when it has replaced the history.
type killedWithHistory struct{ sink.Store }

func (s killedWithHistory) Write(ctx context.Context, name string, data []byte, when sink.Condition) error {
	err := s.Store.Write(ctx, name, data, when)
	if err == nil && name == snapshot.HistoryPointerPath {
		err = snapshottest.ErrKilled
	}
	return err
}

// TestPurgeResumedCountsHistory kills a purge after it has changed the history. However the history changes before the
// purge is repeated, the proof counts the rows that the killed purge removed.
func TestPurgeResumedCountsHistory(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	historySite(t, snapshottest.NewDir(t, start))
	purge := func(store sink.Store, school string, after time.Duration) (*maintenance.PurgeReport, error) {
		options := purgeOptions([]string{school}, nil)
		options.Now = func() time.Time { return snapshottest.PublishedAt().Add(after) }
		return maintenance.Purge(t.Context(), snapshot.At(store), options)
	}
	publish := func(run, date string, edit ...func(*snapshot.Plan)) func(*testing.T, sink.Store) error {
		return func(t *testing.T, store sink.Store) error {
			t.Helper()
			snapshottest.StageWorld(t, store, run, snapshottest.PurgeWorld(), append(edit, snapshottest.OnDate(date))...)
			snapshottest.PublishRun(t, store, run)
			return foldHistory(t, false)(t.Context(), store)
		}
	}
	for name, between := range map[string]func(*testing.T, sink.Store) error{
		"a night":          publish("next-night", "2026-11-21"),
		"a replaced night": publish("again", "2026-11-20", func(p *snapshot.Plan) { p.Replace = true }),
		"a rebuild": func(t *testing.T, store sink.Store) error {
			t.Helper()
			return foldHistory(t, true)(t.Context(), store)
		},
		"another purge": func(_ *testing.T, store sink.Store) error {
			_, err := purge(store, snapshottest.Stays, time.Hour)
			return err
		},
		"a drop of ended versions": func(t *testing.T, store sink.Store) error {
			t.Helper()
			return dropEnded(t.Context(), store)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			undisturbed := snapshottest.NewDir(t, snapshottest.CopyTree(t, start))
			first, err := purge(undisturbed, snapshottest.Gone, 0)
			require.NoError(t, err)
			require.NotEmpty(t, first.History.RowsRemoved)
			require.NoError(t, between(t, undisturbed))
			second, err := purge(undisturbed, snapshottest.Gone, 2*time.Hour) // removes the school's rows of the night
			require.NoError(t, err)

			store := snapshottest.NewDir(t, snapshottest.CopyTree(t, start))
			_, err = purge(killedWithHistory{store}, snapshottest.Gone, 0)
			require.ErrorIs(t, err, snapshottest.ErrKilled)
			require.NoError(t, between(t, store))
			report, err := purge(store, snapshottest.Gone, 2*time.Hour)
			require.NoError(t, err)
			want := first.History
			if second.History != nil {
				second.History.ID = want.ID
				want = second.History.Plus(want)
			}
			require.Equal(t, want, report.History)
		})
	}
}

// purgesIn returns the reports of purges at a destination.
func purgesIn(t *testing.T, root string) (reports []string) {
	t.Helper()
	for path, text := range snapshottest.Tree(t, root) {
		if strings.HasPrefix(path, "_purges/") && strings.HasSuffix(path, ".json") {
			reports = append(reports, text)
		}
	}
	return reports
}
