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
)

// noETag is the version of a document that comes without an ETag, as behind some proxies. No object has it, so writes
// under it are refused; without a version they would be unconditional.
const noETag = `"none"`

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

// read reads an object whole. It retries bodies that are cut short, which the SDK does not.
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

// pauseRead waits before a body that was cut short is requested again. After the last attempt it returns the cause.
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
	return pause(ctx, wait)
}

// Write writes a document in one request. If the condition is refused, it checks whether an earlier attempt of the same
// Write, whose response was lost, has written the object.
func (s *Store) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := ready(ctx, path); err != nil {
		return err
	}
	err := s.write(ctx, path, data, when)
	if err != nil && !errors.Is(err, sink.ErrConflict) {
		return s.failed("write", path, err)
	}
	return err
}

// contentType returns the type of a document, so that a browser shows a page rather than downloads it.
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
	if s.emulates.Load() {
		return s.writeEmulated(ctx, path, in, when)
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
		if !s.emulates.Swap(true) && s.opts.Log != nil {
			s.opts.Log.WarnContext(ctx, "the store does not support conditional writes: let only one process publish at a time",
				"destination", s.String())
		}
		in.IfNoneMatch, in.IfMatch, in.Body = nil, nil, bytes.NewReader(data)
		return s.writeEmulated(ctx, path, in, when)
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

// EmulateConditions makes conditional writes compare the object with their condition before they write, for a store
// that ignores conditions. That narrows the window in which two writers overwrite each other and does not close it.
func (s *Store) EmulateConditions() { s.emulates.Store(true) }

func (s *Store) writeEmulated(ctx context.Context, path string, in *s3.PutObjectInput, when sink.Condition) error {
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

// encodeCRC encodes a CRC-32 as S3 does.
func encodeCRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// Remove removes an object; a missing one is not an error.
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
