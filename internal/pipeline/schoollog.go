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

// maxLoggedSchools is the maximum number of schools that are logged as failed, and as denied, at the normal level. The
// report and the ledger list all of them.
const maxLoggedSchools = 5

// schoolLog holds the schools that were logged as failed or denied.
type schoolLog struct {
	mu   sync.Mutex
	seen map[snapshot.Status]map[string]bool // by bid
}

// level returns the level at which to log the outcome of a school: normal or debug. The last school that is logged at
// the normal level gets a note.
func (l *schoolLog) level(of *snapshot.LedgerRow, normal slog.Level) (level slog.Level, note []slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = make(map[snapshot.Status]map[string]bool)
	}
	if l.seen[of.Status] == nil {
		l.seen[of.Status] = make(map[string]bool)
	}
	schools := l.seen[of.Status]
	if schools[of.SchoolBid] || len(schools) >= maxLoggedSchools {
		return slog.LevelDebug, nil
	}
	schools[of.SchoolBid] = true
	if len(schools) == maxLoggedSchools {
		note = append(note, slog.String("note", "further schools are in the report only"))
	}
	return normal, note
}

// shortError returns the error of a school's dataset without the names that the other attributes have.
func shortError(l *snapshot.LedgerRow) string {
	return strings.TrimPrefix(l.Error, l.Dataset+" of school "+l.SchoolBid+" ")
}

// logResult logs the outcome of a school's dataset. The first failure and the first denial of a school are logged at
// the normal level. Further ones, and those beyond maxLoggedSchools schools, are logged at debug level.
func (r *exportRun) logResult(ctx context.Context, school *snapshot.School, result *fetch.Result) {
	l := &result.Ledger
	attrs := []slog.Attr{slog.String("dataset", l.Dataset), slog.String("school", l.SchoolBid)}
	if school.Name != "" {
		attrs = append(attrs, slog.String("name", wording.Cut(school.Name, wording.MaxName)))
	}
	if result.FirstRepeated > 0 {
		r.Logger.LogAttrs(ctx, slog.LevelInfo, "list moved while it was read, so it was read again", append(slices.Clone(attrs),
			slog.Int64("pairs_with_several_results", result.FirstRepeated),
			slog.Int64("pairs_in_second_reading", result.Checks[review.CheckOneResultPerSubject].Count))...)
	}
	switch l.Status {
	case snapshot.StatusFailed:
		level, note := r.logged.level(l, slog.LevelWarn)
		r.Logger.LogAttrs(ctx, level, "school failed", slices.Concat(attrs, []slog.Attr{slog.String("error", shortError(l))}, note)...)
	case snapshot.StatusDenied:
		level, note := r.logged.level(l, slog.LevelInfo)
		r.Logger.LogAttrs(ctx, level, "access to school denied", append(attrs, note...)...)
	case snapshot.StatusOK:
		r.Logger.LogAttrs(ctx, slog.LevelDebug, "school done",
			append(attrs, slog.Int64("records", l.RecordsReceived), slog.Int64("pages", l.Pages))...)
	}
}
