package sink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ErrVersionRefused reports that a store refused maxSwaps times in a row to replace the version of a document that it
// had just returned.
var ErrVersionRefused = errors.New("the store refuses to replace the version that it has just returned: " +
	"a proxy may be rewriting ETags, or the store may not support conditional writes; run growth-export doctor")

const (
	// maxSwaps is the maximum number of attempts to replace one document. Real conflicts with other publishers end after a
	// few attempts.
	maxSwaps = 10
	// minSwapWait is the limit of the first wait between attempts; see Pause. The limit doubles after each wait, up to
	// maxSwapWait. The waits of a Swap add up to less than ten seconds.
	minSwapWait = 25 * time.Millisecond
	maxSwapWait = 2 * time.Second
)

// Swap runs a compare-and-swap on the document at path: attempt reads the document, decides what to write, and writes
// it on condition that the document still has the version that was read. On ErrConflict, Swap calls attempt again after
// a pause. After maxSwaps attempts, it gives up with ErrVersionRefused. This is not an ErrConflict, because trying
// again later would not help.
func Swap(ctx context.Context, path string, attempt func() error) error {
	wait := minSwapWait
	for n := 1; ; n++ {
		err := attempt()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if n == maxSwaps {
			return fmt.Errorf("replace %s: %w (%d attempts)", path, ErrVersionRefused, n)
		}
		if err := Pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, maxSwapWait)
	}
}

// Pause waits for a random time between half of the limit and the limit, because processes that have just collided
// would collide again if they retried at the same time.
func Pause(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit/2 + rand.N(limit/2))
	select {
	case <-ctx.Done():
		timer.Stop()
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
