package main

import (
	"log/slog"
)

// newLogger returns a logger to stderr, and logs the pending warnings.
func (a *app) newLogger(o *general) *slog.Logger {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	options := &slog.HandlerOptions{Level: levels[o.logLevel]}
	logger := slog.New(slog.NewTextHandler(a.stderr, options))
	if o.logFormat == "json" {
		logger = slog.New(identified{slog.NewJSONHandler(a.stderr, options), &a.who})
		a.records = logger
	}
	for _, warning := range a.pending {
		logger.Warn(warning) //nolint:sloglint // worded before there was a logger
	}
	a.pending = nil
	return logger
}
