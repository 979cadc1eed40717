package remote

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBackoff expects waits that cover an outage of a minute, are short at first, and are longer when throttled.
func TestBackoff(t *testing.T) {
	t.Parallel()
	least, most := time.Duration(0), time.Duration(0)
	for attempt := 1; attempt < Attempts; attempt++ {
		full := min(firstWait<<(attempt-1), MaxBackoff)
		for range 20 {
			wait := Backoff(attempt, false, MaxBackoff)
			require.LessOrEqual(t, wait, full)
			require.GreaterOrEqual(t, wait, full/2)
			require.GreaterOrEqual(t, Backoff(attempt, true, MaxBackoff), min(firstThrottledWait<<(attempt-1), MaxBackoff)/2)
		}
		least, most = least+full/2, most+full
	}
	require.Greater(t, least, time.Minute)
	require.Less(t, most, 3*time.Minute)
	wait := Backoff(1000, false, MaxBackoff)
	require.LessOrEqual(t, wait, MaxBackoff)
	require.Positive(t, wait)
}
