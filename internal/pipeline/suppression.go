package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
)

// suppression is the list of students whom a run leaves out because a purge has erased them. It is not part of the
// scope: earlier snapshots do not hold these students either, so comparisons with them stay valid.
type suppression struct {
	students  *privacy.Suppressed       // nil for none
	described *snapshot.Suppression     // nil for none
	notListed []snapshot.PurgedStudents // students who were purged and whom the run cannot leave out
}

// readSuppression returns the students who are suppressed under a privacy key. If there is no key, the run leaves out
// no students. It also returns the purged students whom the run cannot leave out.
func readSuppression(ctx context.Context, catalog snapshot.Catalog, key *privacy.Key, now time.Time) (s suppression, err error) {
	fingerprint := ""
	if key != nil {
		fingerprint = key.Fingerprint()
		if err := s.read(ctx, catalog, key); err != nil {
			return s, err
		}
	}
	if s.notListed, err = catalog.PurgedStudents(ctx, fingerprint, now); err != nil {
		return s, fmt.Errorf("look for purged students: %w", err)
	}
	return s, nil
}

func (s *suppression) read(ctx context.Context, catalog snapshot.Catalog, key *privacy.Key) error {
	list, err := catalog.ReadSuppressed(ctx, key.Fingerprint())
	if err != nil || len(list.Students) == 0 {
		return err
	}
	s.students = key.NewSuppressed()
	for i, student := range list.Students {
		s.students.Add(i, student.Bid, student.Numbers)
	}
	s.described, err = list.Describe(key.Fingerprint())
	return err
}

// errSuppressionChanged is the error of a run whose plan was made while a purge changed the list.
var errSuppressionChanged = errors.New("the list of suppressed students has changed since the run began: run the same command again")

// checkSuppression reads the list again, and returns errSuppressionChanged if it differs from the list in the plan. The
// plan has already been written, so a purge that changes the list from now on finds the run. checkSuppression also
// warns of purged students whom the run cannot leave out.
func (r *exportRun) checkSuppression(ctx context.Context) error {
	if key := r.settings.PrivacyKey; key != nil {
		var now suppression
		if err := now.read(ctx, r.Catalog, key); err != nil {
			return err
		}
		if !now.described.Same(r.plan.Suppressed) {
			return errSuppressionChanged
		}
	}
	r.summary.NotSuppressed = r.plan.NotSuppressed
	for _, p := range r.plan.NotSuppressed {
		attributes := []any{"students", p.Students}
		if p.Date != "" {
			attributes = append(attributes, "purged_on", p.Date)
		}
		r.Logger.WarnContext(ctx, "students who were purged may be exported again", append(attributes, "reason", p.Because())...)
	}
	return nil
}
