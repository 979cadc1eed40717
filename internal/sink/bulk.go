package sink

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// MaxConcurrency is the maximum number of concurrent small operations on a store. On S3, each of them takes tens of
// milliseconds.
const MaxConcurrency = 64

// ListAll collects the entries that List yields.
func ListAll(ctx context.Context, store Reader, prefix string) ([]Entry, error) {
	var entries []Entry
	for entry, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// RemoveAll removes objects concurrently until a removal fails. It returns the first error.
func RemoveAll(ctx context.Context, store Store, paths []string) error {
	return ForEach(ctx, paths, store.Remove)
}

// ForEach calls do for every item, concurrently, until a call fails. It returns the first error.
func ForEach[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	_, err := Map(ctx, MaxConcurrency, items, func(ctx context.Context, item T) (struct{}, error) {
		return struct{}{}, do(ctx, item)
	})
	return err
}

// Map calls do for every item, with up to limit concurrent calls, until a call fails. It returns the results in the
// order of the items, or the first error.
func Map[T, R any](
	ctx context.Context, limit int, items []T, do func(context.Context, T) (R, error),
) ([]R, error) {
	results := make([]R, len(items))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i, item := range items {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			results[i], err = do(ctx, item)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}
