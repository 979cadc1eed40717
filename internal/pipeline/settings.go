package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Errors from which the command derives its exit code. Errors of the service keep their own sentinels
// (extract.ErrRefused and others).
var (
	// ErrUsage matches the errors of Usagef. They mean that the command was called with wrong settings, and that it has
	// requested no student data and left nothing behind.
	ErrUsage = errors.New("usage")
	// ErrIncomplete says that a run cannot be published yet.
	ErrIncomplete = errors.New("the run is not complete")
)

// Usagef formats an error as fmt.Errorf does and makes it match ErrUsage.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func (e usageError) Is(target error) bool { return target == ErrUsage }

// Values of Settings.Perspectives, which select the perspectives in which a school's enrollment is read.
const (
	AllPerspectives = "all"
	OwnPerspective  = snapshot.OwnPerspective
)

// Settings holds the settings of a run. The zero value of an optional setting is its default only if its comment says
// so.
type Settings struct {
	BaseURL            string   // the service as recorded in plan and manifest; "simulate" for the embedded one
	AcceptBaseURL      bool     // lets the run move a destination that belongs to another service to this one
	ToolVersion        string   // recorded in plan and manifest, and part of a derived run id
	Datasets           []string // names of schemas.Datasets in any order
	Schools, Districts []string // the only schools, and the only districts whose schools are exported; empty for all
	Students           []string // the students to export; empty for all
	Perspectives       string
	PartitionBy        string
	// SnapshotDate has the form YYYY-MM-DD. If it is empty, the date is today in UTC, or the date in the plan of the
	// run that is resumed. A new run may be dated before yesterday only with Backdate.
	SnapshotDate string
	Backdate     bool
	IfMissing    bool // skip the run if an equal run is already published for its date
	// Privacy is the profile, which is schemas.Full if it is empty. The other profiles need a PrivacyKey for
	// pseudonyms. With any profile, students who are suppressed under the key are left out.
	Privacy    schemas.Profile
	PrivacyKey *privacy.Key
	// EffectiveDate selects an as-of run for that date, and ModifiedSince (a date, a timestamp or SinceAuto) selects a
	// delta run. If both are empty, the run is a full run.
	EffectiveDate, ModifiedSince string
	// ServiceDate is the day on which a simulated service is read. If it is empty, that day is today.
	ServiceDate    string
	IncludeRemoved bool
	RunID          string // if empty, derived from date and settings
	// SchoolsPerFile is the number of schools in a bucket. Zero chooses DefaultSchoolsPerFile, or fewer in a run of
	// several shards, so that each shard gets several buckets if there are enough schools.
	SchoolsPerFile int
	review.Limits
	Compare       bool // compare a full run with the previous snapshot
	Replace       bool
	Restart       bool // drop the staged files and the plan of an unfinished or held run of the same id
	Shard, Shards int  // this process's part; 0 of 1 is everything
	// Deadline is the time at which the fetching of schools ends, or the zero time if there is no deadline. If more
	// schools than MaxFailedSchools are missing then, the run stops with ErrDeadline and can be resumed. Otherwise it
	// is published without them.
	Deadline         time.Time
	Concurrency      int    // the client's limit; the pipeline reads enough lists at once to reach it
	MaxSchoolRecords int64  // maximum records of a school in one dataset
	Scratch          string // folder for finished schools that do not fit in memory; empty for the system's temporary one
	maxHeldBytes     int    // replaces the constant of the same name in tests
}

// The settings that errors mention most often.
const (
	snapshotDate  = wording.Setting("snapshot-date")
	effectiveDate = wording.Setting("effective-date")
	modifiedSince = wording.Setting("modified-since")
)

// SinceAuto is the value of ModifiedSince that stands for the time up to which the destination holds every change.
const SinceAuto = "auto"

// maxRunID is the maximum length of a run id.
const maxRunID = 64

// kind returns the kind of run selected by the settings.
func (s *Settings) kind() snapshot.Kind {
	switch {
	case s.EffectiveDate != "":
		return snapshot.AsOf
	case s.ModifiedSince != "":
		return snapshot.Delta
	default:
		return snapshot.Full
	}
}

// takesPart reports whether a dataset can be part of a run of this kind: as-of and delta runs are limited to operations
// that accept the parameter of their kind.
func takesPart(d *schemas.Dataset, kind snapshot.Kind) bool {
	switch kind {
	case snapshot.AsOf:
		return slices.Contains(d.Operation.Filters, schemas.EffectiveDate)
	case snapshot.Delta:
		return slices.Contains(d.Operation.Filters, schemas.ModifiedSince)
	case snapshot.Full:
	}
	return true
}

// split divides the selected datasets into datasets that take part in the run and datasets that cannot, both in the
// order of their declaration.
func (s *Settings) split() (taken, leftOut []string) {
	for _, d := range schemas.Datasets() {
		switch {
		case !slices.Contains(s.Datasets, d.Name):
		case takesPart(d, s.kind()):
			taken = append(taken, d.Name)
		default:
			leftOut = append(leftOut, d.Name)
		}
	}
	return taken, leftOut
}

// parts lists the datasets that can take part in a kind of run.
func parts(kind snapshot.Kind) []string {
	var names []string
	for _, d := range schemas.Datasets() {
		if takesPart(d, kind) {
			names = append(names, d.Name)
		}
	}
	return names
}

// scopeOf returns the scope of the settings in its canonical form, in which equal scopes are equal values.
func scopeOf(s *Settings) snapshot.Scope {
	taken, _ := s.split()
	scope := snapshot.Scope{
		Datasets:       taken,
		Schools:        canonical(s.Schools),
		Districts:      canonical(s.Districts),
		Students:       newCohort(s).students(),
		Perspectives:   s.Perspectives,
		PartitionBy:    s.PartitionBy,
		ModifiedSince:  s.ModifiedSince,
		IncludeRemoved: s.IncludeRemoved,
		Privacy:        string(cmp.Or(s.Privacy, schemas.Full)),
	}
	if s.Privacy.NeedsKey() {
		scope.PrivacyKey = s.PrivacyKey.Fingerprint()
	}
	return scope
}

func canonical(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// Check returns a usage error if settings are missing or exclude each other. It assumes that each value is valid by
// itself.
func (s *Settings) Check() error {
	taken, _ := s.split()
	switch {
	case len(s.Datasets) == 0:
		return Usagef("no dataset is selected")
	case s.Privacy.NeedsKey() && s.PrivacyKey == nil:
		return Usagef("%s %s needs a key", wording.Setting("privacy"), s.Privacy)
	case s.EffectiveDate != "" && s.ModifiedSince != "":
		return Usagef("%s and %s select different kinds of runs: choose one", effectiveDate, modifiedSince)
	case s.EffectiveDate != "" && s.SnapshotDate != "":
		return Usagef("%s sets the date of an as-of run: leave %s out", effectiveDate, snapshotDate)
	case s.EffectiveDate != "" && len(s.RunID)+len("-2006-01-02") > maxRunID:
		return Usagef("%s: an as-of run appends its date, which makes an id of more than %d characters", wording.Setting("run-id"), maxRunID)
	case len(taken) == 0:
		return Usagef("%s: none of these can be part of such a run, which can only include %s",
			wording.Setting("datasets"), strings.Join(parts(s.kind()), ", "))
	}
	return nil
}
