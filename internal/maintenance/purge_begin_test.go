package maintenance_test

import (
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeThatCannotBegin checks that a purge that cannot write its change, or would not be able to move the pointer
// later, changes nothing and leaves nothing staged.
func TestPurgeThatCannotBegin(t *testing.T) {
	t.Parallel()
	for _, mounted := range []string{snapshot.ChangePath(snapshottest.LatestRun), "_snapshots/"} {
		root := t.TempDir()
		snapshottest.PublishWorld(t, snapshottest.NewDir(t, root), snapshottest.LatestRun)
		before := snapshottest.Tree(t, root)
		store := snapshottest.NewDirOn(t, root, func(system sink.FileSystem) sink.FileSystem {
			return snapshottest.Mounted{FileSystem: system, Below: mounted}
		})
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
		require.ErrorIs(t, err, syscall.EXDEV)
		after := snapshottest.Tree(t, root)
		maps.DeleteFunc(after, func(name, _ string) bool { return strings.HasPrefix(name, "_purges/") })
		require.Equal(t, before, after, mounted)
	}
}
