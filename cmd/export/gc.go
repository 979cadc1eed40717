package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapSlack is the number of bytes that may be allocated between two collections. A small heap may first grow to
// smallHeap, and a large heap grows by only half of heapSlack; see slackPercent. Nearly all of the heap consists of
// reused columns and buffers without pointers, so a collection is cheap, but not free. If the slack were proportional
// to the heap, as with GOGC, the runtime would collect constantly in small runs, or large runs would hold twice the
// memory that they need.
const heapSlack = 16 << 20

// keepHeapSlack sets GOGC after each collection, so that the next one begins after about slack bytes have been
// allocated, instead of after an amount proportional to the heap; slackPercent documents the exceptions. It also sets
// the memory limit to the result of memoryLimit, unless GOMEMLIMIT is lower, so that the runtime returns free memory to
// the system at once. Otherwise the runtime would keep more and more memory in a long run, because new buffers differ
// in size from freed buffers.
func keepHeapSlack(slack uint64) {
	given := uint64(debug.SetMemoryLimit(-1))
	memory := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	var collected func(*sentinel)
	collected = func(s *sentinel) {
		metrics.Read(memory)
		live, other := memory[0].Value.Uint64(), memory[1].Value.Uint64()
		for _, heap := range memory[2:] {
			other -= heap.Value.Uint64()
		}
		percent := slackPercent(slack, live)
		debug.SetMemoryLimit(int64(min(given, memoryLimit(live, other, percent))))
		debug.SetGCPercent(percent)
		runtime.SetFinalizer(s, collected)
	}
	collected(&sentinel{})
}

// sentinel is garbage: its finalizer runs after every collection.
type sentinel struct{ _ *sentinel }

// minHeap is the heap size below which the runtime does not collect if GOGC is 100. For other values of GOGC, that size
// is proportional to GOGC.
const minHeap = 4 << 20

// smallHeap is the size up to which a heap is not collected, because it would soon be larger anyway.
const smallHeap = 32 << 20

// minGaps is the minimum number of bytes that memoryLimit allows for gaps between objects.
const minGaps = 1 << 20

// slackPercent returns the value of GOGC, at least 1, with which a heap grows by slack bytes before the next
// collection. A small heap grows to smallHeap instead, and a large heap by only half of slack.
func slackPercent(slack, live uint64) int {
	if live+slack < smallHeap {
		slack = smallHeap - live
	}
	if live > 4*slack {
		slack /= 2 // a large heap grows more slowly in proportion
	}
	return int(max(1, 100*slack/max(live, minHeap)))
}

// memoryLimit returns the memory that the process needs until the next collection: the heap and its growth, some room
// for gaps between objects, and other memory such as stacks.
func memoryLimit(live, other uint64, percent int) uint64 {
	live = max(live, minHeap)
	return live + live*uint64(percent)/100 + live/16 + minGaps + other
}
