package azure

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"example.org/growthexport/internal/sink"
)

// List lists the blobs under a prefix, except folders and blobs whose names are not valid paths. It reads and sorts the
// whole list first, because the service uses a different order in a hierarchical namespace.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	return func(yield func(sink.Entry, error) bool) {
		entries, err := s.list(ctx, prefix, false)
		if err != nil {
			yield(sink.Entry{}, err)
			return
		}
		slices.SortFunc(entries, func(a, b sink.Entry) int { return cmp.Compare(a.Path, b.Path) })
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// list lists the blobs under a prefix. If uncommitted is set, it instead lists the blobs that have only uncommitted
// blocks. It then also lists empty blobs, because the service's list does not distinguish the two.
func (s *Store) list(ctx context.Context, prefix string, uncommitted bool) ([]sink.Entry, error) {
	var entries []sink.Entry
	pages := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: new(s.prefix + prefix), Include: container.ListBlobsInclude{Metadata: true, UncommittedBlobs: uncommitted},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed("list", prefix, err)
		}
		for _, item := range page.Segment.BlobItems {
			name, properties := *item.Name, item.Properties
			path, under := strings.CutPrefix(name, s.prefix)
			if !under || sink.CheckPath(path) != nil || isFolder(item.Metadata) {
				continue
			}
			entry := sink.Entry{Path: path, Bytes: *cmp.Or(properties.ContentLength, new(int64))}
			if uncommitted && entry.Bytes > 0 {
				continue
			}
			entry.Modified = *cmp.Or(properties.LastModified, new(time.Time))
			entries = append(entries, entry)
		}
	}
	return entries, ctx.Err()
}

// stagedPaths returns the paths of an owner at which there may be staged blocks, or the paths of all owners if owner is
// empty.
func (s *Store) stagedPaths(ctx context.Context, owner string) ([]string, error) {
	entries, err := s.list(ctx, "", true)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if of := sink.Owner(entry.Path); of != "" && (owner == "" || of == owner) {
			paths = append(paths, entry.Path)
		}
	}
	return paths, nil
}

// Sweep drops the blocks at the paths of the owner that the service lists or at which this Store has staged files. It
// leaves the paths of the files to keep alone, because committing a file drops everything else that is staged at its
// path.
func (s *Store) Sweep(ctx context.Context, owner string, keep ...sink.File) error {
	owner = sink.Escape(owner)
	paths, err := s.stagedPaths(ctx, owner)
	if err != nil {
		return err
	}
	s.own.Range(func(_, path any) bool {
		if path := path.(string); sink.Owner(path) == owner { //nolint:forcetypeassert // upload stores nothing else.
			paths = append(paths, path)
		}
		return true
	})
	return s.SweepAt(ctx, paths, keep...)
}

// SweepAt drops the blocks at the paths, except at the paths of the files to keep.
func (s *Store) SweepAt(ctx context.Context, paths []string, keep ...sink.File) error {
	kept := make(map[string]bool)
	for _, file := range keep {
		kept[file.Path] = true
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	paths = slices.DeleteFunc(paths, func(path string) bool { return kept[path] })
	return sink.ForEach(ctx, paths, func(ctx context.Context, path string) error {
		err := s.dropBlocks(ctx, path, func(block) bool { return true })
		if err == nil {
			s.own.Range(func(id, own any) bool {
				if own == path {
					s.own.Delete(id)
				}
				return true
			})
		}
		return err
	})
}

// StagedAt returns the time at which the newest staged file at the paths was begun, or the zero time if there is no
// staged file.
func (s *Store) StagedAt(ctx context.Context, paths []string) (newest time.Time, err error) {
	times, err := s.stagedTimes(ctx, paths)
	for _, staged := range times {
		if staged.After(newest) {
			newest = staged
		}
	}
	return newest, err
}

// Staged returns, for each owner, the time at which the newest staged file was begun. It considers only paths that the
// service lists.
func (s *Store) Staged(ctx context.Context) (map[string]time.Time, error) {
	paths, err := s.stagedPaths(ctx, "")
	if err != nil {
		return nil, err
	}
	times, err := s.stagedTimes(ctx, paths)
	if err != nil {
		return nil, err
	}
	newest := make(map[string]time.Time)
	for i, path := range paths {
		if owner := sink.Owner(path); times[i].After(newest[owner]) {
			newest[owner] = times[i]
		}
	}
	return newest, nil
}

// stagedTimes returns, for each path, the time at which the newest staged file there was begun, or the zero time if
// there is no staged file.
func (s *Store) stagedTimes(ctx context.Context, paths []string) ([]time.Time, error) {
	return sink.Map(ctx, sink.MaxConcurrency, paths, func(ctx context.Context, path string) (newest time.Time, err error) {
		found, err := s.staged(ctx, path)
		for b := range found {
			if begun := time.Unix(b.begun, 0); begun.After(newest) {
				newest = begun
			}
		}
		return newest, err
	})
}
