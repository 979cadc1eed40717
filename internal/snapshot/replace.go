package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/wording"
)

// RefusedError reports that a command cannot be carried out at the destination, because of the user's settings or the
// state of the destination.
type RefusedError struct {
	// Reason says what the destination holds, what differs, and what to do.
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Candidate is a run that may become the snapshot of its date.
type Candidate struct {
	// Run is empty for a run that has no plan yet.
	Run  string
	Kind Kind
	Date string
	// BaseURL and Scope are the service that the run reads and the data that it covers.
	BaseURL string
	Scope   Scope
	// Today is true if the date is the day on which the run was planned.
	Today bool
	// Replace is true if --replace was given.
	Replace bool
}

// check returns a *RefusedError if the run may not replace the current run.
func (c *Candidate) check(current *Manifest) error {
	if c.Replace {
		return nil
	}
	what := "the snapshot of " + c.Date
	if c.Kind == AsOf {
		what = "the enrollment as of " + c.Date
	}
	differs := current.differences(c.BaseURL, c.Scope)
	if len(differs) > 0 {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s, which has another scope (%s)%s",
			what, current.RunID, strings.Join(differs, ", "), c.advice())}
	}
	if c.Kind == Full && !c.Today {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s%s", what, current.RunID, c.advice())}
	}
	return nil
}

// advice returns what to do about the current run. Replacing a snapshot of a past date loses data that the service no
// longer has.
func (c *Candidate) advice() string {
	if c.Kind == Full && !c.Today {
		return fmt.Sprintf(", and that date is in the past: the service only reports today's state, which %s would put in its place", replace)
	}
	return fmt.Sprintf("; %s replaces it", replace)
}

const replace = wording.Setting("replace")

// CheckReplace returns the run that the candidate would replace, or nil if there is none. It returns a *RefusedError if
// the candidate may not replace that run: because the scope or the service differs, because it is a full snapshot of a
// past date, or because the current run cannot be read. If Candidate.Replace is true, every run may be replaced. An
// as-of run may replace an as-of run of equal scope on any day. Delta runs never replace another run.
//
// A published run whose pointer is lost or damaged is replaced too.
func (c Catalog) CheckReplace(ctx context.Context, run Candidate) (*Manifest, error) {
	path := PointerPath(run.Kind, run.Date)
	s, err := c.readSnapshot(ctx, path)
	switch {
	case err != nil || path == "":
		return nil, err
	case s == nil || s.Err != nil && s.Pointer.RunID == "":
		lost, err := c.lostRun(ctx, run)
		if err != nil {
			return nil, err
		}
		if lost != nil {
			return lost, run.check(lost)
		}
	}
	switch {
	case s == nil:
		return nil, nil
	case s.Err != nil && !run.Replace:
		return nil, &RefusedError{Reason: fmt.Sprintf("cannot read the current run of %s (%v)%s", path, s.Err, run.advice())}
	case s.Pointer.RunID == "" || s.Pointer.RunID == run.Run:
		return nil, nil
	case s.Err != nil:
		return &Manifest{RunID: s.Pointer.RunID}, nil //nolint:nilerr // an unreadable run is always replaced
	}
	return s.Manifest, run.check(s.Manifest)
}

// lostRun returns the manifest of another run that is published for the date of a candidate, but whose pointer is lost
// or damaged, or nil if there is none. It reads only the manifests that may belong to such a run.
func (c Catalog) lostRun(ctx context.Context, run Candidate) (*Manifest, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(time.DateOnly, run.Date)
	if err != nil {
		return nil, fmt.Errorf("parse the date of a run: %w", err)
	}
	index = slices.DeleteFunc(index, func(folder *RunFolder) bool {
		if run.Kind == AsOf {
			return !strings.HasSuffix(folder.Name, run.Date) // the id of an as-of run ends in its date
		}
		return folder.written(ManifestName).Before(day.AddDate(0, 0, -1)) // it is published on its date or later, in any time zone
	})
	return c.firstLost(ctx, index.With(ManifestName), func(m *Manifest) bool {
		return m.RunID != run.Run && m.Kind == run.Kind && m.SnapshotDate == run.Date
	})
}
