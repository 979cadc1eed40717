package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapSlack is how much may be allocated between two collections, or half as much if the heap is large. Nearly all of the
// heap is reused columns and buffers without pointers, which makes a collection cheap, but not free: in proportion to
// the heap, as with GOGC, small runs would collect all the time or large ones hold twice the memory they need.
const heapSlack = 16 << 20

// keepHeapSlack makes each collection set the percentage for the next one, so that it begins after slack bytes were
// allocated, whatever the size of the heap.
func keepHeapSlack(slack uint64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var collected func(*sentinel)
	collected = func(s *sentinel) {
		metrics.Read(live)
		debug.SetGCPercent(slackPercent(slack, live[0].Value.Uint64()))
		runtime.SetFinalizer(s, collected)
	}
	collected(&sentinel{})
}

// sentinel is garbage: its finalizer runs after every collection.
type sentinel struct{ _ *sentinel }

// slackPercent returns the percentage of live that is about slack.
func slackPercent(slack, live uint64) int {
	const minHeap = 4 << 20 // below it the runtime does not collect, in proportion to the percentage
	if live > 4*slack {
		slack /= 2 // a large heap grows more slowly in proportion
	}
	return int(max(1, 100*slack/max(live, minHeap)))
}
