package maintenance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestLaterFormat replaces the manifest of a run with one from a later release: every command that reads it reports
// this and changes nothing, even if the catalog has read the destination before.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate))
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	path := filepath.Join(root, snapshot.ManifestPath(snapshottest.EarlierRun))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	later := strings.Replace(string(data), `"format_version": 1`, `"format_version": 2`, 1)
	require.NoError(t, os.WriteFile(path, []byte(later), 0o600))
	before := snapshottest.Tree(t, root)
	for name, do := range map[string]func() error{
		"check": func() error { return snapshot.At(store).CheckFormat(t.Context()) },
		"verify": func() error {
			_, err := maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{RunID: snapshottest.EarlierRun})
			return err
		},
		"status": func() error { _, err := snapshot.At(store).Runs(t.Context()); return err },
		"prune": func() error {
			_, err := maintenance.Prune(t.Context(), snapshot.At(store), maintenance.PruneOptions{Keep: 1, Now: snapshottest.PublishedAt})
			return err
		},
		"purge": func() error {
			_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
			return err
		},
	} {
		var tooNew *snapshot.FormatError
		require.ErrorAs(t, do(), &tooNew, name)
		require.Equal(t, &snapshot.FormatError{Path: snapshot.ManifestPath(snapshottest.EarlierRun), Version: 2}, tooNew, name)
		require.Equal(t, before, snapshottest.Tree(t, root), name)
	}
}

// TestCheckFormat checks that a document of a later release is found under any name.
func TestCheckFormat(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		snapshot.PlanPath("r"), snapshot.ManifestPath("r"), snapshot.HeldPath("r"), snapshot.ChangePath("r"), maintenance.PurgePath("p"),
	} {
		root := t.TempDir()
		store := snapshottest.NewDir(t, root)
		require.NoError(t, snapshot.At(store).CheckFormat(t.Context()))
		write := func(path, text string, at time.Time) {
			require.NoError(t, store.Write(t.Context(), path, []byte(text), sink.Condition{}))
			require.NoError(t, os.Chtimes(filepath.Join(root, path), at, at))
		}
		write(path, `{"format_version": 7}`, snapshottest.Morning())
		write(strings.Replace(strings.Replace(path, "/r/", "/a/", 1), "/p", "/a", 1), `{"format_version": 1}`, snapshottest.Morning().Add(-time.Hour))
		var tooNew *snapshot.FormatError
		require.ErrorAs(t, snapshot.At(store).CheckFormat(t.Context()), &tooNew, path)
		require.Equal(t, &snapshot.FormatError{Path: path, Version: 7}, tooNew)
		write(path, `{"format_version": 1}`, snapshottest.Morning())
		require.NoError(t, snapshot.At(store).CheckFormat(t.Context()), path)
		write(path, `{"format_version": "x"`, snapshottest.Morning())
		require.NoError(t, snapshot.At(store).CheckFormat(t.Context()), "CheckFormat does not report damaged documents")
	}
}
