package main

import (
	"log/slog"
	"time"
)

// newLogger returns a logger that writes to stderr. It also logs the pending warnings. If log lines are in JSON, errors
// are written with this logger from then on.
func (a *app) newLogger(o *general) *slog.Logger {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level := levels[o.logLevel]
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		return wholeSeconds(groups, a.repeat.inAttr(attr))
	}}))
	if o.logFormat == "json" {
		logger = slog.New(identified{slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{
			Level: level, ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr { return a.repeat.inAttr(attr) },
		}), &a.who})
		a.records = logger
	}
	for _, warning := range a.pending {
		logger.Warn(warning) //nolint:sloglint // the warning was raised before there was a logger
	}
	a.pending = nil
	return logger
}

// wholeSeconds formats the time of a log line in UTC, in whole seconds. It returns other attributes unchanged.
func wholeSeconds(groups []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey && len(groups) == 0 {
		attr.Value = slog.StringValue(attr.Value.Time().UTC().Format(time.RFC3339))
	}
	return attr
}
