package remote

import (
	"context"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// ContentType returns the type of a document, so that a browser shows a page rather than downloads it.
func ContentType(path string) string {
	if strings.HasSuffix(path, ".html") {
		return "text/html; charset=utf-8"
	}
	return "application/json"
}

// NoLocks is embedded by stores whose documents are written under conditions instead.
type NoLocks struct{}

// Lock excludes no one.
func (NoLocks) Lock(ctx context.Context, _ string, _ sink.LockMode, _ time.Duration) (func() error, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}
