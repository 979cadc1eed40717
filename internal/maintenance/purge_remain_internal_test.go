package maintenance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// probed is a store that is only asked whether its uploads can be aborted.
type probed struct {
	sink.Store
	removes bool
}

func (s probed) AbortRemoves(context.Context) (bool, error) { return s.removes, nil }

// TestRowsRemain expects the reason why rows remain: uploads that a store cannot drop without harm, or other processes.
func TestRowsRemain(t *testing.T) {
	t.Parallel()
	for removes, want := range map[bool]string{true: "open uploads that may hold rows remain, for example in run r", false: "other processes keep writing"} {
		p := &purger{catalog: snapshot.At(probed{removes: removes})}
		require.ErrorContains(t, p.rowsRemain(t.Context(), "run r"), want)
	}
}
