package s3

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/remote"
)

// TestBackoff expects longer waits if the store is throttling.
func TestBackoff(t *testing.T) {
	t.Parallel()
	delayer := backoff(remote.MaxBackoff)
	short, err := delayer.BackoffDelay(1, errors.New("connection reset"))
	require.NoError(t, err)
	require.LessOrEqual(t, short, 100*time.Millisecond)
	long, err := delayer.BackoffDelay(1, &smithy.GenericAPIError{Code: "SlowDown"})
	require.NoError(t, err)
	require.GreaterOrEqual(t, long, 250*time.Millisecond)
}
