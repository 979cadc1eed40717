package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// dropEnded drops old versions from the history and writes a proof, unless there is nothing to drop or it is a dry run.
// On a terminal, it asks for confirmation first unless --yes is set.
func (a *app) dropEnded(ctx context.Context, o *historyOptions, catalog snapshot.Catalog) error {
	drop := func(dryRun bool) (*maintenance.PurgeReport, error) {
		options := a.sessionOptions(&o.destination)
		options.DryRun, options.Purge = dryRun, true
		report, err := changingWith(ctx, options, catalog, func(*session) (*maintenance.PurgeReport, error) {
			return maintenance.DropEnded(ctx, catalog, maintenance.DropEndedOptions{
				Before: o.dropBefore, DryRun: dryRun, Now: a.now, ToolVersion: thisBuild().Version,
			})
		})
		if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
			return nil, usagef("%w", refused)
		}
		return report, err
	}
	if !o.dryRun && !o.yes && a.asks() {
		planned, err := drop(true)
		if err == nil && planned.History != nil {
			err = a.confirm(ctx, dropText(planned)+"Drop these rows? Type yes to drop them", "yes", "nothing was dropped")
		}
		if err != nil {
			return err
		}
	}
	report, err := drop(o.dryRun)
	if err != nil {
		return fmt.Errorf("%w; run the same command again once this is fixed", err)
	}
	text, done := dropText(report), erasing(report)
	noNotice := o.notice != "" && done.History == nil
	if noNotice {
		text += "no notice was written\n"
	}
	err = a.writeOutput(o.output, report, text)
	if err == nil && o.notice != "" && !noNotice {
		err = a.writeNotice(ctx, o.notice, nil, catalog, report)
	}
	return err
}

// dropText describes the rows that were dropped from the history or, after a dry run, would be dropped.
func dropText(r *maintenance.PurgeReport) string {
	var b strings.Builder
	switch {
	case r.History == nil && r.Earlier != nil:
		fmt.Fprintf(&b, "Nothing to drop. Proof: %s\n", maintenance.PurgePath(r.Earlier.ID))
	case r.History == nil:
		fmt.Fprintf(&b, "Nothing to drop: no row of the history ended before %s.\n", r.Asked.EndedBefore)
	}
	if r.History == nil {
		return b.String()
	}
	verb, files := "dropped", "were removed"
	if r.DryRun {
		verb, files = "would drop", "would be removed"
	}
	total := int64(0)
	for _, table := range slices.Sorted(maps.Keys(r.History.RowsRemoved)) {
		rows := r.History.RowsRemoved[table]
		total += rows
		fmt.Fprintf(&b, "%s %s of %s in the history\n", verb, wording.Many(rows, "row"), table)
	}
	fmt.Fprintf(&b, "%s that ended before %s, in %s that %s\n",
		wording.Many(total, "row"), r.Asked.EndedBefore, wording.Many(r.History.FilesRewritten, "file"), files)
	if r.Verification != nil {
		fmt.Fprintf(&b, "verified: no file of an earlier date is left, and the other %s of the history could be read (%s, %s)\n",
			wording.Many(r.Verification.Files, "file"), wording.Many(r.Verification.Rows, "row"), wording.Size(r.Verification.Bytes))
		fmt.Fprintf(&b, "proof: %s\n", maintenance.PurgePath(r.ID))
	}
	fmt.Fprintln(&b, "not reached:")
	for _, place := range r.NotReached {
		fmt.Fprintf(&b, "  %s\n", printable(place))
	}
	return b.String()
}
