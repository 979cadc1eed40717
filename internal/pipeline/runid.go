package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// fingerprint returns a hash of the settings on which a derived run id depends. A command therefore resumes a run only
// if it would fetch the same rows into the same files.
func fingerprint(s *Settings, kind snapshot.Kind, scope snapshot.Scope) (string, error) {
	text, err := json.Marshal(struct {
		BaseURL        string
		Kind           snapshot.Kind
		Scope          snapshot.Scope
		SchoolsPerFile int
		ToolVersion    string
	}{s.BaseURL, kind, scope, s.coveredSize(), s.ToolVersion})
	if err != nil {
		return "", fmt.Errorf("encode the settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// derivedRunID returns the n-th run id for a date and settings, where n begins at 1. The id of an as-of run ends with
// its date, which is also appended to an id that the user has chosen.
func derivedRunID(kind snapshot.Kind, date, fingerprint string, n int) string {
	id := date + "-" + fingerprint[:10]
	if kind == snapshot.AsOf {
		id = "as-of-" + fingerprint[:10]
	}
	if n > 1 {
		id += "-" + strconv.Itoa(n)
	}
	if kind == snapshot.AsOf {
		id += "-" + date
	}
	return id
}

// foundRun is a run id with the plan and manifest that the destination has for it.
type foundRun struct {
	id       string
	plan     *snapshot.Plan     // nil if the run has not begun, or has lost its plan
	manifest *snapshot.Manifest // nil if the run is not published
}

// date returns the snapshot date of the run's plan, or ifNew if the run has no plan yet.
func (s *foundRun) date(ifNew string) string {
	if s.plan != nil {
		return s.plan.SnapshotDate
	}
	return ifNew
}

// snapshot returns the kind and the date of the run. It takes them from the manifest if a published run has lost its
// plan.
func (s *foundRun) snapshot() (snapshot.Kind, string) {
	if s.plan == nil {
		return s.manifest.Kind, s.manifest.SnapshotDate
	}
	return s.plan.Kind, s.plan.SnapshotDate
}

func lookUpRun(ctx context.Context, catalog snapshot.Catalog, id string) (foundRun, error) {
	s := foundRun{id: id}
	plan, err := catalog.ReadPlan(ctx, id)
	if err != nil && !errors.Is(err, sink.ErrNotFound) {
		return s, err
	}
	s.plan = plan
	manifest, err := catalog.ReadManifest(ctx, id)
	if errors.Is(err, sink.ErrNotFound) {
		return s, nil
	}
	s.manifest = manifest
	return s, err
}

// lookUpNamed looks up a run whose id the user has chosen. It returns an error if a published run has lost its plan.
func lookUpNamed(ctx context.Context, catalog snapshot.Catalog, id string) (foundRun, error) {
	found, err := lookUpRun(ctx, catalog, id)
	if err == nil && found.plan == nil && found.manifest != nil {
		err = &wording.AdvisedError{
			Err: fmt.Errorf("%w: %s is missing, although run %s is published", sink.ErrDamaged, snapshot.PlanPath(id), id), Advice: wording.Restore,
		}
	}
	return found, err
}

// chooseRun finds the run that this command begins or resumes: the run that it specifies, or the run with the first of
// its derived ids that is new or belongs to an unpublished run for the same students. It returns a published run if
// this command has just finished publishing that run for another command, or if the run is full and its date is in the
// past, because a new run for that date would be rejected without --replace.
func (r *exportRun) chooseRun(ctx context.Context) (foundRun, error) {
	s, catalog := r.settings, r.Catalog
	switch {
	case s.RunID != "" && s.kind() == snapshot.AsOf:
		return lookUpNamed(ctx, catalog, s.RunID+"-"+r.date)
	case s.RunID != "":
		return lookUpNamed(ctx, catalog, s.RunID)
	}
	past := s.kind() == snapshot.Full && r.date < r.now.Format(time.DateOnly) && !s.Replace
	var published foundRun
	for n := 1; ; n++ {
		run, err := lookUpRun(ctx, catalog, derivedRunID(s.kind(), r.date, r.mark, n))
		switch {
		case err != nil:
			return run, err
		case run.plan == nil && run.manifest != nil:
			continue // this published run has lost its plan
		case run.plan == nil && published.plan != nil:
			return published, nil
		case run.plan == nil:
			return run, nil
		}
		if run.manifest != nil && run.manifest.Status == snapshot.Published && r.cohort.useKeyOf(run.plan, s.PrivacyKey) &&
			(past || slices.Contains(r.Recovered.Published, run.id)) {
			published = run
		}
		// A derived id depends on how many students are listed, but not on which students, because that would reveal
		// who is not listed. It does not depend on who is suppressed either.
		if run.manifest == nil && r.cohort.useKeyOf(run.plan, s.PrivacyKey) && run.plan.Suppressed.Same(r.suppression.described) {
			return run, nil
		}
	}
}
