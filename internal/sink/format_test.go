package sink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLaterFormat makes the manifest of a run one of a later release: whatever
// reads it says so and changes nothing, whether it looked before or not.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	publishWorld(t, store, earlierRun, onDate(earlierDate))
	publishWorld(t, store, latestRun)
	path := filepath.Join(root, ManifestPath(earlierRun))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	later := strings.Replace(string(data), `"format_version": 1`, `"format_version": 2`, 1)
	require.NoError(t, os.WriteFile(path, []byte(later), 0o600))
	before := tree(t, root)
	for name, do := range map[string]func() error{
		"check":  func() error { return CheckFormat(t.Context(), store) },
		"verify": func() error { _, err := Verify(t.Context(), store, VerifyTarget{RunID: earlierRun}); return err },
		"status": func() error { _, err := Runs(t.Context(), store); return err },
		"prune": func() error {
			_, err := Prune(t.Context(), store, PruneOptions{Keep: 1, Now: publishedAt})
			return err
		},
		"purge": func() error {
			_, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
			return err
		},
	} {
		var tooNew *FormatError
		require.ErrorAs(t, do(), &tooNew, name)
		require.Equal(t, &FormatError{Path: ManifestPath(earlierRun), Version: 2}, tooNew, name)
		require.Equal(t, before, tree(t, root), name)
	}
}

// TestCheckFormat finds a document of a later release by any name.
func TestCheckFormat(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		PlanPath("r"), ManifestPath("r"), HeldPath("r"), ChangePath("r"), PurgePath("p"),
	} {
		root := t.TempDir()
		store := newDir(t, root)
		require.NoError(t, CheckFormat(t.Context(), store))
		write := func(path, text string, at time.Time) {
			require.NoError(t, store.Write(t.Context(), path, []byte(text), Condition{}))
			require.NoError(t, os.Chtimes(filepath.Join(root, path), at, at))
		}
		write(path, `{"format_version": 7}`, morning())
		write(strings.Replace(strings.Replace(path, "/r/", "/a/", 1), "/p", "/a", 1), `{"format_version": 1}`, morning().Add(-time.Hour))
		var tooNew *FormatError
		require.ErrorAs(t, CheckFormat(t.Context(), store), &tooNew, path)
		require.Equal(t, &FormatError{Path: path, Version: 7}, tooNew)
		write(path, `{"format_version": 1}`, morning())
		require.NoError(t, CheckFormat(t.Context(), store), path)
		write(path, `{"format_version": "x"`, morning())
		require.NoError(t, CheckFormat(t.Context(), store), "a damaged document is found elsewhere")
	}
}
