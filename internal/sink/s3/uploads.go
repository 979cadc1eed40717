package s3

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
)

// openUpload is a multipart upload that is neither completed nor aborted: a staged file, or the leftover of a killed
// process.
type openUpload struct {
	owner   string // empty if the path names none
	path    string // where the file would be visible
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
		pages := s3.NewListMultipartUploadsPaginator(s.client, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx, options...)
			if codeOf(err) == "NoSuchUpload" {
				return // gofakes3: the bucket has never had an upload
			}
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
					owner: sink.Owner(path), path: path, id: aws.ToString(u.UploadId), started: aws.ToTime(u.Initiated),
				}
				if !yield(upload, nil) {
					return
				}
			}
		}
	}
}

// Sweep aborts every upload of the owner. It lists until it finds nothing new: a store may cut a listing short, and an
// upload whose response was lost may start while Sweep runs.
func (s *Store) Sweep(ctx context.Context, owner string) error {
	owner = sink.Escape(owner)
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
			if upload.owner == owner && !aborted[upload.id] {
				aborted[upload.id] = true
				found = append(found, upload)
			}
		}
		if len(found) == 0 {
			return nil
		}
		err := sink.ForEach(ctx, found, func(ctx context.Context, upload openUpload) error {
			return s.abortAndVerify(ctx, upload.path, upload.id)
		})
		if err != nil {
			return err
		}
	}
}

// Staged lists the owners of open uploads.
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
