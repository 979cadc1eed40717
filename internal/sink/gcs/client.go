package gcs

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.org/growthexport/internal/sink/remote"
)

// maxRetryAfter is the maximum wait that the service can request.
const maxRetryAfter = 5 * time.Minute

// operation is the name of an API method, for errors.
type operation string

const (
	insertObject  operation = "insert"
	getObject     operation = "get"
	listObjects   operation = "list"
	deleteObject  operation = "delete"
	rewriteObject operation = "rewrite"
)

// call is a request to the service.
type call struct {
	operation operation
	method    string
	path      string // escaped, below the endpoint
	query     url.Values
	header    http.Header
	// body returns the body for an attempt, which has size bytes. It is nil if the request has no body.
	body func() io.Reader
	size int64
	// session is true for a request to the session URL of an upload, which needs no token.
	session bool
	// short is true if attempts and waits are limited because a user is waiting.
	short bool
}

// answer is a response of the service.
type answer struct {
	status int
	header http.Header
	body   io.ReadCloser
}

// request sends a request, with retries, and calls use with the response. The function use must close the body, and may
// be called again if the body was cut short. If the last attempt fails, request returns a *requestError.
func (s *Store) request(ctx context.Context, c call, use func(answer) error) error {
	bounds := s.limits
	if c.short {
		bounds = limits{min(bounds.attempts, remote.CheckAttempts), min(bounds.maxBackoff, remote.CheckMaxBackoff)}
	}
	renewed := false
	for attempt := 1; ; attempt++ {
		err := s.attempt(ctx, c, use)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case statusOf(err) == http.StatusUnauthorized && s.tokens != nil && !renewed:
			renewed = true // The token may have expired in transit, or may have been revoked.
			s.tokens.renew()
			continue
		case attempt >= bounds.attempts || !retryable(err):
			return &requestError{operation: c.operation, attempts: attempt, cause: err}
		}
		if err := s.pause(ctx, attempt, err, bounds.maxBackoff); err != nil {
			return err
		}
	}
}

// pause waits before a request is sent again. The wait depends on the attempt and on the response.
func (s *Store) pause(ctx context.Context, attempt int, cause error, maxBackoff time.Duration) error {
	wait := remote.Backoff(attempt, throttled(cause), maxBackoff)
	if e, ok := errors.AsType[*serviceError](cause); ok {
		wait = max(wait, min(e.retryAfter, maxRetryAfter))
	}
	return remote.Pause(ctx, wait)
}

// attempt sends a request once and calls use with a response that is not an error.
func (s *Store) attempt(ctx context.Context, c call, use func(answer) error) error {
	target := s.endpoint + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	var body io.Reader
	if c.body != nil {
		body = c.body()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return withoutURL(err)
	}
	req.ContentLength = c.size
	if c.size == 0 {
		req.Body = http.NoBody
	}
	maps.Copy(req.Header, c.header)
	if s.tokens != nil && !c.session {
		if err := s.tokens.authorize(req); err != nil {
			return err
		}
	}
	resp, err := s.client.Do(req) //nolint:bodyclose // use or readError closes it.
	if err != nil {
		return &sendError{err}
	}
	got := answer{resp.StatusCode, resp.Header, resp.Body}
	if got.status >= http.StatusBadRequest {
		return readError(got)
	}
	return use(got)
}

// decode returns a function that decodes the body of a response into a value and closes the body.
func decode(into any) func(answer) error {
	return func(got answer) error {
		err := json.NewDecoder(got.body).Decode(into)
		_ = got.body.Close() // The document has been read.
		if err != nil {
			return &bodyError{status: got.status, cause: err}
		}
		return nil
	}
}

// discard closes the body of a response without using it.
func discard(got answer) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(got.body, maxErrorBody)) // This allows the connection to be used again.
	_ = got.body.Close()                                               // The body is not used.
	return nil
}

// readError returns an error response of the service as a *serviceError, and closes the body.
func readError(got answer) error {
	data, _ := io.ReadAll(io.LimitReader(got.body, maxErrorBody)) // Part of a message is better than nothing.
	_ = got.body.Close()                                          // The body has been read.
	failure := &serviceError{status: got.status, retryAfter: retryAfter(got.header.Get("Retry-After"))}
	var document struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &document) == nil {
		failure.message = document.Error.Message
		for _, e := range document.Error.Errors {
			failure.reason = cmp.Or(failure.reason, e.Reason)
		}
		return failure
	}
	failure.message = string(data) // Errors of downloads are plain text, and proxies use their own formats.
	return failure
}

// retryAfter returns the wait that a response requests, or 0 if it does not request a wait.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return time.Until(at)
	}
	return 0
}

// retryable reports whether a request that failed with this error may succeed if it is sent again.
func retryable(err error) bool {
	if e, ok := errors.AsType[*serviceError](err); ok {
		return retryableStatus(e.status) || throttled(err) || e.isDamaged()
	}
	if e, ok := errors.AsType[*credentialError](err); ok {
		return e.temporary
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, sent := errors.AsType[*sendError](err)
	_, cut := errors.AsType[*bodyError](err)
	return !untrusted && (sent || cut)
}

// retryableStatus reports whether a request should be retried after this status, according to Google's documentation.
func retryableStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// statusText returns a status in words.
func statusText(status int) string {
	return fmt.Sprintf("the service answered %d %s", status, http.StatusText(status))
}
