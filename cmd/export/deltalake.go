package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/deltalake"
	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/wording"
)

// deltaLakeOptions holds the settings of delta-lake.
type deltaLakeOptions struct {
	general
	destination
}

func (a *app) deltaLakeCommand() *cobra.Command {
	o := &deltaLakeOptions{}
	cmd := newCommand(a, o, a.deltaLake, "dest config output", &cobra.Command{
		Use:   "delta-lake",
		Short: "Writes or updates Delta Lake logs beside the data files",
		Long: "Writes or updates a Delta Lake log for each table of the full snapshots, so that Spark, DuckDB, polars and others" +
			" can read it as a Delta Lake table. Data files do not change. Once there are logs, run, publish, history, prune and purge keep" +
			" them up to date.",
		Example: "  growth-export delta-lake --dest /data/growth\n" +
			"  growth-export verify --dest /data/growth --delta-lake",
	})
	o.defineWriting(o.destination.define(cmd))
	o.general.define(cmd)
	return cmd
}

// defineDeltaLake adds the setting that makes a command write Delta Lake logs after publishing.
func defineDeltaLake(g group, target *bool) {
	g.toggle(target, "delta-lake", "write Delta Lake logs beside the tables; existing ones are always kept up to date")
}

func (a *app) deltaLake(ctx context.Context, o *deltaLakeOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, true)
	if err != nil {
		return err
	}
	report, err := await(ctx, func() (*deltalake.Report, error) {
		s, err := work.Open(ctx, catalog, a.sessionOptions(&o.destination))
		if err != nil {
			return nil, err
		}
		return s.UpdateDeltaLake(ctx)
	})
	if report == nil {
		return err
	}
	if err == nil && len(report.Tables) == 0 {
		return fmt.Errorf("no full snapshot is published at %s: %w", catalog, errNothingPublished)
	}
	unwritten := a.writeOutput(o.output, report, deltaLakeText(report))
	if err != nil {
		return err
	}
	return unwritten
}

func deltaLakeText(r *deltalake.Report) string {
	var b strings.Builder
	said := "" // the problem printed last
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(&b, "%s: ", t.Table)
		switch {
		case t.Committed:
			fmt.Fprintf(&b, "version %d, %s added, %s removed, %s", t.Version, wording.Many(t.Added, "file"),
				wording.Count(t.Removed), wording.Many(t.Files, "live file"))
		case t.Problem != "" && t.Problem == said:
			b.WriteString("not up to date, for the same reason")
		case t.Problem != "":
			b.WriteString("not up to date")
		default:
			fmt.Fprintf(&b, "version %d is up to date, %s", t.Version, wording.Many(t.Files, "live file"))
		}
		if t.Checkpoint > 0 {
			fmt.Fprintf(&b, ", checkpoint of version %d written", t.Checkpoint)
		}
		b.WriteByte('\n')
		for _, text := range foreignTexts(t.Foreign) {
			fmt.Fprintf(&b, "  warning: %s\n", text)
		}
		if t.Problem != "" && t.Problem != said {
			fmt.Fprintf(&b, "  %s\n", printable(t.Problem))
			said = t.Problem
		}
	}
	return b.String()
}

// maxForeign is the maximum number of commits of other programs that are listed for each table.
const maxForeign = 5

// foreignTexts returns a sentence for each of the last maxForeign commits of other programs. If there are more commits,
// a sentence with the number of earlier ones comes first.
func foreignTexts(foreign []deltalake.Foreign) []string {
	var texts []string
	if more := len(foreign) - maxForeign; more > 0 {
		texts = append(texts, "other programs also wrote "+wording.Many(more, "earlier version"))
		foreign = foreign[more:]
	}
	for _, f := range foreign {
		texts = append(texts, printable(f.String())+" was written by another program")
	}
	return texts
}

func verifiedDeltaLake(r *deltalake.VerifyReport) string {
	var b strings.Builder
	var files, checkpoints int
	var rows int64
	for i := range r.Tables {
		t := &r.Tables[i]
		files += t.Files
		checkpoints += t.Checkpoints
		rows += t.Rows
		for _, text := range foreignTexts(t.Foreign) {
			fmt.Fprintf(&b, "%s: %s\n", t.Table, text)
		}
	}
	if len(r.Problems) == 0 {
		fmt.Fprintf(&b, "OK: the Delta logs of %s: %s, %s, %s\n", wording.Many(len(r.Tables), "table"),
			wording.Many(files, "live file"), wording.Many(rows, "row"), wording.Many(checkpoints, "checkpoint"))
	}
	return b.String()
}
