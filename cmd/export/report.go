package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
)

// reportOptions are the settings of report.
type reportOptions struct {
	general
	destination
	runID string
	to    string
}

// toStdout is the file of --to that stands for stdout.
const toStdout = "-"

func (a *app) reportCommand() *cobra.Command {
	o := &reportOptions{}
	cmd := &cobra.Command{
		Use:         "report",
		Annotations: map[string]string{oftenAnnotation: "dest run-id to config output"},
		Short:       "Writes the page again that shows what a run did",
		Long: "Writes _runs/<run>/report.html again, from the run's manifest and ledger, or from\n" +
			"its journals while it is not published: one file that a browser shows without a\n" +
			"network. Each run and publish has written it when it ended.",
		Args: noArguments,
		Example: "  growth-export report --dest /data/growth\n" +
			"  growth-export report --dest s3://bucket/growth --to report.html",
		RunE: resolved(a, o, a.drawReport),
	}
	o.defineWriting(o.destination.define(cmd))
	which := group{cmd.Flags(), "Which run"}
	define(which, &o.runID, "run-id", "ID", "", parseRunID, "id of the run")
	which.shownDefault("run-id", "the one planned last")
	define(which, &o.to, "to", "FILE", "", parsePath, "write the page to this file instead, or to stdout: -")
	which.shownDefault("to", "report.html beside the run's plan")
	o.general.define(cmd)
	return cmd
}

func (a *app) drawReport(ctx context.Context, o *reportOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	store, err := a.existingStore(ctx, &o.destination, from)
	if err != nil {
		return err
	}
	run := o.runID
	if run == "" {
		if run, err = sink.NewestRun(ctx, store); err != nil {
			return err
		}
		if run == "" {
			return usagef("there is no run at %s", store)
		}
	}
	path, err := await(ctx, func() (string, error) { return a.drawReportTo(ctx, o.to, store, run) })
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return usagef("there is no run %s at %s: see growth-export status", run, store)
	case errors.Is(err, pipeline.ErrUsage):
		return err
	case err != nil:
		return fmt.Errorf("report on run %s at %s: %w", run, store, err)
	case path == toStdout:
		return nil
	}
	if o.output == outputJSON {
		return writeJSON(a.stdout, struct {
			RunID  string `json:"run_id"`
			Report string `json:"report"`
		}{run, path})
	}
	_, err = fmt.Fprintln(a.stdout, path)
	return err
}

// drawReportTo returns where the page is now.
func (a *app) drawReportTo(ctx context.Context, to string, store sink.Store, run string) (string, error) {
	if to == "" {
		path, err := pipeline.WriteReport(ctx, store, run)
		return below(store.String(), path), err
	}
	page, err := pipeline.Report(ctx, store, run)
	if err != nil {
		return "", err
	}
	if to == toStdout {
		_, err = a.stdout.Write(page)
		return to, err
	}
	if err := os.WriteFile(to, page, 0o600); err != nil {
		return "", usagef("--to: write the page: %w", err)
	}
	return to, nil
}

// below names a path below a destination.
func below(dest, path string) string { return strings.TrimSuffix(dest, "/") + "/" + path }
