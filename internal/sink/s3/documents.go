package s3

import (
	"bytes"
	"cmp"
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
	"example.org/growthexport/internal/sink/remote"
)

// noETag is the version of a document if the response has no ETag, as is the case behind some proxies. No object has
// this ETag, so a write that requires it fails. With an empty version, the write would be unconditional.
const noETag = `"none"`

// Read returns a document and its version, which is the ETag.
func (s *Store) Read(ctx context.Context, path string) ([]byte, string, error) {
	if err := remote.Ready(ctx, path); err != nil {
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

// read returns a whole object and its ETag. Unlike the SDK, it sends the request again if the body is cut short.
func (s *Store) read(ctx context.Context, path string) ([]byte, string, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(path)})
		if err != nil {
			return nil, "", err
		}
		data, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // The data has been read.
		if size := aws.ToInt64(out.ContentLength); err == nil && out.ContentLength != nil && size != int64(len(data)) {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			return data, cmp.Or(aws.ToString(out.ETag), noETag), nil
		}
		if err := s.pauseRead(ctx, attempt, err); err != nil {
			return nil, "", err
		}
	}
}

// pauseRead waits before a body that was cut short is requested again. After the last attempt, it returns an error that
// wraps cause.
func (s *Store) pauseRead(ctx context.Context, attempt int, cause error) error {
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
	return remote.Pause(ctx, wait)
}

// Write writes a document in one request. If the condition does not hold, it checks whether an earlier attempt of the
// same Write, whose response was lost, has written the object.
func (s *Store) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	err := s.write(ctx, path, data, when)
	if err != nil && !errors.Is(err, sink.ErrConflict) {
		return s.failed("write", path, err)
	}
	return err
}

func (s *Store) write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	id := rand.Text()
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: s.key(path),
		ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String(remote.ContentType(path)),
		Metadata: map[string]string{idName: id},
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	if s.sendsChecksums() {
		in.ChecksumCRC32 = aws.String(encodeCRC(crc32.ChecksumIEEE(data)))
	}
	conditions := s.Conditions()
	switch {
	case when == (sink.Condition{}):
		return s.put(ctx, in, data)
	case conditions == sink.EmulatedConditions:
		return s.writeEmulated(ctx, path, in, data, when)
	case when.Absent:
		in.IfNoneMatch = aws.String("*")
	case conditions == sink.UnquotedConditions:
		in.IfMatch = aws.String(strings.Trim(when.Version, `"`))
	default:
		in.IfMatch = &when.Version
	}
	err := s.put(ctx, in, data)
	switch {
	case err == nil:
		return nil
	case notImplemented(err):
		if sink.Conditions(s.conditions.Swap(int32(sink.EmulatedConditions))) != sink.EmulatedConditions {
			s.warn(ctx, "the store does not support conditional writes (501): let only one process publish at a time")
		}
		in.IfNoneMatch, in.IfMatch = nil, nil
		return s.writeEmulated(ctx, path, in, data, when)
	case statusOf(err) == http.StatusPreconditionFailed, noObject(err) && !when.Absent:
		head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
		switch {
		case err != nil && !noObject(err):
			return err
		case err != nil || head.Metadata[idName] != id:
			return sink.ErrConflict
		}
		return nil
	}
	return err
}

// put sends a document. If the server does not implement checksums, put sends the document again without a checksum.
func (s *Store) put(ctx context.Context, in *s3.PutObjectInput, data []byte) error {
	in.Body = bytes.NewReader(data)
	_, err := s.client.PutObject(ctx, in)
	if !notImplemented(err) || in.ChecksumCRC32 == nil {
		return err
	}
	without := *in
	without.ChecksumCRC32, without.Body = nil, bytes.NewReader(data)
	_, again := s.client.PutObject(ctx, &without)
	if notImplemented(again) {
		return err
	}
	s.stopChecksums(ctx)
	return again
}

// Conditions returns how conditional writes are made.
func (s *Store) Conditions() sink.Conditions { return sink.Conditions(s.conditions.Load()) }

// AdaptConditions sets how conditional writes are made.
func (s *Store) AdaptConditions(way sink.Conditions) { s.conditions.Store(int32(way)) }

func (s *Store) writeEmulated(
	ctx context.Context, path string, in *s3.PutObjectInput, data []byte, when sink.Condition,
) error {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	absent := noObject(err)
	if err != nil && !absent {
		return err
	}
	if absent != when.Absent || (!absent && !sameETag(aws.ToString(head.ETag), when.Version)) {
		return sink.ErrConflict
	}
	return s.put(ctx, in, data)
}

// encodeCRC encodes a CRC-32 as S3 does.
func encodeCRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// Remove removes an object. A missing object is not an error.
func (s *Store) Remove(ctx context.Context, path string) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	if err != nil && !noObject(err) {
		return s.failed("remove", path, err)
	}
	return nil
}
