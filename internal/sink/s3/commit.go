package s3

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"example.org/growthexport/internal/sink"
)

// Waits between looks at an object. A store that confirmed a completion has
// the object, or is still making it; one that knows no such upload has it only
// if another process has completed it just now.
var (
	afterCompletion = waits(100*time.Millisecond, 2*time.Second, 30*time.Second)
	afterNoUpload   = waits(100*time.Millisecond, 400*time.Millisecond, 500*time.Millisecond)
	atOnce          = waits(0, 0, 0)
)

// waits returns no wait, and then ever longer ones up to most, for all in all
// that time.
func waits(first, most, total time.Duration) []time.Duration {
	list := []time.Duration{0}
	for wait, sum := first, time.Duration(0); sum < total; wait = min(2*wait, most) {
		list = append(list, wait)
		sum += wait
	}
	return list
}

// readStaged reads what Stage returned; an empty token if the file was never
// staged.
func readStaged(file sink.File) (token staged, err error) {
	if file.Staged == nil {
		return token, nil
	}
	if err := json.Unmarshal(file.Staged, &token); err != nil {
		return token, fmt.Errorf("read the upload of %s: %w: %w", file.Path, sink.ErrDamaged, err)
	}
	if token.UploadID == "" || token.ID == "" || len(token.Parts) == 0 {
		return token, fmt.Errorf("read the upload of %s: %w", file.Path, sink.ErrDamaged)
	}
	return token, nil
}

// Commit completes the upload of a staged file and looks at the object. That
// look is what counts: the upload may have been completed before, by this
// process whose answer was lost or by another, and some stores confirm a
// completion that is still under way, or one of an upload that is gone as long
// as there is some object at its key.
func (s *Store) Commit(ctx context.Context, _ string, file sink.File) error {
	if err := ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := readStaged(file)
	if err != nil {
		return err
	}
	looks := atOnce
	if token.UploadID != "" {
		if token.Bytes != file.Bytes {
			return s.failed("publish", file.Path, sink.ErrStagedLost)
		}
		switch err := s.complete(ctx, file.Path, token); {
		case err == nil:
			looks = afterCompletion
		case noUpload(err):
			looks = afterNoUpload
		default:
			return s.failed("publish", file.Path, err)
		}
	}
	there, err := s.looksLike(ctx, file, token.ID, looks)
	if err == nil && !there {
		err = sink.ErrStagedLost
	}
	if err != nil {
		return s.failed("publish", file.Path, err)
	}
	return nil
}

// complete completes an upload.
func (s *Store) complete(ctx context.Context, path string, token staged) error {
	parts := make([]types.CompletedPart, len(token.Parts))
	for i := range parts {
		parts[i] = types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: &token.Parts[i].ETag}
		if token.Parts[i].CRC32 != "" {
			parts[i].ChecksumCRC32 = &token.Parts[i].CRC32
		}
	}
	_, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: s.key(path), UploadId: &token.UploadID,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	switch codeOf(err) {
	case "InvalidPart", "InvalidPartOrder", "EntityTooSmall":
		// The parts are not those that were put in place.
		return fmt.Errorf("%w: %w", sink.ErrStagedLost, brief(err))
	}
	return err
}

// looksLike tells whether the object at the file's path is the file: of its
// size, and with the id of its upload where the store keeps such things and the
// id is known.
func (s *Store) looksLike(ctx context.Context, file sink.File, id string, waits []time.Duration) (bool, error) {
	for _, wait := range waits {
		if err := pause(ctx, wait); err != nil {
			return false, err
		}
		head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(file.Path)})
		switch {
		case err == nil:
			there := head.Metadata[idName]
			whole := aws.ToInt64(head.ContentLength) == file.Bytes
			if whole && (there == "" || id == "") || there == id {
				return whole, nil
			}
		case !noObject(err):
			return false, err
		}
	}
	return false, nil
}

// pause waits, unless the context is done before.
func pause(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Holds tells whether the parts of a staged file are in place, or it is
// committed. It asks for the parts' sizes and ETags.
func (s *Store) Holds(ctx context.Context, _ string, file sink.File) (bool, error) {
	if err := ready(ctx, file.Path); err != nil {
		return false, err
	}
	token, err := readStaged(file)
	if err != nil {
		return false, err
	}
	if token.UploadID != "" {
		if token.Bytes != file.Bytes {
			return false, nil
		}
		there, err := s.partsInPlace(ctx, file.Path, token)
		if there || (err != nil && !noUpload(err)) {
			if err != nil {
				err = s.failed("look at the upload of", file.Path, err)
			}
			return there, err
		}
	}
	there, err := s.looksLike(ctx, file, token.ID, atOnce)
	if err != nil {
		return false, s.failed("look at", file.Path, err)
	}
	return there, nil
}

func (s *Store) partsInPlace(ctx context.Context, path string, token staged) (bool, error) {
	pages := s3.NewListPartsPaginator(s.client, &s3.ListPartsInput{
		Bucket: &s.bucket, Key: s.key(path), UploadId: &token.UploadID,
	})
	found := 0
	var size int64
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, err
		}
		for i := range page.Parts {
			part := &page.Parts[i]
			number := int(aws.ToInt32(part.PartNumber))
			if number < 1 || number > len(token.Parts) || !sameETag(aws.ToString(part.ETag), token.Parts[number-1].ETag) {
				return false, nil
			}
			found++
			size += aws.ToInt64(part.Size)
		}
	}
	return found == len(token.Parts) && size == token.Bytes, nil
}

func sameETag(a, b string) bool { return strings.Trim(a, `"`) == strings.Trim(b, `"`) }

// Intact does as Holds: the store has checked every part against its checksum,
// and their ETags are compared.
func (s *Store) Intact(ctx context.Context, run string, file sink.File) (bool, error) {
	return s.Holds(ctx, run, file)
}

// Abort drops the upload of a staged file. One that is completed, and so no
// upload any more, is left alone.
func (s *Store) Abort(ctx context.Context, _ string, file sink.File) error {
	if err := ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := readStaged(file)
	if err != nil || token.UploadID == "" {
		return err
	}
	return s.drop(ctx, file.Path, token.UploadID)
}
