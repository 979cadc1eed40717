package snapshot

import "example.org/growthexport/internal/sink"

// Catalog knows which runs and snapshots a destination holds, and is the only way to change them. It is the store
// itself too, for the files and documents of a run at work.
type Catalog struct{ sink.Store }

// At returns the catalog of the destination in a store.
func At(store sink.Store) Catalog { return Catalog{store} }
