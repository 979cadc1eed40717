package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// verifyOptions holds the settings of verify.
type verifyOptions struct {
	general
	destination
	runID         string
	snapshotDate  string
	effectiveDate string
}

func (a *app) verifyCommand() *cobra.Command {
	o := &verifyOptions{}
	cmd := newCommand(a, o, a.verify, "dest snapshot-date effective-date run-id history delta-lake config output", &cobra.Command{
		Use:   "verify",
		Short: "Re-reads a published run and compares it with its manifest",
		Example: "  growth-export verify --dest /data/growth\n" +
			"  growth-export verify --dest /data/growth --snapshot-date 2026-11-20",
	})
	o.destination.define(cmd)
	which := group{cmd.Flags(), "What to verify"}
	define(which, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "the snapshot of this date")
	which.shownDefault("snapshot-date", "the latest")
	define(which, &o.effectiveDate, "effective-date", "DATE", "", parseDate, "the as-of snapshot of this date")
	define(which, &o.runID, "run-id", "ID", "", parseRunID, "the run with this id")
	which.toggle(new(bool), "history", "the history")
	which.toggle(new(bool), "delta-lake", "the Delta Lake logs of all tables")
	o.general.define(cmd)
	return cmd
}

func (a *app) verify(ctx context.Context, o *verifyOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	from.ignoreUnlessFlags("history", "delta-lake")
	which, err := from.pick("snapshot-date", "effective-date", "run-id", "history", "delta-lake")
	if err != nil {
		return err
	}
	var target maintenance.VerifyTarget
	switch which {
	case "snapshot-date":
		target.SnapshotDate = o.snapshotDate
	case "effective-date":
		target.EffectiveDate = o.effectiveDate
	case "run-id":
		target.RunID = o.runID
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return err
	}
	if which == "delta-lake" {
		return a.verifyDeltaLake(ctx, o, catalog)
	}
	report, err := await(ctx, func() (*maintenance.VerifyReport, error) {
		if which == "history" {
			return maintenance.VerifyHistory(ctx, catalog)
		}
		return maintenance.Verify(ctx, catalog, target)
	})
	if _, none := errors.AsType[*snapshot.RefusedError](err); none {
		return usagef("%w", err)
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", catalog, err)
	}
	var mismatch error
	if !report.OK() {
		what, remedy := "snapshot", "export it again"
		switch {
		case which == "history":
			what, remedy = "history", "growth-export history --rebuild makes it again"
		case which == "effective-date", report.Kind == snapshot.AsOf, report.Kind == snapshot.Delta:
		case report.SnapshotDate != a.now().UTC().Format(time.DateOnly):
			// The service returns only its present state: exporting again would store today's data under an earlier date.
			remedy = `restore the file from a backup, or see "Damaged documents" in docs/operations.md`
		}
		mismatch = fmt.Errorf("the %s at %s differs from what was published: %s (problem 1 of %d): %s",
			what, catalog, report.Problems[0], len(report.Problems), remedy)
	}
	if err := a.writeOutput(o.output, report, verifyText(report)); mismatch == nil {
		return err
	}
	return mismatch
}

func verifyText(r *maintenance.VerifyReport) string {
	var b strings.Builder
	for _, problem := range r.Problems {
		fmt.Fprintln(&b, printable(problem.String()))
	}
	switch {
	case !r.OK():
	case r.HistoryID != "":
		fmt.Fprintf(&b, "OK: history through %s: %s, %s, %s\n",
			r.SnapshotDate, wording.Many(r.Files, "file"), wording.Many(r.Rows, "row"), wording.Size(r.Bytes))
	default:
		fmt.Fprintf(&b, "OK: %s, run %s: %s, %s, %s, and the ledger\n",
			snapshotName(r.Kind, r.SnapshotDate), r.RunID, wording.Many(r.Files, "file"), wording.Many(r.Rows, "row"), wording.Size(r.Bytes))
	}
	return b.String()
}
