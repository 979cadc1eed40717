package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// purgeOptions holds the settings of purge.
type purgeOptions struct {
	general
	destination
	schools, districts []string
	allowUnknown       bool
	dryRun             bool
}

func (a *app) purgeCommand() *cobra.Command {
	o := &purgeOptions{}
	cmd := newCommand(a, o, a.purge, "dest schools districts dry-run config", &cobra.Command{
		Use:   "purge",
		Short: "Removes all rows of schools or districts from every snapshot",
		Long: "Removes all rows of some schools, or of some districts and their schools, from\n" +
			"every snapshot, as-of snapshot and delta run at the destination, from their\n" +
			"ledgers and from the history, re-reads all files and writes a proof under\n" +
			"_purges. Data staged by unfinished runs is dropped; the same run command fetches\n" +
			"it again. Plans stay: they name schools but hold no student data.\n\n" +
			"Nothing is purged while a process works on a run, or if a bid occurs nowhere,\n" +
			"unless --allow-unknown. The same command finishes a purge that was killed. Object\n" +
			"versions of a bucket, backups and copies are out of its reach.",
		Example: "  growth-export purge --dest /data/growth --districts 7d1c... --dry-run\n" +
			"  growth-export purge --dest s3://bucket/growth --schools @ended.txt",
	})
	o.defineWriting(o.destination.define(cmd))
	g := group{cmd.Flags(), "What to remove (as flags only: elsewhere these names restrict runs)"}
	g.list(&o.schools, "schools", nil, "rows of these schools: bids as a comma list, or @FILE")
	g.list(&o.districts, "districts", nil, "rows of these districts and their schools: bids as above")
	g.toggle(&o.allowUnknown, "allow-unknown", "purge the other bids even if some occur nowhere at the destination")
	g.toggle(&o.dryRun, "dry-run", "print what would be removed and change nothing")
	o.general.define(cmd)
	return cmd
}

// purgeTarget returns what to purge. It must be given as flags: in the environment or a file the same names restrict
// runs, and purging exactly the exported schools would be disastrous.
func (o *purgeOptions) purgeTarget(from sources) (schools, districts []string, err error) {
	bySchool, byDistrict := from["schools"].rank == byFlag, from["districts"].rank == byFlag
	for _, bid := range slices.Concat(o.schools, o.districts) {
		if strings.HasPrefix(bid, "--") && (bySchool || byDistrict) {
			return nil, nil, usagef("%s was taken as a bid, but looks like a flag: give --schools or --districts a value before it", quoted(bid))
		}
	}
	switch {
	case bySchool && byDistrict:
		return nil, nil, usagef("--schools and --districts cannot be used together: purge one, then the other")
	case bySchool:
		return o.schools, nil, nil
	case byDistrict:
		return nil, o.districts, nil
	}
	for _, name := range []string{"schools", "districts"} {
		if from.given(name) {
			return nil, nil, usagef("%s restricts what runs export: set what to purge with the flag --schools or --districts", from[name].name)
		}
	}
	return nil, nil, usagef("set what to purge: --schools LIST or --districts LIST")
}

func (a *app) purge(ctx context.Context, o *purgeOptions, from sources) error {
	schools, districts, err := o.purgeTarget(from)
	if err != nil {
		return err
	}
	o.log = a.newLogger(&o.general)
	store, err := a.existingStore(ctx, &o.destination, from)
	if err != nil {
		return err
	}
	options := maintenance.PurgeOptions{
		Schools: schools, Districts: districts, AllowUnknown: o.allowUnknown, DryRun: o.dryRun,
		Now: a.now, ToolVersion: thisBuild().Version,
	}
	report, err := await(ctx, func() (*maintenance.PurgeReport, error) {
		report, err := maintenance.Purge(ctx, snapshot.At(store), options)
		if !o.dryRun && err == nil {
			err = a.keepDeltaLake(ctx, store)
		}
		return report, err
	})
	if err != nil {
		if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
			return refused
		}
		if unknown, ok := errors.AsType[*maintenance.UnknownBidsError](err); ok {
			return usagef("nothing was purged: %w at %s; correct the list, or purge the rest with --allow-unknown", unknown, store)
		}
		return fmt.Errorf("%w; run the same command again once this is fixed", err)
	}
	if !o.dryRun {
		a.rewriteReports(ctx, store, report.Runs)
	}
	return writeOutput(a.stdout, o.output, report, purgeText(report))
}

