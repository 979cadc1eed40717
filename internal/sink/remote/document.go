package remote

import (
	"context"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// ContentType returns the type of a document, so that a browser shows a page instead of downloading it.
func ContentType(path string) string {
	if strings.HasSuffix(path, ".html") {
		return "text/html; charset=utf-8"
	}
	return "application/json"
}

// NoLocks is embedded by stores that use conditional writes instead of locks.
type NoLocks struct{}

// Lock does not exclude other processes.
func (NoLocks) Lock(ctx context.Context, _ string, _ sink.LockMode, _ time.Duration) (func() error, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}
