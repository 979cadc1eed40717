package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"example.org/growthexport/internal/sink"
)

// longestMessage is as much of a store's own words as an error repeats.
const longestMessage = 300

// failed says what could not be done to which object, in one line and without
// the SDK's request ids and URLs.
func (s *Store) failed(verb, path string, err error) error {
	return fmt.Errorf("%s %s%s%s: %w", verb, Scheme+s.bucket+"/", s.prefix, path, brief(err))
}

// requestError is an error of the SDK in the words of a person.
type requestError struct {
	text  string
	cause error
}

func (e *requestError) Error() string { return e.text }
func (e *requestError) Unwrap() error { return e.cause }

// brief puts an error of the SDK into one line. Its cause stays to be asked for
// with errors.Is and errors.As.
func brief(err error) error {
	if isOurs(err) {
		return err
	}
	for _, canceled := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, canceled) {
			return canceled
		}
	}
	var text string
	status := statusOf(err)
	api, isAPI := errors.AsType[smithy.APIError](err)
	answer, isAnswer := errors.AsType[*smithy.DeserializationError](err)
	send, isSend := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case isAPI && strings.TrimSpace(api.ErrorMessage()) != "":
		text = api.ErrorCode() + ": " + api.ErrorMessage()
	case isAPI:
		text = fmt.Sprintf("%s (status %d)", api.ErrorCode(), status)
	case isSend && errors.Is(send.Err, io.EOF):
		text = "the store closed the connection"
	case isSend:
		text = send.Err.Error()
	case isAnswer:
		text = fmt.Sprintf("the store's answer (status %d) cannot be read: %v", status, answer.Err)
	case status != 0:
		text = fmt.Sprintf("the store answered %d %s", status, http.StatusText(status))
	default:
		text = innermost(err).Error()
	}
	if most, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		text = fmt.Sprintf("%s (%d attempts)", shorten(text), most.Attempt)
	}
	return &requestError{text: shorten(text), cause: err}
}

// isOurs tells whether an error was made in this package or by the system, and
// says already what there is to say.
func isOurs(err error) bool {
	for _, known := range []error{sink.ErrNotFound, sink.ErrConflict, sink.ErrStagedLost} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, sdk := errors.AsType[*smithy.OperationError](err)
	return !sdk
}

// innermost takes the SDK's own words from an error.
func innermost(err error) error {
	if e, ok := errors.AsType[*smithy.OperationError](err); ok {
		return e.Err
	}
	return err
}

func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "..."
	}
	return text
}

// statusOf returns the status of the answer behind an error, 0 if there is none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// codeOf returns the store's code for an error, empty if there is none.
func codeOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// noObject tells whether an answer says that there is no object at the key. A
// missing bucket is no missing object.
func noObject(err error) bool {
	switch codeOf(err) {
	case "NoSuchKey", "NotFound":
		return true
	case "NoSuchBucket", "NoSuchUpload":
		return false
	}
	return statusOf(err) == http.StatusNotFound
}

// noUpload tells whether an answer says that an upload is gone.
func noUpload(err error) bool { return codeOf(err) == "NoSuchUpload" }
