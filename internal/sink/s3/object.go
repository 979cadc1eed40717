package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// Open opens an object. Reads fail if the object has been replaced since.
func (s *Store) Open(ctx context.Context, path string) (sink.Object, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	switch {
	case noObject(err):
		return nil, sink.ErrNotFound
	case err != nil:
		return nil, s.failed("open", path, err)
	}
	// A weak ETag, as some proxies send, never satisfies If-Match. Then the ETags of the responses are compared.
	condition := head.ETag
	if strings.HasPrefix(aws.ToString(condition), "W/") {
		condition = nil
	}
	return remote.NewObject(aws.ToInt64(head.ContentLength),
		func(from, to int64) (io.ReadCloser, error) {
			out, err := s.client.GetObject(ctx, &s3.GetObjectInput{
				Bucket: &s.bucket, Key: s.key(path), IfMatch: condition,
				Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)),
			})
			if err != nil {
				if noObject(err) { // it was there when it was opened
					err = sink.ErrNotFound
				}
				return nil, s.failed("read", path, err)
			}
			if condition == nil && aws.ToString(out.ETag) != aws.ToString(head.ETag) {
				return nil, errors.Join(s.failed("read", path, errors.New("the object was replaced")), out.Body.Close())
			}
			return out.Body, nil
		},
		func(attempt int, cause error) error {
			if err := s.pauseRead(ctx, attempt, cause); err != nil {
				return s.failed("read", path, err)
			}
			return nil
		}), nil
}
