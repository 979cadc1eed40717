package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// How a call can end apart from its own failure. Test with errors.Is.
var (
	// ErrDenied is a 403 on a resource: the agreement with that school or district does not exist or has ended. Final for it.
	ErrDenied = errors.New("access denied, there is no agreement that covers it or it has ended")
	// ErrRefused ends the run: the service accepts no token of ours, or gives us none.
	ErrRefused = errors.New("the service refused our credentials")
	// ErrGaveUp ends the run: the service was in trouble for longer than --give-up-after, or asks us to stay away for longer.
	ErrGaveUp = errors.New("gave up on the service")
	// ErrTokenEndpoint ends the run: the token endpoint gave no token in any attempt.
	ErrTokenEndpoint = errors.New("cannot get an access token")
)

// EndsRun tells whether err means that no further call can succeed.
func EndsRun(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrGaveUp) || errors.Is(err, ErrTokenEndpoint)
}

// NotFound tells whether err is a call that was answered 404 after all attempts. It is no more than what the service says: a
// stray 404 on a real resource passes on retry (observed).
func NotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound && !EndsRun(err)
}

// Error is a call that failed for good. Its text is one line: what happened, where, and what to do. It holds no URL, query,
// cursor, body or token.
type Error struct {
	Operation string
	Template  string
	School    string // bid, empty for calls that are for no school
	District  string // bid, of calls that are for a district
	Status    int    // of the last answer, 0 if there was none
	Code      string // the service's own error code, if it sent one that is safe to repeat
	Attempts  int    // how often the call was sent, those while the service was in trouble included
	Err       error  // what happened, never nil
}

// Error names the place, the reason and the figures.
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
	var figures []string
	if e.Status != 0 {
		figures = append(figures, "status "+strconv.Itoa(e.Status))
	}
	if e.Code != "" {
		figures = append(figures, "code "+e.Code)
	}
	if e.Attempts > 1 {
		figures = append(figures, strconv.Itoa(e.Attempts)+" attempts")
	}
	if len(figures) > 0 {
		b.WriteString(" (" + strings.Join(figures, ", ") + ")")
	}
	return b.String()
}

// Unwrap gives what happened, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// printable keeps a bid, which is opaque text, from breaking the line it stands in.
func printable(bid string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == unicode.ReplacementChar }
	if strings.ContainsFunc(bid, odd) {
		return strconv.Quote(bid)
	}
	return bid
}

// unreadable marks a body that is no answer at all.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// Unreadable marks an error of an accept function as a fault of the transfer rather than of the data: the body is not JSON,
// was cut, or is an empty JSON string. The call is then attempted again. The text of err must quote nothing of the body.
func Unreadable(err error) error {
	if err == nil {
		return nil
	}
	return unreadable{err}
}

// failure is why one attempt brought nothing.
type failure struct {
	status int
	code   string
	err    error
	again  bool // another attempt may succeed
	fault  bool // it speaks of the service's health rather than of this request
}

// fail turns an attempt's failure into the error of its call.
func (c *Call) fail(f *failure, attempts int) *Error {
	return &Error{
		Operation: c.Operation, Template: c.Template, School: c.School, District: c.District,
		Status: f.status, Code: f.code, Attempts: attempts, Err: f.err,
	}
}

// failureOf judges an attempt that brought no answer, or not a whole one.
func failureOf(err error) *failure {
	if EndsRun(err) {
		return &failure{err: err}
	}
	if b, ok := errors.AsType[*broken](err); ok {
		return &failure{status: b.status, err: b, again: !b.final, fault: !b.final}
	}
	return &failure{err: err}
}

// transient tells whether the same request may be answered otherwise later (--retries). Stray 404s on what exists
// have been seen (observed, Paging, limits, errors).
func transient(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return status >= 500 && status < 600
	}
}

// judge turns every status but 200 into a failure: the one place where a status gets its meaning (specification, Errors).
func judge(ans *answer, call *Call) *failure {
	f := &failure{status: ans.status, code: errorCode(ans.body.data), again: transient(ans.status)}
	f.fault = f.again
	if call.names(f.code) {
		f.code = ""
	}
	switch {
	case ans.status == http.StatusForbidden:
		f.err = ErrDenied
	case ans.status == http.StatusUnauthorized:
		// New tokens were refused for this request while others may well be accepted with them.
		f.err, f.again = errors.New("every new token is refused for this request; check the app's access"), true
	case ans.status == http.StatusNotFound && call.School == "" && call.District == "":
		// The token and the first lists are asked for before anything has shown that the address is right.
		f.err = errors.New("the service does not find it; check --base-url, or run again later")
	case ans.status == http.StatusNotFound:
		f.err = errors.New("the service does not find it; run again later")
	case ans.status == http.StatusTooManyRequests:
		f.err = errors.New("the service limits requests; lower --rate or --concurrency and run again")
	case f.again:
		f.err = errors.New("the service fails to answer; run again later")
	case ans.status >= 300 && ans.status < 400:
		f.err = errors.New("the answer is a redirect, which is never followed; check --base-url")
	default:
		f.err = errors.New("the service does not take the request; check --base-url and the tool's version")
	}
	return f
}

// gaveUp is the error of every request that waits when the time of --give-up-after is over. Cause is how the last one failed.
func gaveUp(limit time.Duration, cause string) error {
	return fmt.Errorf("%w: nothing succeeded for %s (--give-up-after), last failure: %s; run the same command again to resume",
		ErrGaveUp, shortDuration(limit), cause)
}

// errorCode finds a code in the shapes that errors of the service have been seen in (observed: fault.detail.errorcode, and
// flat objects). Only what looks like a code is repeated: the rest of an error's body may say anything.
func errorCode(body []byte) string {
	var shape struct {
		Fault struct {
			Detail struct {
				ErrorCode string `json:"errorcode"`
			} `json:"detail"`
		} `json:"fault"`
		ErrorCode string `json:"errorCode"`
		Code      string `json:"code"`
	}
	// A member of another type leaves the others readable, so the error says nothing of use.
	_ = json.Unmarshal(body, &shape)
	for _, code := range []string{shape.Fault.Detail.ErrorCode, shape.ErrorCode, shape.Code} {
		if isCode(code) {
			return code
		}
	}
	return ""
}

// isCode tells whether text is short, plain, and not an identifier: those are numbers, or UUIDs with their four hyphens.
func isCode(text string) bool {
	letter := func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }
	plain := func(r rune) bool { return letter(r) || strings.ContainsRune("0123456789._-", r) }
	odd := func(r rune) bool { return !plain(r) }
	return len(text) <= 64 && strings.ContainsFunc(text, letter) && !strings.ContainsFunc(text, odd) && strings.Count(text, "-") < 4
}
