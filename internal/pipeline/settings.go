package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
)

// Errors by which the command chooses its exit code. Errors of the service
// keep their own sentinels (extract.ErrRefused and others).
var (
	// ErrUsage matches the errors of Usagef: the command was called with wrong settings. No student data was requested, and
	// nothing is left behind.
	ErrUsage = errors.New("usage")
	// ErrIncomplete says that a run cannot be published yet.
	ErrIncomplete = errors.New("the run is not complete")
)

// Usagef formats an error as fmt.Errorf does and makes it match ErrUsage.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func (e usageError) Is(target error) bool { return target == ErrUsage }

// Perspectives in which a school's enrollment is read.
const (
	AllPerspectives = "all"
	OwnPerspective  = "own"
)

// Settings are the settings of a run. The zero value of an optional setting is its default only if its comment says so.
type Settings struct {
	// BaseURL is what the plan and the manifest name as the service; the word
	// simulate for the embedded one. AcceptBaseURL lets the run move a destination
	// that belongs to another service to this one.
	BaseURL       string
	AcceptBaseURL bool
	// ToolVersion is recorded in plan and manifest, and part of a derived run id.
	ToolVersion string
	// Datasets are names of schemas.Datasets in any order.
	Datasets []string
	// Schools and Districts restrict the schools fanned out over; empty is
	// all.
	Schools, Districts []string
	Perspectives       string
	PartitionBy        string
	// SnapshotDate is YYYY-MM-DD; empty is today in UTC, or the date of the
	// plan of the run that is resumed. A new run may be dated before yesterday
	// only with Backdate.
	SnapshotDate string
	Backdate     bool
	// IfMissing skips a run whose date has an equal published run already.
	IfMissing bool
	// EffectiveDate makes it an as-of run of that date, ModifiedSince (a date,
	// a timestamp or SinceAuto) a delta run; empty are a full run.
	EffectiveDate, ModifiedSince string
	IncludeRemoved               bool
	// RunID is empty for one derived from date and settings.
	RunID          string
	SchoolsPerFile int
	// MaxFailedSchools is how many schools may fail before the snapshot is
	// held back.
	MaxFailedSchools int
	MaxShrink        Shrink
	// StrictChecks holds the snapshot back if a check of the service's own rules
	// counts anything.
	StrictChecks bool
	Replace      bool
	// Restart drops what an unfinished or held run of the same id has staged, its
	// plan included.
	Restart bool
	// Shard of Shards is this process's part; 0 of 1 is everything.
	Shard, Shards int
	// Concurrency is the client's bound on requests in flight: the pipeline
	// keeps enough call chains going to fill it.
	Concurrency int
	// MaxSchoolRecords is the most records a school may have in one dataset.
	MaxSchoolRecords int64
	// Scratch is the folder where finished schools wait that do not fit in
	// memory; empty is the system's temporary directory.
	Scratch string
}

// Deps are the parts that a run works with.
type Deps struct {
	// Client asks the service. It is nil for commands that only publish.
	Client  *extract.Client
	Catalog snapshot.Catalog
	Logger  *slog.Logger
	// Progress may be read while the run goes on.
	Progress *Progress
	// Tracer observes the spans; it may be nil.
	Tracer Tracer
	// Now is the clock.
	Now func() time.Time
}

// Shrink is the part of its rows or schools that a table may lose from one
// full snapshot to the next, from 0 to 1.
type Shrink struct {
	Part float64
	Off  bool
}

// ParseShrink reads a percentage such as 20% or 12.5%, or the word off.
func ParseShrink(text string) (Shrink, error) {
	if text == "off" {
		return Shrink{Off: true}, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok && err == nil && percent >= 0 && percent <= 100 {
		return Shrink{}, fmt.Errorf("%q has no unit: write %s%%, or off", text, text)
	}
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return Shrink{}, fmt.Errorf("%q is neither a percentage from 0%% to 100%% nor off", text)
	}
	return Shrink{Part: percent / 100}, nil
}

// String returns the shrink as ParseShrink reads it.
func (s Shrink) String() string {
	if s.Off {
		return "off"
	}
	return strconv.FormatFloat(s.Part*100, 'f', -1, 64) + "%"
}
