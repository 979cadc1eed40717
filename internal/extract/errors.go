package extract

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.org/growthexport/internal/wording"
)

// Reasons why a call fails, for errors.Is.
var (
	// ErrDenied reports a 403: no current agreement covers the school or district. It is final for the call.
	ErrDenied = errors.New("access denied: no current agreement covers it")
	// ErrRefused reports that the service does not issue a token, or rejects every token. It ends the run. Other packages
	// also use it if the service denies access to all schools.
	ErrRefused = errors.New("credentials rejected by the service")
	// ErrGaveUp reports that the service kept failing for GiveUpAfter, or requested a longer pause. It ends the run.
	ErrGaveUp = errors.New("gave up on the service")
	// ErrTokenEndpoint reports that no attempt got a token from the token endpoint. It ends the run.
	ErrTokenEndpoint = errors.New("cannot get an access token")
)

// EndsRun reports whether err means that no further call can succeed.
func EndsRun(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrGaveUp) || errors.Is(err, ErrTokenEndpoint)
}

// errNotRetried is the reason why a call had fewer attempts than --retries allows.
var errNotRetried = errors.New("not tried again, because this operation fails for every school")

// NotFound reports whether err is from a call that got 404 in its last attempt. Stray 404s on existing resources
// disappear on retry (observed), so a 404 that was not retried does not count.
func NotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound && !errors.Is(err, errNotRetried) && !EndsRun(err)
}

// Error is the error of a call that failed. Its text is one line that says where it failed, what happened, and what to
// do. It does not contain URLs, queries, cursors, bodies or tokens.
type Error struct {
	Operation string
	Template  string
	School    string // bid, empty unless the call was for a school
	District  string // bid, empty unless the call was for a district
	Host      string // the host of the token endpoint; empty for other calls
	Status    int    // of the last response; 0 if there was none
	Code      string // the service's own error code, unlistedCode, or empty
	Attempts  int    // attempts of the call, including attempts while the circuit breaker was open
	Err       error  // what happened; never nil
}

// Error returns one line with the operation, the school or district, the route, the reason, and details such as the
// status and the number of attempts.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Operation)
	switch {
	case e.School != "":
		b.WriteString(" of school " + printable(e.School))
	case e.District != "":
		b.WriteString(" of district " + printable(e.District))
	}
	if e.Template != "" {
		b.WriteString(" (" + e.Template + ")")
	}
	b.WriteString(": " + e.Err.Error())
	var details []string
	if e.Host != "" {
		details = append(details, "host "+e.Host)
	}
	if e.Status != 0 {
		details = append(details, "status "+strconv.Itoa(e.Status))
	}
	switch e.Code {
	case "":
	case unlistedCode:
		details = append(details, e.Code)
	default:
		details = append(details, "code "+e.Code)
	}
	if e.Attempts > 1 {
		details = append(details, strconv.Itoa(e.Attempts)+" attempts")
	}
	if len(details) > 0 {
		b.WriteString(" (" + strings.Join(details, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// printable returns a bid as part of a line of text. A bid can be any text, so printable quotes it if it contains
// spaces, quotes or characters that cannot be printed.
func printable(bid string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == unicode.ReplacementChar }
	if strings.ContainsFunc(bid, odd) {
		return strconv.Quote(bid)
	}
	return bid
}

// unreadable marks an error as due to a body that cannot be used.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// Unreadable marks an error of an accept function as a transfer error, because the body is not JSON, was cut short, or
// is an empty JSON string. The call is then attempted again. The text of err must not quote the body.
func Unreadable(err error) error {
	if err == nil {
		return nil
	}
	return unreadable{err}
}

// attemptError is the error of an attempt that got no complete or usable response. Unlike errors of net/http, its text
// does not quote received data.
type attemptError struct {
	status int    // 0 if the attempt failed before the header of the response was received
	class  string // the key in Stats.ByStatus; if it is empty, the key is the status
	cause  string // a few words
	advice string
	final  bool // reports whether another attempt would fail in the same way
}

func (e *attemptError) Error() string { return e.cause + "; " + e.advice }

// Classes of Stats.ByStatus besides status codes.
const (
	classTimeout    = "timeout"    // no complete response within RequestTimeout
	classNetwork    = "network"    // no connection, a connection that was reset, or a body that was cut short
	classUnreadable = "unreadable" // a 200 whose body cannot be used
	classCancelled  = "cancelled"  // the run ended while the request was in flight
)

// failure says why one attempt failed.
type failure struct {
	status int
	code   string
	err    error
	retry  bool // another attempt may succeed
	isPage bool // the body is a web page
}

// notThisService is the end of the reason for a failure if the body is a web page. Advice may follow it.
const notThisService = ", but a web page of a proxy, or of a site that is not the service; "

// isWebPage reports whether the header of a response declares a web page.
func isWebPage(header http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(header.Get("Content-Type"))), "text/html")
}

