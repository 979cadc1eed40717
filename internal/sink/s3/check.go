package s3

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// checkFolder is where Check starts uploads, none of which is ever completed.
const checkFolder = "_check/"

// Check proves that there are credentials, that the bucket is there and can be
// listed, and that uploads can be started and aborted under the prefix. It
// leaves nothing behind, for an upload that is started is no object, and clears
// away what an earlier one left that was killed.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("destination %s: %w", s, err)
	}
	return nil
}

// CheckReading proves that there are credentials and that the bucket is there,
// within seconds. Whoever may not list it may still read, and passes.
func (s *Store) CheckReading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.reach(ctx); err != nil && codeOf(err) != "AccessDenied" {
		return fmt.Errorf("destination %s: %w", s, err)
	}
	return nil
}

// reach finds credentials and lists the prefix.
func (s *Store) reach(ctx context.Context) error {
	if s.creds != nil {
		if _, err := s.creds.Retrieve(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &requestError{
				text: "no AWS credentials are found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
					"or AWS_PROFILE, or run under a role",
				cause: err,
			}
		}
	}
	var prefix *string
	if s.prefix != "" {
		prefix = &s.prefix
	}
	_, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: prefix, MaxKeys: aws.Int32(1),
	}, s.quickly)
	if err != nil {
		return s.explain("list objects", "s3:ListBucket", err)
	}
	return nil
}

func (s *Store) check(ctx context.Context) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	left, err := s.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{
		Bucket: &s.bucket, Prefix: s.key(checkFolder),
	}, s.quickly)
	if err != nil {
		return s.explain("list uploads", "s3:ListBucketMultipartUploads", err)
	}
	// A probe that is still somebody's is not missed when it is gone.
	for i := range left.Uploads {
		u := &left.Uploads[i]
		path, _ := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
		if err := s.abort(ctx, path, aws.ToString(u.UploadId)); err != nil {
			return s.explain("abort uploads", "s3:AbortMultipartUpload", err)
		}
	}
	return s.probe(ctx)
}

// probe starts an upload and aborts it.
func (s *Store) probe(ctx context.Context) error {
	path := checkFolder + rand.Text()
	in := &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: s.key(path)}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	created, failed := s.client.CreateMultipartUpload(ctx, in, s.quickly)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpPatience)
	defer cancel()
	if failed == nil {
		if err := s.abort(ctx, path, aws.ToString(created.UploadId)); err != nil {
			return s.explain("abort uploads", "s3:AbortMultipartUpload", err)
		}
		if attempts, ok := retry.GetAttemptResults(created.ResultMetadata); ok && len(attempts.Results) == 1 {
			return nil
		}
	}
	// An attempt whose answer was lost may have started one, too.
	for upload, err := range s.uploads(ctx, s.prefix+path) {
		if err == nil {
			err = s.abort(ctx, upload.path, upload.id)
		}
		if err != nil && failed == nil {
			return s.explain("abort uploads", "s3:AbortMultipartUpload", err)
		}
	}
	if failed != nil {
		return s.explain("start uploads", "s3:PutObject", failed)
	}
	return nil
}

// Encryption is how the store says that it has encrypted an object; empty if it
// says nothing of it.
func (s *Store) Encryption(ctx context.Context, path string) (string, error) {
	if err := ready(ctx, path); err != nil {
		return "", err
	}
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(path)})
	if err != nil {
		return "", s.failed("read the properties of", path, err)
	}
	return string(head.ServerSideEncryption), nil
}

// explain says in one line what a user has to do about an error.
func (s *Store) explain(what, permission string, err error) error {
	var text string
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noHost := errors.AsType[*net.DNSError](err)
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	switch code := codeOf(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return brief(err)
	case code == "NoSuchBucket":
		text = "there is no bucket " + s.bucket + s.at()
	case code == "SignatureDoesNotMatch", code == "InvalidAccessKeyId":
		text = "the store refuses the credentials (" + code + "): check the access key and its secret"
	case code == "ExpiredToken", code == "InvalidToken", code == "ExpiredTokenException", code == "TokenRefreshRequired":
		text = "the credentials have expired (" + code + "): renew them"
	case code == "RequestTimeTooSkewed":
		text = "the store refuses the credentials: this machine's clock is wrong (" + code + ")"
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException",
		statusOf(err) == http.StatusMovedPermanently:
		text = "the bucket is in another region: set --s3-region (" + brief(err).Error() + ")"
	case statusOf(err) == http.StatusForbidden:
		text = fmt.Sprintf("these credentials may not %s there (%s): allow %s", what, code, permission)
	case certificate:
		text = "the store's certificate is not trusted" + s.at() + ": " + brief(err).Error() +
			"; AWS_CA_BUNDLE names a file of certificates to trust"
	case noHost:
		text = "the store cannot be found" + s.at() + ": " + brief(err).Error() + s.whereToLook()
	case unsent:
		text = "the store cannot be reached" + s.at() + ": " + brief(err).Error() + s.whereToLook()
	default:
		text = "cannot " + what + ": " + brief(err).Error()
	}
	return &requestError{text: text, cause: err}
}

// whereToLook is what to do about a store that does not answer.
func (s *Store) whereToLook() string {
	if s.endpoint == "" {
		return "; check --s3-region and the network"
	}
	return "; check --s3-endpoint and the network"
}

// at says where the store is, if that is not AWS.
func (s *Store) at() string {
	if s.endpoint == "" {
		return ""
	}
	return " at " + s.endpoint
}
