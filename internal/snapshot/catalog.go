package snapshot

import (
	"maps"
	"slices"
	"sync"

	"example.org/growthexport/internal/sink"
)

// Catalog finds the runs and snapshots of a destination. All changes to runs and snapshots go through it. It can also
// read any other object.
type Catalog struct {
	sink.Reader

	store     sink.Store
	changed   *changedRuns
	committed func() // see Counting
}

// At returns the catalog of the destination in a store.
func At(store sink.Store) Catalog {
	return Catalog{Reader: store, store: store, changed: &changedRuns{runs: make(map[string]bool)}, committed: func() {}}
}

// Store returns the store, for objects that the catalog does not own, such as pages and Delta logs.
func (c Catalog) Store() sink.Store { return c.store }

// Counting returns a copy of the catalog that calls committed for each file that it commits. The calls come from
// several goroutines.
func (c Catalog) Counting(committed func()) Catalog {
	c.committed = committed
	return c
}

// changedRuns holds the runs that a process has published, purged, pruned, abandoned or cleaned, or has tried to change
// in one of these ways, including runs that it has recovered.
type changedRuns struct {
	mu   sync.Mutex
	runs map[string]bool
}

func (r *changedRuns) add(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run] = true
}

// TakeChanged returns the runs that were changed through this catalog since the last call, sorted. The HTML pages about
// these runs are out of date.
func (c Catalog) TakeChanged() []string {
	c.changed.mu.Lock()
	defer c.changed.mu.Unlock()
	runs := slices.Sorted(maps.Keys(c.changed.runs))
	clear(c.changed.runs)
	return runs
}
