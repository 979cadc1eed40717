package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// planOptions holds the settings of plan: the settings of run and the assumed latency.
type planOptions struct {
	runOptions
	latency time.Duration
}

func (a *app) planCommand() *cobra.Command {
	o := &planOptions{}
	cmd := newCommand(a, o, a.plan, "base-url simulate dest datasets schools concurrency assume-latency config", &cobra.Command{
		Use:   "plan",
		Short: "Shows what a run would request and write; fetches no student data",
		Example: "  growth-export plan --simulate\n" +
			"  growth-export plan --base-url https://host --datasets all --concurrency 16",
	})
	o.define(cmd)
	define(group{cmd.Flags(), serviceGroup}, &o.latency, "assume-latency", "TIME", "500ms", parseDuration,
		"assumed duration of one request, for the estimated time")
	return cmd
}

func (a *app) plan(ctx context.Context, o *planOptions, from sources) error {
	deps, settings, disconnect, err := a.connect(ctx, &o.runOptions, from, a.openCatalog)
	if err != nil {
		return err
	}
	defer disconnect()
	if err := o.findTerms(ctx, deps, &settings); err != nil {
		return err
	}
	var dates []string
	if len(o.effectiveDates) > 1 {
		dates = o.effectiveDates
	}
	all, err := await(ctx, func() (*pipeline.Estimates, error) {
		return pipeline.Plan(ctx, deps, settings, dates, o.latency)
	})
	if err != nil {
		return err
	}
	if o.atOnce > 0 {
		for _, e := range all.Runs {
			e.UsefulShards = pipeline.UsefulShards(e.Schools, o.atOnce)
		}
	}
	var privacy *privacyPlan
	privacyText := ""
	if from.given("privacy") {
		privacy = newPrivacyPlan(&settings, exported(all.Runs))
		privacyText = privacy.text()
	}
	if len(dates) > 0 {
		return a.writeOutput(o.output, struct {
			*pipeline.Estimates

			Privacy *privacyPlan `json:"privacy,omitempty"`
		}{all, privacy}, datesText(all, o)+privacyText)
	}
	return a.writeOutput(o.output, struct {
		*pipeline.Estimate

		Privacy *privacyPlan `json:"privacy,omitempty"`
	}{all.Runs[0], privacy}, estimateText(all.Runs[0], o, a.now())+privacyText)
}

// datesText formats the estimates for several dates: the whole estimate of the first run that is not yet published, and
// the totals of all such runs.
func datesText(all *pipeline.Estimates, o *planOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Plan: %s, one as-of run each, at %s\n",
		wording.Many(len(all.Dates), "date"), all.Runs[0].Destination)
	done := len(all.AlreadyPublished)
	if done > 0 {
		fmt.Fprintf(&b, "already published, nothing to do: %s\n", wording.First(all.AlreadyPublished, maxListed))
	}
	if done == len(all.Dates) {
		return b.String()
	}
	for _, e := range all.Runs {
		if !e.AlreadyPublished {
			fmt.Fprintf(&b, "\nRun for %s:\n\n", e.SnapshotDate)
			b.WriteString(estimateTable(e, o))
			break
		}
	}
	fmt.Fprintf(&b, "\nTotal for %s:\n\n", wording.Many(len(all.Dates)-done, "date"))
	fmt.Fprintf(&b, "requests  %s%s\nfiles     %s\n", atLeast(all.Requests, all.Exact), about(all.About), wording.Count(all.Files))
	b.WriteString(timeLine(all.Time, all.AboutTime, o))
	return b.String()
}

// estimateText formats the estimate of one run.
func estimateText(e *pipeline.Estimate, o *planOptions, now time.Time) string {
	if e.AlreadyPublished {
		return fmt.Sprintf("Plan: run %s of %s is already published at %s: nothing to do\n", e.RunID, e.SnapshotDate, e.Destination)
	}
	verb := "would start"
	if e.Resumes {
		verb = "would resume (staged data is not requested again)"
	}
	return fmt.Sprintf("Plan: %s run %s, %s, at %s\n", verb, e.RunID, snapshotName(e.Kind, e.SnapshotDate), e.Destination) +
		serviceLines(e, now) + "\n" + estimateTable(e, o) + timeLine(e.Time, e.AboutTime, o)
}

