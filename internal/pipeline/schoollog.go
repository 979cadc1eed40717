package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// maxLoggedSchools is the maximum number of schools that are logged at the normal level for each outcome, such as
// failed or denied, or named in a line about several schools. The ledger lists all failures and denials.
const maxLoggedSchools = 3

// schoolLog holds, for each outcome, the bids of the schools for which that outcome was logged.
type schoolLog struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

// level returns the level at which to log an outcome of a school: normal, or debug if this outcome was already logged
// for this school or for maxLoggedSchools other schools. The last school that is logged at the normal level gets a
// note.
func (l *schoolLog) level(what, bid string, normal slog.Level) (level slog.Level, note []slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = make(map[string]map[string]bool)
	}
	if l.seen[what] == nil {
		l.seen[what] = make(map[string]bool)
	}
	schools := l.seen[what]
	if schools[bid] || len(schools) >= maxLoggedSchools {
		return slog.LevelDebug, nil
	}
	schools[bid] = true
	if len(schools) == maxLoggedSchools {
		note = append(note, slog.String("note", "the ledger lists all other such schools"))
	}
	return normal, note
}

// shortError returns the error of a school's dataset without the dataset and the bid, which other attributes contain.
func shortError(l *snapshot.LedgerRow) string {
	return strings.TrimPrefix(l.Error, l.Dataset+" of school "+l.SchoolBid+" ")
}

// logResult logs the outcome of a school's dataset.
func (r *exportRun) logResult(ctx context.Context, school *snapshot.School, result *fetch.Result) {
	l := &result.Ledger
	attrs := []slog.Attr{slog.String("dataset", l.Dataset), slog.String("school", l.SchoolBid)}
	if school.Name != "" {
		attrs = append(attrs, slog.String("name", wording.Cut(school.Name, wording.MaxName)))
	}
	if result.FirstRepeated > 0 {
		level, note := r.logged.level("moved", l.SchoolBid, slog.LevelInfo)
		r.Logger.LogAttrs(ctx, level, "list moved while it was read, so it was read again", slices.Concat(attrs, []slog.Attr{
			slog.Int64("pairs_with_several_results", result.FirstRepeated),
			slog.Int64("pairs_in_second_reading", result.Checks[review.CheckOneResultPerSubject].Count),
		}, note)...)
	}
	switch l.Status {
	case snapshot.StatusFailed:
		level, note := r.logged.level("failed", l.SchoolBid, slog.LevelWarn)
		r.Logger.LogAttrs(ctx, level, "school failed", slices.Concat(attrs, []slog.Attr{slog.String("error", shortError(l))}, note)...)
	case snapshot.StatusDenied:
		level, note := r.logged.level("denied", l.SchoolBid, slog.LevelInfo)
		r.Logger.LogAttrs(ctx, level, "access to school denied", append(attrs, note...)...)
	case snapshot.StatusOK:
		r.Logger.LogAttrs(ctx, slog.LevelDebug, "school done",
			append(attrs, slog.Int64("records", l.RecordsReceived), slog.Int64("pages", l.Pages))...)
	}
}
