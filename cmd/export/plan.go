package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
)

// planOptions are the settings of plan: those of the run that it is for.
type planOptions struct {
	runOptions
	latency time.Duration
}

func (a *app) planCommand() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:         "plan",
		Annotations: map[string]string{oftenAnnotation: "base-url simulate dest datasets schools concurrency assume-latency config"},
		Short:       "Tells what a run would request and write; fetches no student data",
		Args:        noArguments,
		Example: "  growth-export plan --simulate\n" +
			"  growth-export plan --base-url https://host --datasets all --concurrency 16",
		RunE: resolved(a, o, a.plan),
	}
	o.define(cmd)
	define(group{cmd.Flags(), serviceGroup}, &o.latency, "assume-latency", "TIME", "500ms", parseDuration,
		"what one request is taken to last, for the time that a run would take")
	return cmd
}

func (a *app) plan(ctx context.Context, o *planOptions, from sources) error {
	deps, settings, disconnect, err := a.connect(ctx, &o.runOptions, from)
	if err != nil {
		return err
	}
	defer disconnect()
	estimate, err := await(ctx, func() (*pipeline.Estimate, error) {
		return pipeline.Plan(ctx, deps, settings, o.latency)
	})
	if err != nil {
		return err
	}
	if o.output == outputJSON {
		return writeJSON(a.stdout, estimate)
	}
	return writeEstimate(a.stdout, estimate, o)
}

// writeEstimate writes an estimate for people.
func writeEstimate(w io.Writer, e *pipeline.Estimate, o *planOptions) error {
	var b strings.Builder
	verb := "would begin"
	if n := len(o.effectiveDates); n > 1 {
		fmt.Fprintf(&b, "Each of %d dates is a run of its own; this is the plan of the first.\n", n)
	}
	if e.AlreadyPublished {
		fmt.Fprintf(&b, "Plan: run %s of %s is published at %s: nothing would be done\n", e.RunID, e.SnapshotDate, e.Destination)
		return writeText(w, b.String())
	}
	if e.Resumes {
		verb = "would resume (what is staged is not requested again)"
	}
	fmt.Fprintf(&b, "Plan: %s run %s, %s, at %s\n\n", verb, e.RunID, taken(e.Kind, e.SnapshotDate), e.Destination)
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	width := len("dataset")
	for i := range e.Datasets {
		width = max(width, len(e.Datasets[i].Dataset))
	}
	line := func(name, requests, files, note string) {
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\n", width, name, requests, files, note)
	}
	line("dataset", "requests", "files", "")
	for _, d := range e.Datasets {
		note := ""
		if !d.Selected {
			note = "  needed, not exported"
		}
		line(d.Dataset, atLeast(d.Requests, d.Exact), wording.Count(d.Files), note)
	}
	line("all", atLeast(e.Requests, e.Exact), wording.Count(e.Files), "")
	_ = t.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&b, "\nschools   %s in %s of up to %s\n",
		wording.Count(e.Schools), wording.Many(e.Buckets, "bucket"), wording.Count(o.schoolsPerFile))
	for i, failure := range e.FailedSchools {
		if i == mostListed {
			fmt.Fprintf(&b, "  and %d failures more\n", len(e.FailedSchools)-i)
			break
		}
		fmt.Fprintf(&b, "  fails   %s\n", describe(failure))
	}
	fmt.Fprintf(&b, "time      at least %s, at %d requests at once of %s each\n",
		e.Time.Round(time.Second/10), o.concurrency, o.latency)
	return writeText(w, b.String())
}

// atLeast marks a number that is only a minimum.
func atLeast(n int, exact bool) string {
	if exact {
		return wording.Count(n)
	}
	return ">= " + wording.Count(n)
}
