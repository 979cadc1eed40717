package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// reportOptions holds the settings of report.
type reportOptions struct {
	general
	destination
	runID string
	to    string
}

// toStdout is the value of --to that writes the report to stdout.
const toStdout = "-"

func (a *app) reportCommand() *cobra.Command {
	o := &reportOptions{}
	cmd := newCommand(a, o, a.reportOn, "dest run-id to config output", &cobra.Command{
		Use:   "report",
		Short: "Rewrites a run's HTML report",
		Long: "Writes _runs/<run>/report.html again, from the run's manifest and ledger, or from\n" +
			"its checkpoints if it is not published, and _runs/index.html, which links to the\n" +
			"reports of all runs. Each is one HTML file that needs no network. Every run and\n" +
			"publish writes them at its end.",
		Example: "  growth-export report --dest /data/growth\n" +
			"  growth-export report --dest s3://bucket/growth --to report.html",
	})
	o.defineWriting(o.destination.define(cmd))
	which := group{cmd.Flags(), "Which run"}
	define(which, &o.runID, "run-id", "ID", "", parseRunID, "id of the run")
	which.shownDefault("run-id", "the newest run")
	define(which, &o.to, "to", "FILE", "", parsePath, "write the report to this file instead; - is stdout")
	which.shownDefault("to", "report.html in the run's folder")
	o.general.define(cmd)
	return cmd
}

func (a *app) reportOn(ctx context.Context, o *reportOptions, from sources) error {
	if o.to == toStdout && o.output == outputJSON {
		return usagef("%s - and %s json both write to stdout: give --to a file", from["to"].name, from["output"].name)
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, o.to == "")
	if err != nil {
		return err
	}
	run := o.runID
	if run == "" {
		if run, err = catalog.NewestRun(ctx); err != nil {
			return err
		}
		if run == "" {
			return usagef("there are no runs at %s", catalog)
		}
		newer, err := await(ctx, func() (string, error) { return catalog.WithoutPlan(ctx, run) })
		if err != nil {
			return err
		}
		if newer != "" {
			a.warn("this is the report of run "+run, fmt.Errorf("run %s is newer, but %s is missing: %s", newer, snapshot.PlanPath(newer), wording.Restore))
		}
	}
	path, err := await(ctx, func() (string, error) { return a.writeReport(ctx, o, catalog, run) })
	switch {
	case errors.Is(err, sink.ErrNotFound) && runIsMissing(ctx, catalog, run):
		return usagef("run %s not found at %s: see growth-export status", run, catalog)
	case errors.Is(err, sink.ErrNotFound):
		return fmt.Errorf("report on run %s at %s: %w: restore the file from a backup; growth-export verify --run-id %s "+
			"lists all files that are missing", run, catalog, err, run)
	case errors.Is(err, pipeline.ErrUsage):
		return err
	case err != nil:
		return fmt.Errorf("report on run %s at %s: %w", run, catalog, err)
	case path == toStdout:
		return nil
	}
	value := struct {
		RunID  string `json:"run_id"`
		Report string `json:"report"`
	}{run, path}
	return a.writeOutput(o.output, value, path+"\n")
}

// writeReport writes the report of a run, and returns its path. If the Delta logs cannot be brought up to date, it only
// warns.
func (a *app) writeReport(ctx context.Context, o *reportOptions, catalog snapshot.Catalog, run string) (string, error) {
	options := a.sessionOptions(&o.destination)
	options.DryRun = o.to != ""
	s, err := work.Open(ctx, catalog, options)
	if err != nil {
		return "", err
	}
	if o.to != "" {
		return o.to, a.writeReportTo(ctx, o.to, catalog, run)
	}
	path, err := s.WriteReport(ctx, run)
	if unfinished := s.Finish(ctx); unfinished != nil && ctx.Err() == nil {
		a.warn("the Delta logs are not up to date", conclude(ctx, unfinished))
	}
	return joinPath(catalog.String(), path), err
}

// runIsMissing reports whether a run has neither a plan nor a manifest.
func runIsMissing(ctx context.Context, catalog snapshot.Catalog, run string) bool {
	_, planErr := catalog.ReadPlan(ctx, run)
	_, err := catalog.ReadManifest(ctx, run)
	return errors.Is(planErr, sink.ErrNotFound) && errors.Is(err, sink.ErrNotFound)
}

// writeReportTo writes the report of a run to a file or to stdout.
func (a *app) writeReportTo(ctx context.Context, to string, catalog snapshot.Catalog, run string) error {
	page, err := pipeline.Report(ctx, catalog, run)
	if err != nil {
		return err
	}
	if to == toStdout {
		_, err = a.stdout.Write(page)
		return err
	}
	if err := os.WriteFile(to, page, 0o600); err != nil {
		return usagef("--to: write the report: %w", err)
	}
	return nil
}
