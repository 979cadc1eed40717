package sink_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

func TestDirIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Destination {
		t.Helper()
		root := filepath.Join(t.TempDir(), "not", "yet")
		return storetest.Destination{
			Open: func(t *testing.T) sink.Store {
				t.Helper()
				dir, err := sink.NewDir(root, sink.DirOptions{})
				require.NoError(t, err)
				return dir
			},
			Lose: func(t *testing.T, run string, _ sink.File) {
				t.Helper()
				require.NoError(t, os.RemoveAll(filepath.Join(root, "_staging", run)))
			},
			Leftovers: func(t *testing.T) []string {
				t.Helper()
				return leftovers(t, root)
			},
			LargeFile: 5 << 20,
		}
	})
}

// leftovers returns the content of the staging folder, and empty folders.
func leftovers(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == root {
			return nil
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if strings.HasPrefix(name, "_staging") {
			found = append(found, name)
		} else if entry.IsDir() {
			inside, err := os.ReadDir(path)
			require.NoError(t, err)
			if len(inside) == 0 {
				found = append(found, name)
			}
		}
		return nil
	})
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return found
}
