package sink

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// MaxConcurrency bounds the small operations on a store that are in flight at once.
const MaxConcurrency = 16

// ListAll returns what List yields.
func ListAll(ctx context.Context, store Store, prefix string) ([]Entry, error) {
	var entries []Entry
	for entry, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// CommitAll commits staged files, several at once.
func CommitAll(ctx context.Context, store Store, run string, files []File) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrency)
	for _, file := range files {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return store.Commit(ctx, run, file)
		})
	}
	return group.Wait()
}

// RemoveAll removes objects, several at once.
func RemoveAll(ctx context.Context, store Store, paths []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrency)
	for _, path := range paths {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return store.Remove(ctx, path)
		})
	}
	return group.Wait()
}
