package snapshot

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/sink"
)

// Catalog knows which runs and snapshots a destination holds, and is the only way to change them. It is also the store
// itself, for the files and documents of unpublished runs.
type Catalog struct{ sink.Store }

// At returns the catalog of the destination in a store.
func At(store sink.Store) Catalog { return Catalog{store} }

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
