package s3

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

const (
	// minPart is the size of a file's parts in bytes, unless the file would then have more than maxParts parts, the limit
	// of S3. Sizes above minPart are multiples of partStep.
	minPart  = 8 << 20
	maxParts = 10_000
	partStep = 1 << 20
	// idName is the name under which an object's metadata contains the object's random id.
	idName = "growth-export-id"
)

// stagedUpload identifies the multipart upload of a staged file. File.Staged holds it as JSON.
type stagedUpload struct {
	UploadID string `json:"upload_id"`
	// ID is the random id that is in the metadata of the object once the upload is completed.
	ID       string       `json:"id"`
	Bytes    int64        `json:"bytes"`
	PartSize int64        `json:"part_size"`
	Parts    []stagedPart `json:"parts"`
}

// stagedPart is an uploaded part. Parts are numbered from 1.
type stagedPart struct {
	ETag string `json:"etag"`
	// CRC32 is the checksum of the part in base64, as in S3's own requests. It is empty if no checksum was sent.
	CRC32 string `json:"crc32,omitempty"`
}

// decodeStaged decodes file.Staged. It returns the zero value if file.Staged is nil, and sink.ErrDamaged if it is not
// valid.
func decodeStaged(file sink.File) (token stagedUpload, err error) {
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

// partSizeOf returns the size of the parts of a file. The last part may be smaller.
func partSizeOf(size int64) int64 {
	needed := (size + maxParts - 1) / maxParts
	return max(minPart, (needed+partStep-1)/partStep*partStep)
}

// partsOf returns the number of parts of a file. An empty file has one empty part.
func partsOf(size, partSize int64) int { return int(max(1, (size+partSize-1)/partSize)) }

// newUpload returns the request that starts an upload.
func (s *Store) newUpload(path string) *s3.CreateMultipartUploadInput {
	in := &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: s.key(path)}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	return in
}

// upload uploads the parts of a file and returns File.Staged. If it fails or is cancelled, it aborts the upload. If the
// server does not implement checksums, upload starts over without them.
func (s *Store) upload(ctx context.Context, path string, file io.ReaderAt, size int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sends := s.sendsChecksums()
	staged, err := s.uploadOnce(ctx, path, file, size)
	if sends && notImplemented(err) {
		s.stopChecksums(ctx)
		staged, err = s.uploadOnce(ctx, path, file, size)
	}
	return staged, err
}

func (s *Store) uploadOnce(ctx context.Context, path string, file io.ReaderAt, size int64) (_ []byte, err error) {
	token := stagedUpload{ID: rand.Text(), Bytes: size, PartSize: partSizeOf(size)}
	token.Parts = make([]stagedPart, partsOf(size, token.PartSize))
	in := s.newUpload(path)
	in.Metadata = map[string]string{idName: token.ID}
	sends := s.sendsChecksums()
	if sends {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	created, err := s.client.CreateMultipartUpload(ctx, in)
	if err != nil {
		return nil, s.failed("start the upload of", path, err)
	}
	token.UploadID = aws.ToString(created.UploadId)
	s.open.Store(token.UploadID, path)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abortLate(ctx, path, token.UploadID))
		}
	}()

	if err := s.uploadParts(ctx, path, file, &token, sends); err != nil {
		if noUpload(err) {
			err = sink.ErrStagedLost // Another process swept the owner's files, most likely after publishing them.
		}
		return nil, s.failed("upload", path, err)
	}
	text, err := json.Marshal(token)
	if err != nil {
		return nil, fmt.Errorf("encode the upload of %s: %w", path, err)
	}
	s.own.Store(token.UploadID, struct{}{})
	return text, nil
}

// uploadParts uploads the parts concurrently and records them in token. The parts of all files together are subject to
// the limit of s.uploading.
func (s *Store) uploadParts(ctx context.Context, path string, file io.ReaderAt, token *stagedUpload, checksums bool) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range token.Parts {
		select {
		case s.uploading <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(group.Wait(), context.Cause(ctx))
		}
		group.Go(func() error {
			defer func() { <-s.uploading }()
			first := int64(i) * token.PartSize
			part := io.NewSectionReader(file, first, min(token.PartSize, token.Bytes-first))
			var err error
			token.Parts[i], err = s.uploadPart(ctx, path, token.UploadID, i+1, part, checksums)
			return err
		})
	}
	return group.Wait()
}

