package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// Open opens an object by reading its last bytes, which reads a small object as a whole. Reads fail once the object has
// been replaced.
func (s *Store) Open(ctx context.Context, path string) (sink.Object, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	found, err := s.readTail(ctx, path)
	switch {
	case noObject(err):
		return nil, sink.ErrNotFound
	case err != nil:
		return nil, s.failed("open", path, err)
	}
	// Some proxies return weak ETags, which never satisfy If-Match. In that case, the ETags of the responses are compared
	// instead.
	condition := found.etag
	if strings.HasPrefix(aws.ToString(condition), "W/") {
		condition = nil
	}
	return remote.NewObject(found.size, found.tail,
		func(from, to int64) (io.ReadCloser, error) {
			out, err := s.client.GetObject(ctx, &s3.GetObjectInput{
				Bucket: &s.bucket, Key: s.key(path), IfMatch: condition,
				Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)),
			})
			if err != nil {
				if noObject(err) { // the object was removed after Open
					err = sink.ErrNotFound
				}
				return nil, s.failed("read", path, err)
			}
			if condition == nil && aws.ToString(out.ETag) != aws.ToString(found.etag) {
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

// tail is the result of readTail: the last bytes, the size and the ETag of an object.
type tail struct {
	size int64
	etag *string
	tail []byte
}

// readTail reads the last bytes of an object.
func (s *Store) readTail(ctx context.Context, path string) (tail, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{
			Bucket: &s.bucket, Key: s.key(path), Range: aws.String(fmt.Sprintf("bytes=-%d", remote.Window)),
		})
		if statusOf(err) == http.StatusRequestedRangeNotSatisfiable { // The object is empty, or the store does not support such ranges.
			head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
			if err != nil {
				return tail{}, err
			}
			return tail{size: aws.ToInt64(head.ContentLength), etag: head.ETag}, nil
		}
		if err != nil {
			return tail{}, err
		}
		found := tail{size: aws.ToInt64(out.ContentLength), etag: out.ETag}
		if _, total, ranged := strings.Cut(aws.ToString(out.ContentRange), "/"); ranged {
			found.size, err = strconv.ParseInt(total, 10, 64)
		} else if out.ContentLength == nil || found.size > remote.Window {
			err = errors.New("the store ignores ranges in requests")
		}
		if err != nil {
			return tail{}, errors.Join(err, out.Body.Close())
		}
		found.tail = make([]byte, min(found.size, remote.Window))
		_, err = io.ReadFull(out.Body, found.tail)
		if err = errors.Join(err, out.Body.Close()); err == nil {
			return found, nil
		}
		if err := s.pauseRead(ctx, attempt, err); err != nil {
			return tail{}, err
		}
	}
}
