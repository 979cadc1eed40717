package snapshot

import (
	"context"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
)

// Held is held.json. It records why a staged run is not published.
type Held struct {
	Reasons []review.Reason `json:"reasons"`
}

// Hold records why a staged run is not published.
func (c Catalog) Hold(ctx context.Context, run string, held Held) error {
	held.Reasons = orEmpty(held.Reasons)
	return WriteDocument(ctx, c.store, HeldPath(run), held, sink.Condition{})
}

// ReadHeld reads held.json. The result has no reasons if the run is not held.
func (c Catalog) ReadHeld(ctx context.Context, run string) (Held, error) {
	held, _, err := ReadDocument[Held](ctx, c, HeldPath(run), sink.ErrNotFound)
	if held == nil || err != nil {
		return Held{}, err
	}
	return *held, nil
}

// Release removes the record that Hold has written. It is called when the run is resumed. Publishing the run removes
// the record with RemoveStaging.
func (c Catalog) Release(ctx context.Context, run string) error {
	return c.store.Remove(ctx, HeldPath(run))
}
