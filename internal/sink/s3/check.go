package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// checkFolder is the folder in which checks start uploads. Only tryAbort completes an upload there, and it removes the
// object again.
const checkFolder = "_check/"

// Check verifies that the credentials are valid, that the bucket can be listed, and that uploads can be started and
// aborted under the prefix. An upload is not visible until it is completed, so readers see nothing of the check. Check
// also aborts the uploads that a killed process left behind in Check or ListsStaged.
func (s *Store) Check(ctx context.Context) error {
	err := s.checkBucket(ctx)
	if err == nil {
		err = s.abortChecks(ctx)
	}
	if err == nil {
		err = s.checkUpload(ctx)
	}
	if err != nil {
		return fmt.Errorf("destination %s: %w", s, err)
	}
	return nil
}

// CheckReading verifies, within seconds, that the credentials are valid and that the bucket exists. It succeeds even if
// the credentials do not allow listing the bucket, because they may still allow reading.
func (s *Store) CheckReading(ctx context.Context) error {
	if err := s.checkBucket(ctx); err != nil && codeOf(err) != "AccessDenied" {
		return fmt.Errorf("destination %s: %w", s, err)
	}
	return nil
}

// checkBucket checks that there are credentials and that they can list the objects under the prefix.
func (s *Store) checkBucket(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.creds != nil {
		if _, err := s.creds.Retrieve(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &remote.DescribedError{
				Text: "no AWS credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, " +
					"or run under a role",
				Cause: err,
			}
		}
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, MaxKeys: aws.Int32(1)}
	if s.prefix != "" {
		in.Prefix = &s.prefix
	}
	if _, err := s.client.ListObjectsV2(ctx, in, s.shortRetries); err != nil {
		return fmt.Errorf("list objects: %w", s.describe(err))
	}
	return nil
}

// abortChecks aborts the uploads of checks that were killed. It may also abort the upload of a running check, which
// does no harm.
func (s *Store) abortChecks(ctx context.Context) error {
	for upload, err := range s.uploads(ctx, s.prefix+checkFolder, s.shortRetries) {
		if err == nil {
			err = s.abort(ctx, upload.path, upload.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUpload checks that an upload can be started and aborted.
func (s *Store) checkUpload(ctx context.Context) error {
	path := checkFolder + rand.Text()
	created, failed := s.client.CreateMultipartUpload(ctx, s.newUpload(path), s.shortRetries)
	if err := s.endCheck(ctx, path, created, failed); err != nil && failed == nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("start an upload: %w", s.describe(failed))
	}
	return nil
}

// endCheck aborts the upload that a check started at path. If any attempt to start it failed, endCheck also aborts all
// other uploads at path, because the store may have carried out an attempt whose response was lost.
func (s *Store) endCheck(ctx context.Context, path string, created *s3.CreateMultipartUploadOutput, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
	defer cancel()
	if failed == nil {
		if err := s.abort(ctx, path, aws.ToString(created.UploadId)); err != nil {
			return err
		}
		if attempts, ok := retry.GetAttemptResults(created.ResultMetadata); ok && len(attempts.Results) == 1 {
			return nil
		}
	}
	for upload, err := range s.uploads(ctx, s.prefix+path) {
		if err == nil {
			err = s.abort(ctx, upload.path, upload.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ListsStaged starts an upload and reports whether a listing of the destination contains it, because MinIO and some
// other stores list uploads only by exact key, not by prefix. If a listing has already contained an upload, ListsStaged
// does not start one. If a concurrent Check aborts the upload, ListsStaged starts another. If the process is killed,
// the next Check aborts the upload.
func (s *Store) ListsStaged(ctx context.Context) (bool, error) {
	return s.listing.Ask(func() (listed bool, err error) {
		for range 3 {
			var gone bool
			if listed, gone, err = s.listsUpload(ctx, checkFolder+rand.Text()); !gone {
				break
			}
		}
		return listed, err
	})
}

// abortHarms reports whether aborting an upload would remove the object at its path, or the parts of another upload, as
// on S3Mock. It tests this only if there is an object at the path or beside reports that there is another upload.
func (s *Store) abortHarms(ctx context.Context, path string, beside func() (bool, error)) (bool, error) {
	if hurts, known := s.abortHurts.Known(); known && !hurts || s.endpoint == "" || strings.HasPrefix(path, checkFolder) {
		return false, nil
	}
	other, err := beside()
	if err == nil && !other {
		_, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
		if other = err == nil; noObject(err) {
			err = nil
		}
	}
	if err != nil {
		return false, s.failed("stat", path, err)
	}
	if !other {
		return false, nil
	}
	return s.AbortRemoves(ctx)
}

// AbortRemoves tests whether aborting an upload removes an object at its path that another upload created. AWS is not
// tested, because aborting an upload never removes an object there.
func (s *Store) AbortRemoves(ctx context.Context) (bool, error) {
	if s.endpoint == "" {
		return false, nil
	}
	return s.abortHurts.Ask(func() (bool, error) { return s.tryAbort(ctx, checkFolder+rand.Text()) })
}

// tryAbort starts two uploads of a path, completes the first, aborts the second, and reports whether the abort has
// removed the object.
func (s *Store) tryAbort(ctx context.Context, path string) (removed bool, err error) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
		defer cancel()
		err = errors.Join(err, s.SweepAt(ctx, []string{path}), s.Remove(ctx, path))
	}()
	content := strings.NewReader("growth-export")
	var tokens [2]sink.File
	for i := range tokens {
		tokens[i] = sink.File{Path: path, Bytes: content.Size()}
		if tokens[i].Staged, err = s.upload(ctx, path, content, content.Size()); err != nil {
			return false, err
		}
	}
	if err := s.Commit(ctx, "", tokens[0]); err != nil {
		return false, err
	}
	if err := s.Abort(ctx, "", tokens[1]); err != nil {
		return false, err
	}
	there, err := s.isCommitted(ctx, tokens[0], "", atOnce)
	if err != nil {
		return false, s.failed("stat", path, err)
	}
	if !there {
		s.warn(ctx, "when an upload is aborted, the store also removes the file at its path and other uploads of that file: such uploads are left until the store expires them")
	}
	return !there, nil
}

// listsUpload starts an upload at path and reports whether a listing contains it. If the listing does not, gone reports
// whether another process has aborted the upload.
func (s *Store) listsUpload(ctx context.Context, path string) (listed, gone bool, err error) {
	created, failed := s.client.CreateMultipartUpload(ctx, s.newUpload(path))
	defer func() {
		if ended := s.endCheck(ctx, path, created, failed); failed == nil {
			err = errors.Join(err, ended)
		}
	}()
	if failed != nil {
		return false, false, s.failed("start the upload of", path, failed)
	}
	for upload, err := range s.uploads(ctx, s.prefix) {
		if err != nil {
			return false, false, err
		}
		if upload.path == path {
			return true, false, nil
		}
	}
	gone, err = s.uploadGone(ctx, path, aws.ToString(created.UploadId))
	return false, gone, err
}

// Encryption returns the encryption that the store reports for an object, or "" if it does not report any.
func (s *Store) Encryption(ctx context.Context, path string) (string, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return "", err
	}
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	if err != nil {
		return "", s.failed("read the properties of", path, err)
	}
	return string(head.ServerSideEncryption), nil
}
