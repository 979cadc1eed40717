package wording_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/wording"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	require.Equal(t, "growth-export status", wording.Command("status"))
	require.Equal(t, `growth-export prune --dest 'it'\''s here' --keep-days 90 --dry-run`,
		wording.Command("prune", wording.Setting("dest"), "it's here", wording.Setting("keep-days"), 90, wording.Setting("dry-run")))
}