// serviceLines shows the service of a run, the changes that publishing the run would make at the destination, and the
// run's deadline.
func serviceLines(e *pipeline.Estimate, now time.Time) string {
	text := fmt.Sprintf("service   %s\n", e.BaseURL)
	if e.MovesFrom != "" {
		text += fmt.Sprintf("moves     %s from %s\n", e.Destination, e.MovesFrom)
	}
	if e.Replaces != nil {
		text += fmt.Sprintf("replaces  run %s, published %s; --if-missing skips it\n",
			e.Replaces.RunID, pipeline.Ago(now, e.Replaces.PublishedAt))
	}
	if !e.Deadline.IsZero() {
		text += fmt.Sprintf("deadline  %s, in %s\n", pipeline.DeadlineText(e.Deadline), wording.Duration(e.Deadline.Sub(now)))
	}
	return text
}

// timeLine formats the minimum duration of the requests and, if it is not 0, their estimated duration.
func timeLine(minTime, aboutTime time.Duration, o *planOptions) string {
	text := "at least " + minTime.Round(time.Second/10).String()
	if aboutTime > 0 {
		text += ", and about " + aboutTime.Round(time.Second/10).String() + " for the estimated requests"
	}
	return fmt.Sprintf("time      %s, with %d concurrent requests of %s each\n", text, o.concurrency, o.latency)
}

// estimateTable lists the datasets and schools of a run.
func estimateTable(e *pipeline.Estimate, o *planOptions) string {
	var b strings.Builder
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
		switch {
		case d.About > 0:
			note += about(d.About)
		case e.Students == nil:
			note += fanOut(d.Dataset)
		}
		line(d.Dataset, atLeast(d.Requests, d.Exact), wording.Count(d.Files), note)
	}
	line("all", atLeast(e.Requests, e.Exact), wording.Count(e.Files), about(e.About))
	_ = t.Flush() // Writing to a strings.Builder cannot fail.
	fmt.Fprintf(&b, "\nschools   %s in %s of up to %s\n",
		wording.Count(e.Schools), wording.Many(e.Buckets, "bucket"), wording.Count(e.SchoolsPerFile))
	b.WriteString(shardsLine(e, o.atOnce))
	b.WriteString(studentsLine(e.Students))
	for i, failure := range e.FailedSchools {
		if i == maxListed {
			fmt.Fprintf(&b, "  and %d more failures\n", len(e.FailedSchools)-i)
			break
		}
		fmt.Fprintf(&b, "  fails   %s\n", failureText(failure))
	}
	return b.String()
}

// shardsLine describes how a run is divided into shards, and how many shards are best if atOnce of them run at the same
// time.
func shardsLine(e *pipeline.Estimate, atOnce int) string {
	text := ""
	if e.Shards > 1 {
		text = wording.Count(e.Shards)
		if e.IdleShards > 0 {
			text += fmt.Sprintf(", of which %s would get no school", wording.Count(e.IdleShards))
		}
	}
	if e.UsefulShards > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("with %s at once, ", wording.Count(atOnce))
		if e.UsefulShards == 1 {
			text += "1 shard is enough"
		} else {
			text += wording.Many(e.UsefulShards, "shard") + " balance schools of unequal size best"
		}
	}
	if text == "" {
		return ""
	}
	return "shards    " + text + "\n"
}

// about formats an estimated number of requests. It returns "" if n is 0, that is, if there is no estimate.
func about(n int) string {
	if n == 0 {
		return ""
	}
	return "  about " + wording.Count(n) + " requests, judging by the newest snapshot"
}

// fanOut describes the requests of a dataset that are not counted because their number depends on the answers to other
// requests.
func fanOut(dataset string) string {
	for _, d := range schemas.Datasets() {
		if d.Name == dataset && d.Per > schemas.PerSchool {
			return "  plus one for each " + d.Per.String() + " in " + strings.Join(d.Feeds, " and ")
		}
	}
	return ""
}

// atLeast formats a number, with >= before it if it is only a minimum.
func atLeast(n int, exact bool) string {
	if exact {
		return wording.Count(n)
	}
	return ">= " + wording.Count(n)
}
