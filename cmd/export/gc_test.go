package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlackPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		live uint64
		want int
	}{{0, 800}, {1 << 20, 775}, {4 << 20, 700}, {16 << 20, 100}, {64 << 20, 25}, {128 << 20, 6}, {1 << 30, 1}, {1 << 40, 1}} {
		require.Equal(t, test.want, slackPercent(16<<20, test.live), "%d bytes live", test.live)
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ live, want uint64 }{{0, 42}, {4, 38}, {16, 39}, {64, 90}, {128, 149}, {1024, 1104}} {
		live := test.live << 20
		require.Equal(t, test.want, memoryLimit(live, 5<<20, slackPercent(16<<20, live))>>20, "%d MiB live", test.live)
	}
}

// TestKeepHeapSlack checks that the percentage and the limit follow the live heap up and down.
func TestKeepHeapSlack(t *testing.T) {
	t.Parallel()
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	collectUntil := func(reached func(percent uint64) bool) {
		for t.Context().Err() == nil {
			runtime.GC()
			if metrics.Read(percent); reached(percent[0].Value.Uint64()) {
				return
			}
		}
	}
	debug.SetMemoryLimit(math.MaxInt64)
	keepHeapSlack(heapSlack)
	held := make([]byte, 800<<20) // never accessed, so it takes no memory
	collectUntil(func(percent uint64) bool { return percent <= 2 })
	require.Greater(t, debug.SetMemoryLimit(-1), int64(800<<20))
	runtime.KeepAlive(held)
	collectUntil(func(percent uint64) bool { return percent > 2 })
	require.Less(t, debug.SetMemoryLimit(-1), int64(800<<20))
}
