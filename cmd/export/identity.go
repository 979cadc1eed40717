package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"

	"example.org/growthexport/internal/pipeline"
)

// identity holds the attributes that distinguish a command's log lines from the lines of other commands. Its zero value
// is ready to use.
type identity struct {
	destination atomic.Pointer[string]
	progress    atomic.Pointer[pipeline.Progress]
}

// setDestination records the destination that the command works on.
func (i *identity) setDestination(destination string) {
	destination = absolute(destination)
	i.destination.Store(&destination)
}

// setProgress records the progress of the run, which provides the id of the run.
func (i *identity) setProgress(progress *pipeline.Progress) { i.progress.Store(progress) }

func (i *identity) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("version", thisBuild().Version)}
	if destination := i.destination.Load(); destination != nil {
		attrs = append(attrs, slog.String("destination", *destination))
	}
	if progress := i.progress.Load(); progress != nil && progress.RunID() != "" {
		attrs = append(attrs, slog.String("run_id", progress.RunID()))
	}
	return attrs
}

// identified is a handler that adds the identity to every line.
type identified struct {
	slog.Handler

	who *identity
}

// Handle adds those attributes of the identity that the record does not already have. It does not see attributes that
// were added with WithAttrs.
func (h identified) Handle(ctx context.Context, record slog.Record) error {
	has := make(map[string]bool)
	record.Attrs(func(a slog.Attr) bool {
		has[a.Key] = true
		return true
	})
	record = record.Clone()
	for _, attr := range h.who.attrs() {
		if !has[attr.Key] {
			record.AddAttrs(attr)
		}
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs returns a handler that adds attrs as well as the identity.
func (h identified) WithAttrs(attrs []slog.Attr) slog.Handler {
	return identified{h.Handler.WithAttrs(attrs), h.who}
}

// absolute returns the absolute path of a destination folder. It returns a URL unchanged.
func absolute(destination string) string {
	if strings.Contains(destination, "://") {
		return destination
	}
	path, err := filepath.Abs(destination)
	if err != nil {
		return destination
	}
	return path
}
