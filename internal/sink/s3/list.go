package s3

import (
	"context"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
)

// List lists the objects under a prefix. It skips objects whose keys are not valid paths, such as the empty objects
// that some tools create for folders.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	return func(yield func(sink.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(sink.Entry{}, err)
			return
		}
		in := &s3.ListObjectsV2Input{Bucket: &s.bucket}
		if s.prefix+prefix != "" {
			in.Prefix = s.key(prefix)
		}
		pages := s3.NewListObjectsV2Paginator(s.client, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(sink.Entry{}, s.failed("list", prefix, err))
				return
			}
			for i := range page.Contents {
				o := &page.Contents[i]
				path, under := strings.CutPrefix(aws.ToString(o.Key), s.prefix)
				if !under || sink.CheckPath(path) != nil {
					continue
				}
				entry := sink.Entry{Path: path, Bytes: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}
				if !yield(entry, nil) {
					return
				}
			}
		}
	}
}
