package s3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// These are the waits before each check of whether an object exists. A store that has confirmed a completion may still
// be creating the object. After NoSuchUpload, the object exists only if the upload was completed before.
var (
	afterCompletion = remote.Waits(100*time.Millisecond, 2*time.Second, 30*time.Second)
	afterNoUpload   = remote.Waits(100*time.Millisecond, 400*time.Millisecond, 500*time.Millisecond)
	atOnce          = remote.Waits(0, 0, 0)
)

// Commit completes the upload of a staged file. Its result depends only on the object that is at the path afterwards,
// because another process may already have completed the upload, or this process may have done so and lost the
// response. In addition, some stores confirm a completion that is still in progress, or the completion of a missing
// upload if there is any object at its key.
func (s *Store) Commit(ctx context.Context, _ string, file sink.File) (err error) {
	defer func() {
		if errors.Is(err, sink.ErrStagedLost) {
			s.own.Clear() // Other staged files may be lost too.
		}
	}()
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return err
	}
	s.own.Delete(token.UploadID)
	looks := atOnce
	if token.UploadID != "" {
		if token.Bytes != file.Bytes {
			return s.failed("publish", file.Path, sink.ErrStagedLost)
		}
		switch err := s.complete(ctx, file.Path, token); {
		case err == nil:
			looks = afterCompletion
			s.open.Delete(token.UploadID)
		case noUpload(err):
			looks = afterNoUpload
			s.open.Delete(token.UploadID)
		default:
			return s.failed("publish", file.Path, err)
		}
	}
	there, err := s.isCommitted(ctx, file, token.ID, looks)
	if err == nil && !there {
		err = sink.ErrStagedLost
	}
	if err != nil {
		return s.failed("publish", file.Path, err)
	}
	return nil
}

func (s *Store) complete(ctx context.Context, path string, token stagedUpload) error {
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
	case "InvalidPart", "InvalidPartOrder", "EntityTooSmall": // The uploaded parts have been replaced or are missing.
		return fmt.Errorf("%w: %w", sink.ErrStagedLost, s.describe(err))
	}
	return err
}

// isCommitted reports whether the object at the file's path is the file. The object must have the same size and, if
// both ids are known, the id of the upload in its metadata. isCommitted checks this after each of the waits, until it
// finds the file.
func (s *Store) isCommitted(ctx context.Context, file sink.File, id string, waits []time.Duration) (bool, error) {
	for _, wait := range waits {
		if err := remote.Pause(ctx, wait); err != nil {
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

// Holds compares the total size and the ETags of the uploaded parts. If they differ or the upload is missing, it looks
// for the committed object.
func (s *Store) Holds(ctx context.Context, _ string, file sink.File) (bool, error) {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return false, err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return false, err
	}
	if token.UploadID != "" {
		if token.Bytes != file.Bytes {
			return false, nil
		}
		uploaded, err := s.isUploaded(ctx, file.Path, token)
		if err != nil && !noUpload(err) {
			return false, s.failed("list the parts of", file.Path, err)
		}
		if uploaded {
			return true, nil
		}
	}
	there, err := s.isCommitted(ctx, file, token.ID, atOnce)
	if err != nil {
		return false, s.failed("stat", file.Path, err)
	}
	return there, nil
}

func (s *Store) isUploaded(ctx context.Context, path string, token stagedUpload) (bool, error) {
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

// Intact does the same as Holds for files that this Store did not stage, because the store has verified the checksums
// that were sent with the parts, and Holds compares the ETags of the parts. It assumes without a request that the files
// that this Store has staged are intact, until Commit finds that an upload was lost.
func (s *Store) Intact(ctx context.Context, owner string, file sink.File) (bool, error) {
	if token, err := decodeStaged(file); err == nil && token.Bytes == file.Bytes {
		if _, own := s.own.Load(token.UploadID); own {
			return true, remote.Ready(ctx, file.Path)
		}
	}
	return s.Holds(ctx, owner, file)
}

// Abort aborts the upload of a staged file. A completed upload is left alone.
func (s *Store) Abort(ctx context.Context, _ string, file sink.File) error {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil || token.UploadID == "" {
		return err
	}
	return s.abortAndVerify(ctx, file.Path, token.UploadID, func() (bool, error) { return s.hasOther(ctx, file.Path, token.UploadID) })
}
