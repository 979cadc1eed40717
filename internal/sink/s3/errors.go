package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

// failed adds the operation and the object to an error and describes it in one line.
func (s *Store) failed(verb, path string, err error) error {
	return fmt.Errorf("%s %s%s/%s%s: %w", verb, Scheme, s.bucket, s.prefix, path, s.describe(err))
}

// describe returns an error of the SDK as one line that says what happened and, if there is advice, what to do. It
// omits request ids and the URL of the request, but includes a custom endpoint. errors.Is and errors.As still find the
// cause. It returns other errors unchanged.
func (s *Store) describe(err error) error {
	_, sdk := errors.AsType[*smithy.OperationError](err)
	_, described := errors.AsType[*remote.DescribedError](err)
	if !sdk || described {
		return err
	}
	for _, canceled := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, canceled) {
			return canceled
		}
	}
	text := remote.Shorten(reason(err))
	if what, step := s.explain(err); what != "" {
		if s.endpoint != "" {
			what += " at " + s.endpoint
		}
		text = fmt.Sprintf("%s (%s): %s", what, text, step)
	}
	if e, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		text += fmt.Sprintf(" (%d attempts)", e.Attempt)
	}
	return &remote.DescribedError{Text: text, Cause: err, Status: statusOf(err)}
}

// explain returns the cause of an error and the remedy. Both are "" if there is no advice.
func (s *Store) explain(err error) (what, step string) {
	code, status := codeOf(err), statusOf(err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noHost := errors.AsType[*net.DNSError](err)
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	const region, endpoint = wording.Setting("s3-region"), wording.Setting("s3-endpoint")
	where := "check " + endpoint.String() + " and the network"
	if s.endpoint == "" {
		where = "check " + region.String() + " and the network"
	}
	switch {
	case code == "NoSuchBucket":
		return "bucket " + s.bucket + " not found", "check " + wording.Setting("dest").String() + ", or create the bucket"
	case code == "SignatureDoesNotMatch", code == "InvalidAccessKeyId":
		return "credentials rejected", "check the access key ID and the secret access key"
	case code == "ExpiredToken", code == "InvalidToken", code == "ExpiredTokenException", code == "TokenRefreshRequired":
		return "credentials expired", "renew them"
	case code == "RequestTimeTooSkewed":
		return "clock skew", "set this machine's clock"
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException",
		status == http.StatusMovedPermanently:
		return "wrong region", "the bucket is in another region: set " + region.String()
	case status == http.StatusForbidden:
		return "access denied", "allow " + permission(err) + " to these credentials"
	case throttled(err) || status == http.StatusTooManyRequests:
		return "throttled by the store", "run fewer processes at once, or try again later"
	case untrusted:
		return "certificate not trusted", "set AWS_CA_BUNDLE to a file with the certificates to trust"
	case noHost:
		return "host not found", where
	case unsent:
		return "connection failed", where
	}
	return "", ""
}

func throttled(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// permission returns the actions that must be allowed for a denied operation.
func permission(err error) string {
	if strings.Contains(reason(err), "kms:") {
		return "kms:GenerateDataKey and kms:Decrypt on the KMS key"
	}
	e, _ := errors.AsType[*smithy.OperationError](err)
	switch operation := e.Operation(); operation {
	case "DeleteObject", "AbortMultipartUpload":
		return "s3:" + operation
	case "GetObject", "HeadObject":
		return "s3:GetObject and s3:ListBucket" // Without s3:ListBucket, S3 answers 403 for missing objects.
	case "ListObjectsV2":
		return "s3:ListBucket"
	case "ListMultipartUploads":
		return "s3:ListBucketMultipartUploads"
	case "ListParts":
		return "s3:ListMultipartUploadParts"
	default:
		return "s3:PutObject"
	}
}

// reason returns the message of the store or of the operating system. If there is no such message, it describes the
// error.
func reason(err error) string {
	status := statusOf(err)
	api, isAPI := errors.AsType[smithy.APIError](err)
	body, isBody := errors.AsType[*smithy.DeserializationError](err)
	send, isSend := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case isAPI && strings.TrimSpace(api.ErrorMessage()) != "":
		return api.ErrorCode() + ": " + api.ErrorMessage()
	case isAPI:
		return fmt.Sprintf("%s (status %d)", api.ErrorCode(), status)
	case isSend && errors.Is(send.Err, io.EOF):
		return "the store closed the connection"
	case isSend:
		return send.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the response was cut short (status %d)", status)
	case isBody:
		return fmt.Sprintf("cannot decode the response (status %d): %v", status, body.Err)
	case status != 0:
		return fmt.Sprintf("the store answered %d %s", status, http.StatusText(status))
	}
	e, _ := errors.AsType[*smithy.OperationError](err)
	return e.Err.Error()
}

// statusOf returns the HTTP status of the response that caused an error, or 0 if there was no response.
func statusOf(err error) int {
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// codeOf returns the store's code for an error, or "" if there is no code.
func codeOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// noObject reports whether an error says that there is no object at the key. It returns false if the bucket is missing.
func noObject(err error) bool {
	switch codeOf(err) {
	case "NoSuchKey", "NotFound":
		return true
	case "NoSuchBucket", "NoSuchUpload":
		return false
	}
	return statusOf(err) == http.StatusNotFound
}

// notImplemented reports whether an error says that the store does not support the request, or one of its headers.
func notImplemented(err error) bool {
	return codeOf(err) == "NotImplemented" || statusOf(err) == http.StatusNotImplemented
}

// noUpload reports whether an error from a request about an upload means that the upload is gone. Some stores use codes
// other than NoSuchUpload, such as NoSuchKey. It returns false if the bucket is missing.
func noUpload(err error) bool {
	code := codeOf(err)
	return code == "NoSuchUpload" || statusOf(err) == http.StatusNotFound && code != "NoSuchBucket"
}
