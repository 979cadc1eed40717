package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
)

// openUpload is a multipart upload under the destination that is neither
// completed nor aborted: a staged file, or what a killed process has left.
type openUpload struct {
	run     string // that it belongs to; empty if its path tells of none
	path    string // where the file would be visible
	id      string
	started time.Time
}

// uploads yields the open uploads whose keys start so.
func (s *Store) uploads(ctx context.Context, prefix string) iter.Seq2[openUpload, error] {
	return func(yield func(openUpload, error) bool) {
		in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket}
		if prefix != "" {
			in.Prefix = &prefix
		}
		pages := s3.NewListMultipartUploadsPaginator(s.client, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(openUpload{}, s.failed("list the uploads of", "", err))
				return
			}
			for i := range page.Uploads {
				u := &page.Uploads[i]
				path, under := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
				if !under {
					continue
				}
				upload := openUpload{
					run: sink.Owner(path), path: path, id: aws.ToString(u.UploadId), started: aws.ToTime(u.Initiated),
				}
				if !yield(upload, nil) {
					return
				}
			}
		}
	}
}

// sweepConcurrency is how many uploads are aborted at once.
const sweepConcurrency = 8

// Sweep aborts every upload of the run. It lists until there is nothing new: a
// store may cut a listing short, and an upload whose answer was lost may have
// been started meanwhile.
func (s *Store) Sweep(ctx context.Context, run string) error {
	run = sink.Escape(run)
	aborted := make(map[string]bool)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var found []openUpload
		for upload, err := range s.uploads(ctx, s.prefix) {
			if err != nil {
				return err
			}
			if upload.run == run && !aborted[upload.id] {
				aborted[upload.id] = true
				found = append(found, upload)
			}
		}
		if len(found) == 0 {
			return nil
		}
		group, sweeping := errgroup.WithContext(ctx)
		group.SetLimit(sweepConcurrency)
		for _, upload := range found {
			group.Go(func() error {
				if err := sweeping.Err(); err != nil {
					return err
				}
				return s.drop(sweeping, upload.path, upload.id)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

// ListsStaged starts an upload and reports whether a listing shows it. MinIO and
// some others list uploads by their exact key only, not by prefix.
func (s *Store) ListsStaged(ctx context.Context) (listed bool, err error) {
	path := checkFolder + rand.Text()
	in := &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: s.key(path)}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	created, err := s.client.CreateMultipartUpload(ctx, in)
	if err != nil {
		return false, s.failed("start the upload of", path, err)
	}
	defer func() { err = errors.Join(err, s.giveUp(ctx, path, aws.ToString(created.UploadId))) }()
	for upload, err := range s.uploads(ctx, s.prefix) {
		if err != nil {
			return false, err
		}
		if upload.path == path {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Staged tells of the runs that have open uploads.
func (s *Store) Staged(ctx context.Context) (map[string]time.Time, error) {
	staged := make(map[string]time.Time)
	for upload, err := range s.uploads(ctx, s.prefix) {
		if err != nil {
			return nil, err
		}
		if newest, known := staged[upload.run]; upload.run != "" && (!known || upload.started.After(newest)) {
			staged[upload.run] = upload.started
		}
	}
	return staged, ctx.Err()
}
