package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/snapshot"
)

// enrollment holds the optional parameters of the enrollment operations. An effective date makes a run an as-of run,
// and modifiedSince makes it a delta run.
type enrollment struct {
	effectiveDates []string
	modifiedSince  string
	includeRemoved bool
}

func (o *enrollment) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), selectionGroup}
	g.list(&o.effectiveDates, "effective-date", expandDates,
		"as-of runs: enrollment as of these dates, comma-separated or as a range with a step, such as 2025-09-01..2026-06-01/1mo"+
			" (d: days, w: weeks, mo: months); terms: the last day of each term that has begun")
	g.shownDefault("effective-date", "none")
	define(g, &o.modifiedSince, "modified-since", "TIME", "", parseSince,
		"a delta run: enrollment modified since a date or timestamp; auto: since the last run, without a gap")
	g.toggle(&o.includeRemoved, "include-removed", "include removed enrollment")
}

// maxDates is the maximum number of dates in a range. Each date is a separate run.
const maxDates = 10_000

// termDates is the value of --effective-date that selects the last days of terms. Only the service knows these dates.
const termDates = "terms"

// findTerms replaces the word "terms" in the settings with the dates that the service lists.
func (o *enrollment) findTerms(ctx context.Context, deps pipeline.Deps, s *pipeline.Settings) error {
	if s.EffectiveDate != termDates {
		return nil
	}
	dates, err := await(ctx, func() ([]string, error) { return pipeline.Terms(ctx, deps, *s) })
	if err != nil {
		return err
	}
	o.effectiveDates, s.EffectiveDate = dates, dates[0]
	return nil
}

// expandDates parses dates and ranges of dates into distinct dates. The word "terms" is returned unchanged.
func expandDates(words []string) ([]string, error) {
	if slices.Contains(words, termDates) {
		if len(words) > 1 {
			return nil, fmt.Errorf("%s cannot be combined with dates", termDates)
		}
		return words, nil
	}
	var dates []string
	for _, word := range words {
		expanded, err := expandRange(word)
		if err != nil {
			return nil, err
		}
		for _, date := range expanded {
			if !slices.Contains(dates, date) {
				dates = append(dates, date)
			}
		}
	}
	return dates, nil
}

// rangeStep matches the step of a range: a number of days, weeks or months.
var rangeStep = regexp.MustCompile(`^([1-9][0-9]{0,4})(d|w|mo)$`)

// expandRange returns a single date, or the dates of a range: the first date, every step after it, and the last date. A
// range needs a step because each date is a separate run.
func expandRange(word string) ([]string, error) {
	begin, rest, isRange := strings.Cut(word, "..")
	if !isRange {
		date, err := parseDate(word)
		return []string{date}, err
	}
	end, step, stepped := strings.Cut(rest, "/")
	match := rangeStep.FindStringSubmatch(step)
	first, firstErr := time.Parse(time.DateOnly, begin)
	last, lastErr := time.Parse(time.DateOnly, end)
	switch {
	case firstErr == nil && lastErr == nil && !stepped:
		return nil, fmt.Errorf("%s has no step: write %s/1mo (or 1d, 1w: d is days, w weeks, mo months)", quoted(word), word)
	case firstErr != nil || lastErr != nil || match == nil:
		return nil, fmt.Errorf("%s is not a range such as 2025-09-01..2026-06-01/1mo, with a step in d (days), w (weeks) or mo (months)",
			quoted(word))
	case last.Before(first):
		return nil, fmt.Errorf("%s ends before it begins", quoted(word))
	}
	size, err := strconv.Atoi(match[1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoted(word), err)
	}
	var dates []string
	for n := 0; ; n++ {
		if n == maxDates {
			return nil, fmt.Errorf("%s is more than %d dates: use larger steps", quoted(word), maxDates)
		}
		date := addStep(first, n*size, match[2])
		if !date.Before(last) {
			// The last date is part of the range even if no step reaches it.
			return append(dates, last.Format(time.DateOnly)), nil
		}
		dates = append(dates, date.Format(time.DateOnly))
	}
}

// addStep returns the date n units after first. If the resulting month has no such day, it returns the last day of that
// month.
func addStep(first time.Time, n int, unit string) time.Time {
	switch unit {
	case "d":
		return first.AddDate(0, 0, n)
	case "w":
		return first.AddDate(0, 0, 7*n)
	}
	month := time.Date(first.Year(), first.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	days := month.AddDate(0, 1, -1).Day()
	return month.AddDate(0, 0, min(first.Day(), days)-1)
}

// parseSince accepts a date, a timestamp, or auto. A date or timestamp is sent to the service as given.
func parseSince(text string) (string, error) {
	if _, isTime := snapshot.ParseTime(text); isTime || text == pipeline.SinceAuto {
		return text, nil
	}
	return "", fmt.Errorf("%s is not a date such as 2026-11-19, a timestamp such as 2026-11-19T03:00:00Z, or %s",
		quoted(text), pipeline.SinceAuto)
}
