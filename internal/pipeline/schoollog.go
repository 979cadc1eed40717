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

// maxLoggedSchools is the maximum number of schools that are logged with the same message at the normal level. The report
// and the ledger list all of them.
const maxLoggedSchools = 3

// schoolLog holds the schools that were logged, by message and bid.
type schoolLog struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

// log logs a message about a school once at the normal level, and at debug level if the school, or enough others, were
// logged with the same message. The last school that is logged at the normal level gets a note.
func (l *schoolLog) log(ctx context.Context, to *slog.Logger, normal slog.Level, message, bid string, attrs []slog.Attr) {
	l.mu.Lock()
	if l.seen == nil {
		l.seen = make(map[string]map[string]bool)
	}
	if l.seen[message] == nil {
		l.seen[message] = make(map[string]bool)
	}
	schools, level := l.seen[message], normal
	if schools[bid] || len(schools) == maxLoggedSchools {
		level = slog.LevelDebug
	} else if schools[bid] = true; len(schools) == maxLoggedSchools {
		attrs = append(attrs, slog.String("note", "further schools are in the report only"))
	}
	l.mu.Unlock()
	to.LogAttrs(ctx, level, message, attrs...)
}

// shortError returns the error of a school's dataset without the names that the other attributes have.
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
	log := func(normal slog.Level, message string, more ...slog.Attr) {
		r.logged.log(ctx, r.Logger, normal, message, l.SchoolBid, slices.Concat(attrs, more))
	}
	if result.FirstRepeated > 0 {
		log(slog.LevelInfo, "list moved while it was read, so it was read again",
			slog.Int64("pairs_with_several_results", result.FirstRepeated),
			slog.Int64("pairs_in_second_reading", result.Checks[review.CheckOneResultPerSubject].Count))
	}
	switch l.Status {
	case snapshot.StatusFailed:
		log(slog.LevelWarn, "school failed", slog.String("error", shortError(l)))
	case snapshot.StatusDenied:
		log(slog.LevelInfo, "access to school denied")
	case snapshot.StatusOK:
		r.Logger.LogAttrs(ctx, slog.LevelDebug, "school done",
			append(attrs, slog.Int64("records", l.RecordsReceived), slog.Int64("pages", l.Pages))...)
	}
}
