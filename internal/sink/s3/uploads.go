package s3

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
)

// openUpload is a multipart upload that is neither completed nor aborted: a staged file, or the leftover of a killed
// process.
type openUpload struct {
	owner   string // empty if the path has no owner
	path    string // the path at which the file would be visible
	id      string
	started time.Time
}

// uploads yields the open uploads of the destination whose keys start with prefix.
func (s *Store) uploads(ctx context.Context, prefix string, options ...func(*s3.Options)) iter.Seq2[openUpload, error] {
	return func(yield func(openUpload, error) bool) {
		in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket}
		if prefix != "" {
			in.Prefix = &prefix
		}
		var listed position
		for {
			page, err := s.client.ListMultipartUploads(ctx, in, options...)
			switch {
			case codeOf(err) == "NoSuchUpload":
				return // gofakes3 answers this if the bucket has never had an upload
			case codeOf(err) == "InvalidArgument" && in.UploadIdMarker != nil:
				// versitygw accepts only keys as markers. The last key is listed again, because it may have further uploads.
				in.KeyMarker, in.UploadIdMarker = listed.marker(), nil
				continue
			case err != nil:
				yield(openUpload{}, s.failed("list the uploads of", "", err))
				return
			}
			for i := range page.Uploads {
				u := &page.Uploads[i]
				path, under := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
				if listed.again(aws.ToString(u.Key), aws.ToString(u.UploadId)) || !under {
					continue
				}
				if prefix == s.prefix {
					s.listing.Set(true)
				}
				upload := openUpload{
					owner: sink.Owner(path), path: path, id: aws.ToString(u.UploadId), started: aws.ToTime(u.Initiated),
				}
				if !yield(upload, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) || aws.ToString(page.NextKeyMarker) == "" {
				return
			}
			in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
		}
	}
}

// position is the position in a list of uploads, which is in the order of keys.
type position struct {
	before, last string          // the last two keys
	ids          map[string]bool // of the listed uploads of the last key
}

// again reports whether an upload was already listed, and records it as listed.
func (p *position) again(key, id string) bool {
	if key != p.last || p.ids == nil {
		p.before, p.last, p.ids = p.last, key, make(map[string]bool)
	}
	again := p.ids[id]
	p.ids[id] = true
	return again
}

// marker returns the key after which the list has to continue so that the last key is listed again. If only one key has
// been listed, it returns that key.
func (p *position) marker() *string {
	if p.before == "" {
		return &p.last
	}
	return &p.before
}

// Sweep aborts the uploads of the owner, except the uploads of files to keep. It first aborts the uploads that this
// Store has started, because a server may not list them, and then the uploads that the server lists. It repeats the
// listing until it finds no new uploads, because a store may cut a listing short, and an upload whose response was lost
// may start while Sweep is running.
func (s *Store) Sweep(ctx context.Context, owner string, keep ...sink.File) error {
	owner = sink.Escape(owner)
	done, kept := idsOf(keep), pathsOf(keep)
	if err := s.abortNew(ctx, s.started(owner), done, kept); err != nil {
		return err
	}
	for {
		found, err := s.listed(ctx, []string{""}, func(u openUpload) bool { return u.owner == owner && !done[u.id] })
		if len(found) == 0 || err != nil {
			return err
		}
		if err := s.abortNew(ctx, found, done, kept); err != nil {
			return err
		}
	}
}

// SweepAt aborts the uploads at the paths, except the uploads of files to keep.
func (s *Store) SweepAt(ctx context.Context, paths []string, keep ...sink.File) error {
	found, err := s.listed(ctx, paths, func(openUpload) bool { return true })
	if err != nil {
		return err
	}
	return s.abortNew(ctx, found, idsOf(keep), pathsOf(keep))
}

// StagedAt returns the time at which the newest open upload at the paths was started, or the zero time if there is no
// open upload.
func (s *Store) StagedAt(ctx context.Context, paths []string) (newest time.Time, err error) {
	found, err := s.listed(ctx, paths, func(openUpload) bool { return true })
	for _, upload := range found {
		if upload.started.After(newest) {
			newest = upload.started
		}
	}
	return newest, err
}

// idsOf returns the ids of the uploads of staged files. It skips damaged records, for which Commit returns an error.
func idsOf(files []sink.File) map[string]bool {
	ids := make(map[string]bool)
	for _, file := range files {
		if token, err := decodeStaged(file); err == nil {
			ids[token.UploadID] = true
		}
	}
	return ids
}

// pathsOf returns the set of the paths of files.
func pathsOf(files []sink.File) map[string]bool {
	paths := make(map[string]bool)
	for _, file := range files {
		paths[file.Path] = true
	}
	return paths
}

// started returns the uploads of the owner that this Store has started and that may still be open.
func (s *Store) started(owner string) []openUpload {
	var found []openUpload
	s.open.Range(func(id, path any) bool {
		upload := openUpload{path: path.(string), id: id.(string)} //nolint:forcetypeassert // upload stores nothing else.
		if sink.Owner(upload.path) == owner {
			found = append(found, upload)
		}
		return true
	})
	return found
}

// listed lists the open uploads at the paths for which match returns true. An empty path means all paths.
func (s *Store) listed(ctx context.Context, paths []string, match func(openUpload) bool) ([]openUpload, error) {
	found, err := sink.Map(ctx, sink.MaxConcurrency, paths, func(ctx context.Context, path string) ([]openUpload, error) {
		var found []openUpload
		for upload, err := range s.uploads(ctx, s.prefix+path) {
			if err != nil {
				return nil, err
			}
			if (path == "" || upload.path == path) && match(upload) {
				found = append(found, upload)
			}
		}
		return found, nil
	})
	return slices.Concat(found...), err
}

// abortNew aborts the uploads that are not in done, and adds them to done. It leaves an upload alone if aborting it
// would remove the object at its path or, at a kept path, an upload to keep; see abortHarms.
func (s *Store) abortNew(ctx context.Context, uploads []openUpload, done, kept map[string]bool) error {
	uploads = slices.DeleteFunc(uploads, func(u openUpload) bool { return done[u.id] })
	for _, upload := range uploads {
		done[upload.id] = true
	}
	return sink.ForEach(ctx, uploads, func(ctx context.Context, upload openUpload) error {
		return s.abortAndVerify(ctx, upload.path, upload.id, func() (bool, error) { return kept[upload.path], nil })
	})
}

// Staged returns, for each owner, the time at which the newest open upload was started.
func (s *Store) Staged(ctx context.Context) (map[string]time.Time, error) {
	staged := make(map[string]time.Time)
	for upload, err := range s.uploads(ctx, s.prefix) {
		if err != nil {
			return nil, err
		}
		if newest, known := staged[upload.owner]; upload.owner != "" && (!known || upload.started.After(newest)) {
			staged[upload.owner] = upload.started
		}
	}
	return staged, ctx.Err()
}