// rewriteReports writes the reports of purged runs again, and the page of all runs.
func (a *app) rewriteReports(ctx context.Context, store sink.Store, runs []maintenance.PurgedRun) {
	for i := range runs {
		if _, err := pipeline.WriteReport(ctx, snapshot.At(store), runs[i].RunID); err != nil {
			a.warn("cannot rewrite the report of a run", err)
		}
	}
	a.rewriteIndex(ctx, store)
}

// rewriteIndex writes the page of all runs again.
func (a *app) rewriteIndex(ctx context.Context, store sink.Store) {
	if err := pipeline.WriteIndex(ctx, snapshot.At(store)); err != nil && ctx.Err() == nil {
		a.warn("cannot rewrite the page of all runs", err)
	}
}

func purgeText(r *maintenance.PurgeReport) string {
	var b strings.Builder
	for _, bid := range r.Unknown {
		fmt.Fprintf(&b, "no table, plan, ledger or manifest names %s\n", quoted(bid))
	}
	verb, dropped := "removed", "dropped run"
	if r.DryRun {
		verb, dropped = "would remove", "would drop run"
	}
	for _, run := range r.DroppedRuns {
		fmt.Fprintf(&b, "%s %s, which was not published; the same run command fetches it again\n", dropped, printable(run))
	}
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "%s, run %s: %s of %s, %s of the ledger\n", snapshotName(run.Kind, run.SnapshotDate), run.RunID,
			wording.Many(len(run.Files), "file"), wording.Many(len(run.RowsRemoved), "table"), wording.Many(run.LedgerRowsRemoved, "row"))
	}
	for _, table := range slices.Sorted(maps.Keys(r.RowsRemoved)) {
		fmt.Fprintf(&b, "%s %s of %s\n", verb, wording.Many(r.RowsRemoved[table], "row"), table)
	}
	if r.History != nil {
		for _, table := range slices.Sorted(maps.Keys(r.History.RowsRemoved)) {
			fmt.Fprintf(&b, "%s %s of %s in the history\n", verb, wording.Many(r.History.RowsRemoved[table], "row"), table)
		}
	}
	if r.LedgerRowsRemoved > 0 {
		fmt.Fprintf(&b, "%s %s of ledgers\n", verb, wording.Many(r.LedgerRowsRemoved, "row"))
	}
	switch {
	case r.Nothing():
		fmt.Fprintln(&b, "nothing to do")
	case !r.DryRun:
		writeProof(&b, r)
	}
	return b.String()
}

// writeProof writes what was verified and what a purge cannot reach. There is a proof only if no matching row is left.
func writeProof(b *strings.Builder, r *maintenance.PurgeReport) {
	fmt.Fprintf(b, "verified: %s re-read (%s, %s), no matching rows remain\n", wording.Many(r.Verification.Files, "file"),
		wording.Many(r.Verification.Rows, "row"), wording.Size(r.Verification.Bytes))
	for _, table := range slices.Sorted(maps.Keys(r.Verification.RowsMentioning)) {
		fmt.Fprintf(b, "kept %s of %s that belong to others and only mention a purged bid\n",
			wording.Many(r.Verification.RowsMentioning[table], "row"), table)
	}
	fmt.Fprintf(b, "proof: %s\n", maintenance.PurgePath(r.ID))
	fmt.Fprintln(b, "not reached:")
	for _, place := range r.NotReached {
		fmt.Fprintf(b, "  %s\n", printable(place))
	}
}
