package gcs

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// checkFolder is the folder in which Check stages objects. No owner can have this folder, because Escape never returns
// "~check".
const checkFolder = "~check"

// objects yields the objects whose names start with prefix.
func (s *Store) objects(ctx context.Context, prefix string, short bool) iter.Seq2[resource, error] {
	return func(yield func(resource, error) bool) {
		query := url.Values{"fields": {"items(name,size,updated),nextPageToken"}, "prefix": {prefix}}
		for {
			var page struct {
				Items []resource `json:"items"`
				Next  string     `json:"nextPageToken"`
			}
			err := s.request(ctx, call{
				operation: listObjects, method: http.MethodGet, path: s.bucketPath(), query: query, short: short,
			}, decode(&page))
			if err != nil {
				yield(resource{}, err)
				return
			}
			for i := range page.Items {
				if !yield(page.Items[i], nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("pageToken", page.Next)
		}
	}
}

// List lists the objects under a prefix. It skips objects whose names are not valid paths, such as the empty objects
// that some tools create for folders.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	return func(yield func(sink.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(sink.Entry{}, err)
			return
		}
		for object, err := range s.objects(ctx, s.prefix+prefix, false) {
			if err != nil {
				yield(sink.Entry{}, s.failed("list", prefix, err))
				return
			}
			path, under := strings.CutPrefix(object.Name, s.prefix)
			if !under || sink.CheckPath(path) != nil {
				continue
			}
			if !yield(sink.Entry{Path: path, Bytes: object.Size, Modified: object.Updated}, nil) {
				return
			}
		}
	}
}

// ListsStaged returns true, because the service's lists are complete.
func (s *Store) ListsStaged(ctx context.Context) (bool, error) { return true, ctx.Err() }

// Staged returns, for each owner, the time at which the newest staged object was written.
func (s *Store) Staged(ctx context.Context) (map[string]time.Time, error) {
	staged := make(map[string]time.Time)
	for object, err := range s.objects(ctx, s.prefix+sink.StagingPrefix, false) {
		if err != nil {
			return nil, s.failed("list", sink.StagingPrefix, err)
		}
		owner, _, inside := strings.Cut(strings.TrimPrefix(object.Name, s.prefix+sink.StagingPrefix), "/")
		if newest, known := staged[owner]; inside && owner != checkFolder && (!known || object.Updated.After(newest)) {
			staged[owner] = object.Updated
		}
	}
	return staged, nil
}

// Sweep removes the owner's staged objects, except the objects of files to keep. It repeats the listing until it finds
// no new objects, because an upload whose response was lost may complete while Sweep is running.
func (s *Store) Sweep(ctx context.Context, owner string, keep ...sink.File) error {
	done := make(map[string]bool)
	for _, file := range keep {
		if token, err := decodeStaged(file); err == nil { // Commit reports damaged records.
			done[s.stagedName(owner, token.ID)] = true
		}
	}
	for {
		names, err := s.removeStaged(ctx, s.stagedName(owner, ""), done, false)
		if err != nil {
			return s.failed("drop the staged files in", sink.StagingPrefix+sink.Escape(owner), err)
		}
		if names == 0 {
			return nil
		}
	}
}

// removeStaged removes the objects below a folder that are not in done, adds them to done, and returns how many it
// found.
func (s *Store) removeStaged(ctx context.Context, folder string, done map[string]bool, short bool) (int, error) {
	var names []string
	for object, err := range s.objects(ctx, folder, short) {
		if err != nil {
			return 0, err
		}
		if !done[object.Name] {
			names = append(names, object.Name)
			done[object.Name] = true
		}
	}
	return len(names), sink.ForEach(ctx, names, func(ctx context.Context, name string) error {
		s.own.Delete(name[len(folder):])
		return s.remove(ctx, name, anyGeneration)
	})
}
