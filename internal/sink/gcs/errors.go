package gcs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

// maxErrorBody is the maximum number of bytes that are read from the body of an error response.
const maxErrorBody = 64 << 10

// serviceError is a response with an error status.
type serviceError struct {
	status     int
	reason     string // the service's code
	message    string
	retryAfter time.Duration
}

func (e *serviceError) Error() string {
	message := remote.Shorten(e.message)
	switch {
	case message == "":
		return statusText(e.status)
	case e.reason == "":
		return fmt.Sprintf("%d: %s", e.status, message)
	}
	return e.reason + ": " + message
}

// isDamaged reports whether the service rejected an upload because the checksum differs.
func (e *serviceError) isDamaged() bool {
	return e.status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.message), "crc32c")
}

// sendError is the error of a request that got no response.
type sendError struct{ cause error }

func (e *sendError) Error() string {
	if errors.Is(e.cause, io.EOF) {
		return "the service closed the connection"
	}
	return e.cause.Error()
}
func (e *sendError) Unwrap() error { return e.cause }

// bodyError reports that the body of a response was cut short or cannot be decoded.
type bodyError struct {
	status int
	cause  error
}

func (e *bodyError) Error() string {
	if errors.Is(e.cause, io.EOF) || errors.Is(e.cause, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("the response was cut short (status %d)", e.status)
	}
	return fmt.Sprintf("cannot decode the response (status %d): %v", e.status, e.cause)
}
func (e *bodyError) Unwrap() error { return e.cause }

// requestError is the error of a request whose last attempt failed.
type requestError struct {
	operation operation
	attempts  int
	cause     error
}

func (e *requestError) Error() string { return string(e.operation) + ": " + e.cause.Error() }
func (e *requestError) Unwrap() error { return e.cause }

// withoutURL removes the URL from an error, because it may contain the id of an upload.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// describe returns a *requestError as one line that says what happened and what to do. errors.Is and errors.As still
// find the cause. It returns other errors unchanged.
func (s *Store) describe(err error) error {
	request, ok := errors.AsType[*requestError](err)
	_, described := errors.AsType[*remote.DescribedError](err)
	if !ok || described {
		return err
	}
	for _, canceled := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, canceled) {
			return canceled
		}
	}
	text := remote.Shorten(request.cause.Error())
	if credential, ok := errors.AsType[*credentialError](err); ok {
		text = credential.text
	} else if what, step := s.explain(request); what != "" {
		if s.endpoint != DefaultEndpoint {
			what += " at " + s.endpoint
		}
		text = fmt.Sprintf("%s (%s): %s", what, text, step)
	}
	if request.attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", request.attempts)
	}
	return &remote.DescribedError{Text: text, Cause: err, Status: statusOf(err)}
}

// explain returns the cause of an error and the remedy. Both are "" if there is no advice.
func (s *Store) explain(err *requestError) (what, step string) {
	answer, answered := errors.AsType[*serviceError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noHost := errors.AsType[*net.DNSError](err)
	_, unsent := errors.AsType[*sendError](err)
	where := "check " + wording.Setting("gcs-endpoint").String() + " and the network"
	if s.endpoint == DefaultEndpoint {
		where = "check the network"
	}
	switch {
	case noBucket(err):
		return "bucket " + s.bucket + " not found", "check " + wording.Setting("dest").String() + ", or create the bucket"
	case throttled(err):
		return "throttled by the service", "run fewer processes at once, or try again later"
	case answered && answer.status == http.StatusUnauthorized:
		return "credentials rejected", "renew them: the key of the service account, or gcloud auth application-default login"
	case answered && answer.reason == "accountDisabled":
		return "access denied", "enable billing for the bucket's project"
	case answered && answer.reason == "insufficientPermissions":
		return "access denied", "the access token has too few scopes: run under a service account with the scope " + scope
	case answered && answer.status == http.StatusForbidden:
		return "access denied", "allow " + permission(err.operation, answer.message) + " to these credentials, " +
			"as the role Storage Object User (roles/storage.objectUser) does, or check the bucket's name"
	case untrusted:
		return "certificate not trusted", "set SSL_CERT_FILE to a file with the certificates to trust"
	case noHost:
		return "host not found", where
	case unsent && !errors.Is(err, remote.ErrStalled):
		return "connection failed", where
	}
	return "", ""
}

// throttled reports whether the service asked for fewer requests.
func throttled(err error) bool {
	e, ok := errors.AsType[*serviceError](err)
	return ok && (e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable ||
		e.status == http.StatusForbidden && (e.reason == "rateLimitExceeded" || e.reason == "userRateLimitExceeded"))
}

// permissionName matches the name of a permission in a message of the service.
var permissionName = regexp.MustCompile(`storage\.[a-zA-Z]+\.[a-zA-Z]+`)

// permission returns the permissions that a denied operation needs.
func permission(op operation, message string) string {
	if name := permissionName.FindString(message); name != "" {
		return name
	}
	switch op {
	case listObjects:
		return "storage.objects.list"
	case getObject:
		return "storage.objects.get"
	case deleteObject:
		return "storage.objects.delete"
	case rewriteObject:
		return "storage.objects.get, storage.objects.create and storage.objects.delete"
	default:
		return "storage.objects.create and storage.objects.delete"
	}
}

// statusOf returns the HTTP status of the response that caused an error, or 0 if there was no response.
func statusOf(err error) int {
	if e, ok := errors.AsType[*serviceError](err); ok {
		return e.status
	}
	return 0
}

// noBucket reports whether an error says that the bucket does not exist.
func noBucket(err error) bool {
	e, ok := errors.AsType[*serviceError](err)
	return ok && e.status == http.StatusNotFound && strings.Contains(e.message, "bucket does not exist")
}

// noObject reports whether an error says that the object, or its generation, does not exist. It returns false if the
// bucket is missing.
func noObject(err error) bool { return statusOf(err) == http.StatusNotFound && !noBucket(err) }

// refused reports whether an error says that the condition of a request does not hold.
func refused(err error) bool { return statusOf(err) == http.StatusPreconditionFailed }
