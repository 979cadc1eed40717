package sink

import "context"

// Tidy drops what is left of the staging of a published run: what another
// process of the run has staged that did not know, and the last that a publisher
// did not come to because it was killed. The run may still be in the hands of
// its publisher, so the intent stays, which finishes what that has begun.
func Tidy(ctx context.Context, store Store, run string) error {
	journals, err := ListAll(ctx, store, runPath(run)+journalName)
	if err != nil {
		return err
	}
	paths := []string{HeldPath(run), AlivePath(run)}
	for _, entry := range journals {
		paths = append(paths, entry.Path)
	}
	if err := RemoveAll(ctx, store, paths); err != nil {
		return err
	}
	return store.Sweep(ctx, run)
}
