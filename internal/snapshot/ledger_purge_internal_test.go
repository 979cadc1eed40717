package snapshot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPurgedTextIsNotPurgedAgain clears a sentence that names a school whose bid occurs in what takes its place.
func TestPurgedTextIsNotPurgedAgain(t *testing.T) {
	t.Parallel()
	goes := func(string, string) bool { return false }
	names := func(text string) bool { return strings.Contains(text, "a") }
	m := &Manifest{Accepted: []string{"school a failed", "none"}}
	p := new(PurgedLedger)
	require.True(t, p.clear(m, goes, names))
	require.Equal(t, []string{purgedText, "none"}, p.accepted)
	require.False(t, new(PurgedLedger).clear(&Manifest{Accepted: p.accepted}, goes, names))
}
