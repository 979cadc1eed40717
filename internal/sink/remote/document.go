package remote

import (
	"context"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// ContentType returns the content type of a document. A browser shows an HTML page only if the type is correct, and
// otherwise downloads it.
func ContentType(path string) string {
	if strings.HasSuffix(path, ".html") {
		return "text/html; charset=utf-8"
	}
	return "application/json"
}

// NoLocks is embedded by stores that use conditional writes instead of locks.
type NoLocks struct{}

// Lock always succeeds and does not exclude other processes.
func (NoLocks) Lock(ctx context.Context, _ string, _ sink.LockMode, _ time.Duration) (func() error, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}
