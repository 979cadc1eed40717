package remote

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"example.org/growthexport/internal/sink"
)

// maxMessage is the maximum number of bytes of a store's own message that an error includes.
const maxMessage = 250

// Shorten returns a store's own message as one line of limited length.
func Shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}

// DescribedError is an error of a store's client, described in words that an operator understands.
type DescribedError struct {
	Text  string
	Cause error
	// Status is the HTTP status of the response, or 0 if there was no response.
	Status int
}

func (e *DescribedError) Error() string { return e.Text }
func (e *DescribedError) Unwrap() error { return e.Cause }

// Is makes errors.Is report sink.ErrUnavailable if the store throttles requests, fails or cannot be reached.
func (e *DescribedError) Is(target error) bool {
	return target == sink.ErrUnavailable &&
		(e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError || unconnected(e.Cause))
}

// unconnected reports whether an error means that no connection could be made, for a reason other than an unknown host.
func unconnected(err error) bool {
	if host, ok := errors.AsType[*net.DNSError](err); ok {
		return !host.IsNotFound
	}
	connection, ok := errors.AsType[*net.OpError](err)
	return ok && connection.Op != "remote error" // "remote error" is an alert of TLS
}
