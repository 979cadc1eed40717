package main

import (
	"context"
	"errors"
	"strings"

	"example.org/growthexport/internal/pipeline"
)

// runDates takes an as-of snapshot for each date and reports all of them. The exit code is the most serious one.
func (a *app) runDates(
	ctx context.Context, o *general, onFinish string, dates []string, deps pipeline.Deps, settings pipeline.Settings, stop func(),
) error {
	summaries, err := await(ctx, func() ([]*pipeline.Summary, error) {
		var all []*pipeline.Summary
		err := pipeline.RunDates(ctx, deps, settings, dates, func(s *pipeline.Summary) { all = append(all, s) })
		a.finishDeltaLake(ctx, &deps, false, nil)
		return all, err
	})
	stop()
	if err != nil && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		var current *pipeline.Summary
		if len(summaries) > 0 {
			current = summaries[len(summaries)-1]
		}
		err = interrupted(current)
	}
	code := exitCode(err)
	var text strings.Builder
	for _, s := range summaries {
		a.recordSummary(ctx, s)
		code = worse(code, outcomeCode(s))
		if s.Outcome != "" { // It did not fail.
			text.WriteString(summaryText(s))
		}
	}
	all := newJSONSummaries(summaries, code, err)
	if unwritten := writeOutput(a.stdout, o.output, all, text.String()); unwritten != nil {
		a.complain(unwritten)
	}
	a.runOnFinish(ctx, onFinish, all)
	for _, s := range summaries {
		a.warnOfOutcome(s)
	}
	if err != nil {
		return err
	}
	a.code = code
	return nil
}

// jsonSummaries is the JSON form of the summaries of several as-of runs.
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
