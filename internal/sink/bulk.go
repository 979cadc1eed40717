package sink

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// MaxConcurrency bounds concurrent small operations on a store.
const MaxConcurrency = 16

// ListAll returns the entries that List yields.
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

// CommitAll commits staged files concurrently.
func CommitAll(ctx context.Context, store Store, owner string, files []File) error {
	return ForEach(ctx, files, func(ctx context.Context, file File) error { return store.Commit(ctx, owner, file) })
}

// RemoveAll removes objects concurrently.
func RemoveAll(ctx context.Context, store Store, paths []string) error {
	return ForEach(ctx, paths, store.Remove)
}

// ForEach calls do for every item, concurrently, until one fails. It returns the first error.
func ForEach[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrency)
	for _, item := range items {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, item)
		})
	}
	return group.Wait()
}
