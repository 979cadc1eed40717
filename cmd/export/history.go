package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/schemas"
)

// historyOptions holds the settings of history.
type historyOptions struct {
	general
	destination
	rebuild    bool
	dropBefore string
	dryRun     bool
	notice     string
	yes        bool
}

func (a *app) historyCommand() *cobra.Command {
	o := &historyOptions{}
	cmd := newCommand(a, o, a.history, "dest rebuild config output", &cobra.Command{
		Use:   "history",
		Short: "Adds new snapshots to the history of all rows",
		Long: "Adds all full snapshots newer than the history, oldest first. The history\n" +
			"holds every version of every row that a snapshot held, with the dates between which it\n" +
			"was current and why it ended. Snapshots of only some schools, or with other settings\n" +
			"than the first snapshot, are left out and listed. The same command finishes an update\n" +
			"that was killed.\n\n" +
			"With --drop-ended-before, it only removes old rows and writes a proof.",
		Example: "  growth-export history --dest /data/growth\n" +
			"  growth-export history --drop-ended-before 2021-07-01 --dry-run\n" +
			"  growth-export verify --dest /data/growth --history",
	})
	o.defineWriting(o.destination.define(cmd))
	g := group{cmd.Flags(), "History"}
	g.toggle(&o.rebuild, "rebuild", "rebuild the whole history from the snapshots; readers see the old one until it is done")
	define(g, &o.dropBefore, "drop-ended-before", "DATE", "", parseDate, "instead of adding snapshots, remove the rows that ended before this date, and write a proof to _purges")
	g.toggle(&o.dryRun, "dry-run", "with --drop-ended-before, print what would be removed and change nothing")
	define(g, &o.notice, "notice", "FILE", "", parsePath, "also write an HTML page about the removed rows, to print and sign")
	g.toggle(&o.yes, "yes", "do not ask for confirmation on a terminal")
	o.general.define(cmd)
	return cmd
}

// defineHistory adds the setting that updates the history after publishing.
func defineHistory(g group, target *bool) {
	g.toggle(target, "history", "add new snapshots to the history after publishing")
}

// check returns a usage error if the given settings cannot be used together, or if the notice could not be written.
func (o *historyOptions) check(from sources) error {
	switch {
	case o.dropBefore != "" && o.rebuild:
		return usagef("--rebuild and --drop-ended-before cannot be used together: rebuild, then drop")
	case o.dropBefore == "" && (o.dryRun || o.notice != ""):
		return usagef("--dry-run and --notice need --drop-ended-before DATE")
	case o.notice == "":
		return nil
	}
	return checkNoticePath(o.notice, o.dryRun, from)
}

func (a *app) history(ctx context.Context, o *historyOptions, from sources) error {
	if err := o.check(from); err != nil {
		return err
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, !o.dryRun)
	if err != nil {
		return err
	}
	if o.dropBefore != "" {
		return a.dropEnded(ctx, o, catalog)
	}
	report, err := changing(ctx, a, &o.destination, catalog, false, func(s *session) (*history.Report, error) {
		if err := s.Recovered.Err(); err != nil {
			return nil, fmt.Errorf("finish an interrupted command: %w", err)
		}
		return s.UpdateHistory(ctx, o.rebuild)
	})
	if err == nil && report.HistoryID == "" && len(report.LeftOut) == 0 {
		return fmt.Errorf("no full snapshot is published at %s: %w", catalog, errNothingPublished)
	}
	if err != nil {
		err = fmt.Errorf("update the history at %s: %w", catalog, err)
	}
	if report == nil {
		return err
	}
	// A failed update reports the snapshots that it added before the failure.
	unwritten := a.writeOutput(o.output, report, historyText(report, catalog.String(), err != nil))
	return cmp.Or(err, unwritten)
}

func historyText(r *history.Report, dest string, failed bool) string {
	var b strings.Builder
	for _, f := range r.Folded {
		fmt.Fprintf(&b, "%s (run %s)\n", f.Date, f.RunID)
		writeTableCounts(&b, f.Tables)
	}
	var leftOut []string
	for _, left := range r.LeftOut {
		leftOut = append(leftOut, fmt.Sprintf("%s (run %s): %s", left.Date, left.RunID, left.Reason))
	}
	writeFirst(&b, "left out ", leftOut)
	switch {
	case failed && len(r.Folded) == 0: // nothing was done
	case r.HistoryID == "":
		fmt.Fprintf(&b, "There is no history at %s: all full snapshots are left out.\n", dest)
	case len(r.Folded) == 0:
		fmt.Fprintf(&b, "Nothing to add: the history at %s goes through %s.\n", dest, r.Through)
	default:
		fmt.Fprintf(&b, "The history at %s goes through %s.\n", dest, r.Through)
	}
	return b.String()
}

// writeTableCounts writes a line for each table with new or ended versions.
func writeTableCounts(b *strings.Builder, tables map[string]*history.TableCounts) {
	for _, name := range schemas.TablesInOrder(tables) {
		if c := tables[name]; c.Begun+c.Ended > 0 {
			fmt.Fprintf(b, "  %s: %s\n", name, history.DescribeVersions(name, c))
		}
	}
}
