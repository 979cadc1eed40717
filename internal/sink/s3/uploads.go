package s3

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
)

// Upload is a multipart upload under the destination that is neither completed
// nor aborted: a staged file, or what a killed process has left.
type Upload struct {
	// Run is the run that it belongs to; empty if its path tells of none.
	Run string
	// Path is where the file would be visible.
	Path string
	// ID is the store's id of the upload.
	ID string
	// Started is when the upload was started.
	Started time.Time
}

// Uploads yields every open upload under the destination.
func (s *Store) Uploads(ctx context.Context) iter.Seq2[Upload, error] {
	return s.uploads(ctx, s.prefix)
}

// uploads yields the open uploads whose keys start so.
func (s *Store) uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket}
		if prefix != "" {
			in.Prefix = &prefix
		}
		pages := s3.NewListMultipartUploadsPaginator(s.client, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(Upload{}, s.failed("list the uploads of", "", err))
				return
			}
			for i := range page.Uploads {
				u := &page.Uploads[i]
				path, under := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
				if !under {
					continue
				}
				upload := Upload{
					Run: sink.RunOf(path), Path: path, ID: aws.ToString(u.UploadId), Started: aws.ToTime(u.Initiated),
				}
				if !yield(upload, nil) {
					return
				}
			}
		}
	}
}

// AbortUpload drops an upload that Uploads has told of; none is no error.
func (s *Store) AbortUpload(ctx context.Context, upload Upload) error {
	return s.abort(ctx, upload.Path, upload.ID)
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
		var found []Upload
		for upload, err := range s.Uploads(ctx) {
			if err != nil {
				return err
			}
			if upload.Run == run && !aborted[upload.ID] {
				aborted[upload.ID] = true
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
				return s.AbortUpload(sweeping, upload)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

// Staged tells of the runs that have open uploads.
func (s *Store) Staged(ctx context.Context) (map[string]time.Time, error) {
	staged := make(map[string]time.Time)
	for upload, err := range s.Uploads(ctx) {
		if err != nil {
			return nil, err
		}
		if newest, known := staged[upload.Run]; upload.Run != "" && (!known || upload.Started.After(newest)) {
			staged[upload.Run] = upload.Started
		}
	}
	return staged, ctx.Err()
}