func (s *Store) uploadPart(
	ctx context.Context, path, uploadID string, number int, part *io.SectionReader, checksum bool,
) (stagedPart, error) {
	in := &s3.UploadPartInput{
		Bucket: &s.bucket, Key: s.key(path), UploadId: &uploadID,
		PartNumber: aws.Int32(int32(number)), Body: part, ContentLength: aws.Int64(part.Size()),
	}
	var sent stagedPart
	if checksum {
		hash := crc32.NewIEEE()
		_, err := io.Copy(hash, part)
		if err == nil {
			_, err = part.Seek(0, io.SeekStart)
		}
		if err != nil {
			return sent, fmt.Errorf("read the scratch file: %w", err)
		}
		sent.CRC32 = encodeCRC(hash.Sum32())
		in.ChecksumCRC32 = &sent.CRC32
	}
	out, err := s.client.UploadPart(ctx, in)
	if err != nil {
		return sent, err
	}
	sent.ETag = aws.ToString(out.ETag)
	return sent, nil
}

// abortLate aborts an upload even if ctx is done, because its parts would otherwise be kept, and paid for, until the
// next sweep. It leaves the upload alone if aborting it would do harm; see abortHarms.
func (s *Store) abortLate(ctx context.Context, path, uploadID string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
	defer cancel()
	leave, err := s.abortHarms(ctx, path, func() (bool, error) { return s.hasOther(ctx, path, uploadID) })
	if leave || err != nil {
		return err
	}
	return s.abort(ctx, path, uploadID)
}

// abort aborts an upload. A missing upload is not an error.
func (s *Store) abort(ctx context.Context, path, uploadID string) error {
	s.own.Delete(uploadID)
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &s.bucket, Key: s.key(path), UploadId: &uploadID,
	})
	if err != nil && !noUpload(err) {
		return s.failed("abort the upload of", path, err)
	}
	s.open.Delete(uploadID)
	return nil
}

// abortAndVerify aborts an upload and checks that it is gone. It tries several times, because parts that are being
// uploaded may survive the first abort, and a store may confirm an abort without carrying it out. It leaves the upload
// alone if aborting it would do harm; see abortHarms.
func (s *Store) abortAndVerify(ctx context.Context, path, uploadID string, beside func() (bool, error)) error {
	if leave, err := s.abortHarms(ctx, path, beside); leave || err != nil {
		return err
	}
	for _, wait := range afterNoUpload {
		if err := remote.Pause(ctx, wait); err != nil {
			return err
		}
		if err := s.abort(ctx, path, uploadID); err != nil {
			return err
		}
		if gone, err := s.uploadGone(ctx, path, uploadID); gone || err != nil {
			return err
		}
	}
	return s.failed("abort the upload of", path, errors.New("the store confirmed the abort, but the upload is still there"))
}

// uploadGone reports whether an upload is gone. Because SeaweedFS and S3Proxy return an empty list of parts for a
// missing upload, uploadGone looks for an upload without parts in the list of uploads of the key.
func (s *Store) uploadGone(ctx context.Context, path, uploadID string) (bool, error) {
	page, err := s.client.ListParts(ctx, &s3.ListPartsInput{
		Bucket: &s.bucket, Key: s.key(path), UploadId: &uploadID, MaxParts: aws.Int32(1),
	})
	switch {
	case noUpload(err):
		return true, nil
	case err != nil:
		return false, s.failed("list the parts of", path, err)
	case len(page.Parts) > 0:
		return false, nil
	}
	found, err := s.listed(ctx, []string{path}, func(u openUpload) bool { return u.id == uploadID })
	return len(found) == 0, err
}

// hasOther reports whether there is an upload at the path other than uploadID.
func (s *Store) hasOther(ctx context.Context, path, uploadID string) (bool, error) {
	found, err := s.listed(ctx, []string{path}, func(u openUpload) bool { return u.id != uploadID })
	return len(found) > 0, err
}

// sendsChecksums reports whether parts and documents are sent with checksums.
func (s *Store) sendsChecksums() bool {
	return s.opts.Checksums != ChecksumsWhenRequired && !s.refusesChecksums.Load()
}

// stopChecksums makes the store send no more checksums, and logs a warning the first time. It is called when the server
// has answered that it does not implement checksums.
func (s *Store) stopChecksums(ctx context.Context) {
	if !s.refusesChecksums.Swap(true) {
		s.warn(ctx, "the store does not support checksums of uploads (501), so none are sent",
			"advice", "set "+wording.Setting("s3-checksums").String()+" "+ChecksumsWhenRequired)
	}
}

// warn logs a warning about the store, if there is a logger.
func (s *Store) warn(ctx context.Context, text string, attrs ...any) {
	if s.opts.Log != nil {
		s.opts.Log.WarnContext(ctx, text, append(attrs, "destination", s.String())...) //nolint:sloglint // a complete sentence
	}
}

// encryption returns the encryption to request and the id of the KMS key, or nil if no key is set.
func (s *Store) encryption() (types.ServerSideEncryption, *string) {
	if s.opts.KMSKeyID == "" {
		return types.ServerSideEncryption(s.opts.SSE), nil
	}
	return types.ServerSideEncryption(s.opts.SSE), aws.String(s.opts.KMSKeyID)
}
