package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
)

// Read returns a document; its version is the ETag.
func (s *Store) Read(ctx context.Context, path string) ([]byte, string, error) {
	if err := ready(ctx, path); err != nil {
		return nil, "", err
	}
	data, etag, err := s.read(ctx, path)
	switch {
	case noObject(err):
		return nil, "", sink.ErrNotFound
	case err != nil:
		return nil, "", s.failed("read", path, err)
	}
	return data, etag, nil
}

// read reads an object whole. The SDK retries a request, not a body that is cut
// short, so that is done here.
func (s *Store) read(ctx context.Context, path string) ([]byte, string, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(path)})
		if err != nil {
			return nil, "", err
		}
		data, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // What was read counts.
		if size := aws.ToInt64(out.ContentLength); err == nil && out.ContentLength != nil && size != int64(len(data)) {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			return data, aws.ToString(out.ETag), nil
		}
		if err := s.again(ctx, attempt, err); err != nil {
			return nil, "", err
		}
	}
}

// again waits before a body that was cut short is asked for once more; it
// returns the error where that makes no sense.
func (s *Store) again(ctx context.Context, attempt int, cause error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	retryer := s.client.Options().Retryer
	if attempt >= retryer.MaxAttempts() {
		return fmt.Errorf("%w (%d attempts)", cause, attempt)
	}
	wait, err := retryer.RetryDelay(attempt, cause)
	if err != nil {
		return err
	}
	return pause(ctx, wait)
}

// Write writes a document in one request. A refusal of the condition is looked
// into: where the answer to an earlier attempt of this very write was lost, it
// is this write's own object that stands in its way.
func (s *Store) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := ready(ctx, path); err != nil {
		return err
	}
	err := s.write(ctx, path, data, when)
	if errors.Is(err, sink.ErrConflict) {
		return err
	}
	if err != nil {
		return s.failed("write", path, err)
	}
	return nil
}

// contentType is that of a document: a browser shows a page that it gets from
// the store, and does not offer to keep it.
func contentType(path string) string {
	if strings.HasSuffix(path, ".html") {
		return "text/html; charset=utf-8"
	}
	return "application/json"
}

func (s *Store) write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	id := rand.Text()
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: s.key(path), Body: bytes.NewReader(data),
		ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String(contentType(path)),
		Metadata: map[string]string{idName: id},
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	if s.sendsChecksums() {
		in.ChecksumCRC32 = aws.String(encodeCRC(crc32.ChecksumIEEE(data)))
	}
	if when == (sink.Condition{}) {
		_, err := s.client.PutObject(ctx, in)
		return err
	}
	if s.unconditional.Load() {
		return s.writeUnconditionally(ctx, path, in, when)
	}
	if when.Absent {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &when.Version
	}
	_, err := s.client.PutObject(ctx, in)
	switch {
	case err == nil:
		return nil
	case codeOf(err) == "NotImplemented" || statusOf(err) == http.StatusNotImplemented:
		if !s.unconditional.Swap(true) && s.opts.Log != nil {
			s.opts.Log.WarnContext(ctx, "the store does not support conditional writes: let only one process publish at a time",
				"destination", s.String())
		}
		in.IfNoneMatch, in.IfMatch, in.Body = nil, nil, bytes.NewReader(data)
		return s.writeUnconditionally(ctx, path, in, when)
	case statusOf(err) == http.StatusPreconditionFailed, noObject(err) && !when.Absent:
		mine, err := s.isMine(ctx, path, id)
		if err != nil {
			return err
		}
		if !mine {
			return sink.ErrConflict
		}
		return nil
	}
	return err
}

// isMine tells whether the object at a path was written under that id.
func (s *Store) isMine(ctx context.Context, path, id string) (bool, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	if noObject(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return head.Metadata[idName] == id, nil
}

// JudgeConditions makes later writes compare the object with their condition
// before they write, for a store that was found to ignore conditions. It narrows
// the window in which two writers overwrite each other and does not close it.
func (s *Store) JudgeConditions() { s.unconditional.Store(true) }

// writeUnconditionally judges the condition itself and then writes: all that
// can be done on a store that does not.
func (s *Store) writeUnconditionally(
	ctx context.Context, path string, in *s3.PutObjectInput, when sink.Condition,
) error {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	absent := noObject(err)
	if err != nil && !absent {
		return err
	}
	if absent != when.Absent || (!absent && !sameETag(aws.ToString(head.ETag), when.Version)) {
		return sink.ErrConflict
	}
	_, err = s.client.PutObject(ctx, in)
	return err
}

// encodeCRC writes a CRC-32 as S3 does.
func encodeCRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// Remove removes an object; none is no error.
func (s *Store) Remove(ctx context.Context, path string) error {
	if err := ready(ctx, path); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	if err != nil && !noObject(err) {
		return s.failed("remove", path, err)
	}
	return nil
}
