package s3

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
)

// TestBackoff expects waits that add up to an outage of a minute, are short at first, and are longer when throttled.
func TestBackoff(t *testing.T) {
	t.Parallel()
	delayer := backoff(defaultMaxBackoff)
	throttled := &smithy.GenericAPIError{Code: "SlowDown"}
	least, most := time.Duration(0), time.Duration(0)
	for attempt := 1; attempt < defaultAttempts; attempt++ {
		full := min(firstWait<<(attempt-1), defaultMaxBackoff)
		for range 20 {
			wait, err := delayer.BackoffDelay(attempt, errors.New("connection reset"))
			require.NoError(t, err)
			require.LessOrEqual(t, wait, full)
			require.GreaterOrEqual(t, wait, full/2)
			wait, err = delayer.BackoffDelay(attempt, throttled)
			require.NoError(t, err)
			require.GreaterOrEqual(t, wait, min(firstThrottledWait<<(attempt-1), defaultMaxBackoff)/2)
		}
		least, most = least+full/2, most+full
	}
	require.Greater(t, least, time.Minute)
	require.Less(t, most, 3*time.Minute)
	wait, err := delayer.BackoffDelay(1000, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, wait, defaultMaxBackoff)
	require.Positive(t, wait)
}
