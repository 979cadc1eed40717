package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// The optional parameters of the enrollment operations (specification, rules
// common to all endpoints, 4).
const (
	effectiveDate  = "effective-date"
	modifiedSince  = "modified-since"
	includeRemoved = "include-removed"
)

// SinceAuto stands for the time up to which the destination holds every change.
const SinceAuto = "auto"

// maxRunID is the longest run id.
const maxRunID = 64

// sinceMargin is how far before the plan of the last run a delta run begins
// (specification, Limits: recommended modified-since margin).
const sinceMargin = 10 * time.Minute

// errNoRunSince says that --modified-since auto has no run to begin from.
var errNoRunSince = errors.New("--modified-since auto: no full run of this service with all of these datasets, of all schools and" +
	" without a failed or denied one, is published here: take a full snapshot first, or give a date")

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

// takesPart reports whether a dataset can be part of a run of this kind: as-of and delta runs are limited to operations that
// accept the parameter.
func takesPart(d *schemas.Dataset, kind snapshot.Kind) bool {
	switch kind {
	case snapshot.AsOf:
		return slices.Contains(d.Operation.Filters, effectiveDate)
	case snapshot.Delta:
		return slices.Contains(d.Operation.Filters, modifiedSince)
	case snapshot.Full:
	}
	return true
}

// split divides the selected datasets into those that take part in the run and
// those that cannot, both as declared.
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

// filters returns the optional parameters that the plan pins.
func (r *run) filters(ctx context.Context) (map[string]string, error) {
	s := r.settings
	pinned := map[string]string{effectiveDate: r.now.Format(time.DateOnly)}
	if s.EffectiveDate != "" {
		pinned[effectiveDate] = s.EffectiveDate
	}
	if s.IncludeRemoved {
		pinned[includeRemoved] = "true"
	}
	switch s.ModifiedSince {
	case "":
	case SinceAuto:
		last, err := r.Catalog.LatestOfChain(ctx, s.BaseURL, r.scope.Datasets, r.now, sinceMargin)
		if err != nil {
			return nil, fmt.Errorf("look for the run that --modified-since auto begins from: %w", err)
		}
		if last == nil {
			return nil, Usagef("%w", errNoRunSince)
		}
		pinned[modifiedSince] = last.PlannedAt.UTC().Add(-sinceMargin).Format("2006-01-02T15:04:05Z")
	default:
		pinned[modifiedSince] = s.ModifiedSince
	}
	return pinned, nil
}

// unfiltered returns the parameters without filters that would remove records from a list that feeds a fan-out.
func unfiltered(filters map[string]string) map[string]string {
	rest := maps.Clone(filters)
	delete(rest, modifiedSince)
	return rest
}

// checkKind looks for mistakes in the enrollment parameters.
func checkKind(s *Settings) error {
	switch {
	case s.EffectiveDate != "" && s.ModifiedSince != "":
		return errors.New("--effective-date and --modified-since are two kinds of runs: choose one")
	case s.EffectiveDate != "" && s.SnapshotDate != "":
		return errors.New("--effective-date gives an as-of run its date: leave --snapshot-date out")
	}
	if s.EffectiveDate != "" && len(s.RunID)+len("-2006-01-02") > maxRunID {
		return fmt.Errorf("--run-id: an as-of run appends its date, which makes an id of more than %d characters", maxRunID)
	}
	if s.EffectiveDate != "" {
		if _, err := time.Parse(time.DateOnly, s.EffectiveDate); err != nil {
			return fmt.Errorf("--effective-date %q is not a date such as 2026-09-01", s.EffectiveDate)
		}
	}
	if _, isTime := snapshot.ParseTime(s.ModifiedSince); s.ModifiedSince != "" && s.ModifiedSince != SinceAuto && !isTime {
		return fmt.Errorf("--modified-since %q is not a date, a timestamp such as 2026-11-19T03:00:00Z, or %s", s.ModifiedSince, SinceAuto)
	}
	if taken, _ := s.split(); len(taken) == 0 && len(s.Datasets) > 0 {
		return fmt.Errorf("--datasets: none of these can be part of such a run, whose operations are %s", strings.Join(parts(s.kind()), ", "))
	}
	return nil
}

// parts names the datasets that can take part in a kind of run.
func parts(kind snapshot.Kind) []string {
	var names []string
	for _, d := range schemas.Datasets() {
		if takesPart(d, kind) {
			names = append(names, d.Name)
		}
	}
	return names
}