// failureOf returns the failure of an attempt without a complete response. An error that ends the run may contain the
// attemptError of a token request.
func failureOf(err error) *failure {
	if e, ok := errors.AsType[*attemptError](err); ok && !EndsRun(err) {
		return &failure{status: e.status, err: e, retry: !e.final}
	}
	return &failure{err: err}
}

// statusFailure returns the failure of an attempt with a status other than 200. It decides what the status means for
// the call (specification, Errors).
func statusFailure(status int, body []byte, req *request, hideCode bool) *failure {
	f := &failure{status: status, retry: retryable(status)}
	if !hideCode {
		f.code = errorCode(body)
	}
	first := req.call.School == "" && req.call.District == "" // no earlier call has shown that the base URL is correct
	text := "the service rejected the request; " + checkBaseURL + " and the version of this tool"
	switch {
	case status == http.StatusForbidden:
		f.err = ErrDenied
		return f
	case status == http.StatusUnauthorized:
		// New tokens were rejected for this request, but other requests may succeed with them.
		f.retry = true
		text = "new access tokens are rejected for this request; check the app's permissions"
	case status == http.StatusNotFound && first:
		text = "not found; " + checkBaseURL + ", or run again later"
	case status == http.StatusNotFound:
		text = "not found; run again later"
	case status == http.StatusTooManyRequests:
		text = fmt.Sprintf("throttled by the service; lower %s or %s, then run again", wording.Setting("rate"), wording.Setting("concurrency"))
	case f.retry && first:
		text = "the service is failing; run again later, or " + checkBaseURL
	case f.retry:
		text = "the service is failing; run again later"
	case status == http.StatusProxyAuthRequired: // with a base URL that is plain http, the proxy itself answers
		text = "the proxy rejected the user or password; put both into HTTP_PROXY: http://user:password@host:port"
	case status >= 300 && status < 400:
		text = "redirects are not followed; " + checkBaseURL
	}
	f.err = errors.New(text)
	return f
}

// retryable reports whether the same request may get a different status later. Stray 404s on existing resources have
// been observed (Paging, limits, errors).
func retryable(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return status >= 500 && status < 600
	}
}

// overloaded reports whether an attempt failed because the service lacked capacity or was too slow.
func (f *failure) overloaded() bool {
	e, ok := errors.AsType[*attemptError](f.err)
	return ok && e.class == classTimeout || isOverload(f.status)
}

// cause returns the reason for the failure in a few words.
func (f *failure) cause() string {
	if e, ok := errors.AsType[*attemptError](f.err); ok {
		return e.cause
	}
	switch f.status {
	case 0:
		return f.err.Error()
	case http.StatusOK:
		if f.isPage {
			return "a web page instead of data"
		}
		return "unreadable response"
	case http.StatusTooManyRequests:
		return "throttled (429)"
	default:
		return fmt.Sprintf("status %d", f.status)
	}
}

// fail returns the error of a call whose last attempt failed with f.
func (c *Call) fail(f *failure, attempts int) *Error {
	return &Error{
		Operation: c.Operation, Template: c.Template, School: c.School, District: c.District,
		Status: f.status, Code: f.code, Attempts: attempts, Err: f.err,
	}
}

// failEarly returns the error of a call that is not retried, because its operation fails for every school.
func (c *Call) failEarly(f *failure, attempts int) *Error {
	e := c.fail(f, attempts)
	e.Err = fmt.Errorf("%w; %w", f.err, errNotRetried)
	return e
}

// gaveUp returns the error of requests that are still waiting after GiveUpAfter.
func gaveUp(limit time.Duration, lastCause string) error {
	return fmt.Errorf("%w: no request succeeded for %s (%s), last failure: %s",
		ErrGaveUp, shortDuration(limit), giveUpAfter, lastCause)
}

// shortDuration formats a duration without trailing zero units, for example as 30m instead of 30m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
