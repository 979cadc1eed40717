package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
)

// enrollment are the optional parameters of the enrollment operations, which
// make a run an as-of or a delta run.
type enrollment struct {
	effectiveDates []string
	modifiedSince  string
	includeRemoved bool
}

func (o *enrollment) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), selectionGroup}
	g.list(&o.effectiveDates, "effective-date", expandDates,
		"as-of runs: enrollment as of these dates; a comma list, or a range with its step, such as 2025-09-01..2026-06-01/1mo"+
			" (d for days, w for weeks, mo for months)")
	g.shownDefault("effective-date", "none")
	define(g, &o.modifiedSince, "modified-since", "TIME", "", parseSince,
		"a delta run: enrollment modified since a date, a timestamp, or auto: since the last run that left no gap")
	g.toggle(&o.includeRemoved, "include-removed", "enrollment that was removed, too")
}

// checkPast refuses dates in the future, for which the service can only return
// nothing, or what it returns today.
func (o *runOptions) checkPast(now time.Time, from sources) error {
	now = now.UTC()
	today := now.Format(time.DateOnly)
	future := func(flag, value, clock string) error {
		return usagef("%s: %s is in the future, %s in UTC", from[flag].name, value, clock)
	}
	if o.snapshotDate > today {
		return future("snapshot-date", o.snapshotDate, "today is "+today)
	}
	for _, date := range o.effectiveDates {
		if date > today {
			return future("effective-date", date, "today is "+today)
		}
	}
	switch since, isTime := sink.ParseTime(o.modifiedSince); {
	case !isTime || !since.After(now):
		return nil
	case len(o.modifiedSince) == len(time.DateOnly):
		return future("modified-since", o.modifiedSince, "today is "+today)
	default:
		return future("modified-since", o.modifiedSince, "it is "+now.Format(time.DateTime))
	}
}

// mostDates bounds a range: each date is a run of its own.
const mostDates = 10_000

// expandDates reads dates and ranges of dates, each date once.
func expandDates(words []string) ([]string, error) {
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

// rangeStep is the step of a range: a number of days, weeks or months.
var rangeStep = regexp.MustCompile(`^([1-9][0-9]{0,4})(d|w|mo)$`)

// expandRange expands a date, or a range of dates: its first date, every step
// after that, and its last date. A range needs a step because each date is a run.
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
		date := after(first, n*size, match[2])
		if !date.Before(last) {
			// The end belongs to the range, wherever the steps lead.
			return append(dates, last.Format(time.DateOnly)), nil
		}
		if n == mostDates {
			return nil, fmt.Errorf("%s is more than %d dates: take larger steps", quoted(word), mostDates)
		}
		dates = append(dates, date.Format(time.DateOnly))
	}
}

// after is the date n units later. Months are counted from the first date, and
// one that is too short for its day ends on its last.
func after(first time.Time, n int, unit string) time.Time {
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

// parseSince takes what the service is asked for, as given, or auto.
func parseSince(text string) (string, error) {
	if _, isTime := sink.ParseTime(text); isTime || text == pipeline.SinceAuto {
		return text, nil
	}
	return "", fmt.Errorf("%s is not a date such as 2026-11-19, a timestamp such as 2026-11-19T03:00:00Z, or %s",
		quoted(text), pipeline.SinceAuto)
}

// runDates takes an as-of snapshot for each date and reports all of them; the
// exit code is the worst by the order of the contract.
func (a *app) runDates(ctx context.Context, o *runOptions, deps pipeline.Deps, settings pipeline.Settings, stop func()) error {
	type ended struct {
		summaries []*pipeline.Summary
		current   *pipeline.Summary
	}
	end, err := await(ctx, func() (ended, error) {
		var e ended
		err := pipeline.RunDates(ctx, deps, settings, o.effectiveDates, func(s *pipeline.Summary) {
			e.summaries, e.current = append(e.summaries, s), s
		})
		return e, err
	})
	stop()
	if err != nil && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		err = interrupted(end.current)
	}
	code := exitCode(err)
	for _, s := range end.summaries {
		a.summarize(ctx, s)
		code = worse(code, outcomeCode(s))
	}
	all := newJSONSummaries(end.summaries, code, err)
	if o.output == outputJSON {
		if unwritten := writeJSON(a.stdout, all); unwritten != nil {
			a.complain(unwritten)
		}
	} else {
		for _, s := range end.summaries {
			if s.Outcome == "" {
				continue // the one that failed
			}
			if unwritten := writeSummary(a.stdout, s); unwritten != nil {
				a.complain(unwritten)
			}
		}
	}
	a.finish(ctx, o.onFinish, all)
	if err != nil {
		return err
	}
	a.code = code
	return nil
}

// jsonSummaries is the JSON form of the end of several as-of runs.
type jsonSummaries struct {
	Runs     []jsonSummary `json:"runs"`
	ExitCode int           `json:"exit_code"`
	Error    string        `json:"error,omitempty"`
}

func newJSONSummaries(summaries []*pipeline.Summary, code int, err error) jsonSummaries {
	all := jsonSummaries{Runs: []jsonSummary{}, ExitCode: code}
	for i, s := range summaries {
		var failed error
		if i == len(summaries)-1 {
			failed = err
		}
		all.Runs = append(all.Runs, newJSONSummary(s, worse(exitCode(failed), outcomeCode(s)), failed))
	}
	if err != nil {
		all.Error = oneLine(err)
	}
	return all
}

// worse returns the exit code that counts of two.
func worse(a, b int) int {
	order := []int{exitUsage, exitInterrupted, exitRefused, exitFailed, exitHeld, exitPartial, exitOK}
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}
