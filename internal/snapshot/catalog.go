package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"example.org/growthexport/internal/sink"
)

// Catalog knows which runs and snapshots a destination holds, and is the only way to change them. It is also the store
// itself, for the files and documents of unpublished runs.
type Catalog struct {
	sink.Store

	changed *changedRuns
}

// At returns the catalog of the destination in a store.
func At(store sink.Store) Catalog { return Catalog{store, &changedRuns{runs: make(map[string]bool)}} }

// Over returns the same catalog, which uses a wrapper of its store.
func (c Catalog) Over(store sink.Store) Catalog { return Catalog{store, c.changed} }

// changedRuns are the runs that a process has published, purged, pruned or abandoned, by itself or in a recovery.
type changedRuns struct {
	mu   sync.Mutex
	runs map[string]bool
}

func (r *changedRuns) add(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run] = true
}

// TakeChanged returns the runs that were changed through this catalog since the last call, in order. Pages about them
// are out of date.
func (c Catalog) TakeChanged() []string {
	c.changed.mu.Lock()
	defer c.changed.mu.Unlock()
	runs := slices.Sorted(maps.Keys(c.changed.runs))
	clear(c.changed.runs)
	return runs
}

// WriteDocument encodes and writes a document.
func (c Catalog) WriteDocument(ctx context.Context, path string, document any, when sink.Condition) error {
	data, err := EncodeDocument(document)
	if err != nil {
		return err
	}
	err = c.Write(ctx, path, data, when)
	if errors.Is(err, sink.ErrConflict) {
		return fmt.Errorf("write %s: %w", path, err) // other errors name the path
	}
	return err
}
