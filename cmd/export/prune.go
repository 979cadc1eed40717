package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// allKinds is the value of --kind that selects every kind of snapshot.
const allKinds = "all"

// pruneOptions holds the settings of prune.
type pruneOptions struct {
	general
	destination
	keep     int
	keepDays int
	kind     string
	leftOut  bool
	dryRun   bool
}

func (a *app) pruneCommand() *cobra.Command {
	o := &pruneOptions{}
	cmd := newCommand(a, o, a.prune, "dest keep keep-days kind dry-run config", &cobra.Command{
		Use:   "prune",
		Short: "Removes whole old snapshots",
		Long: "Removes whole old snapshots. Only full snapshots are removed, unless --kind selects\n" +
			"another kind; --keep and --keep-days then apply to each kind separately. The\n" +
			"snapshot in _latest.json is always kept, and so are the history, the snapshots that it\n" +
			"does not hold, and the snapshots that a rebuild needs to add one of these. The next\n" +
			"prune finishes a prune that was killed.",
		Example: "  growth-export prune --dest /data/growth --keep-days 90 --dry-run\n" +
			"  growth-export prune --dest /data/growth --keep 30",
	})
	o.defineWriting(o.destination.define(cmd))
	g := group{cmd.Flags(), "What to keep"}
	define(g, &o.keep, "keep", "N", "", between(1, math.MaxInt), "keep the newest N snapshots of the kind")
	define(g, &o.keepDays, "keep-days", "N", "", between(1, 1000000),
		"keep the snapshots of the last N days; for as-of snapshots, those taken in that time")
	choose(g, &o.kind, "kind", "KIND", string(snapshot.Full),
		[]string{string(snapshot.Full), string(snapshot.AsOf), string(snapshot.Delta), allKinds},
		"the snapshots to prune: full, as_of, delta or all")
	g.toggle(&o.leftOut, "left-out",
		"also remove snapshots that the history leaves out, such as those of only some schools or with other settings")
	g.toggle(&o.dryRun, "dry-run", "print what would be removed and remove nothing")
	o.general.define(cmd)
	return cmd
}

func (a *app) prune(ctx context.Context, o *pruneOptions, from sources) error {
	which, err := from.pick("keep", "keep-days")
	if err != nil {
		return err
	}
	options := maintenance.PruneOptions{Now: a.now, LeftOut: o.leftOut, DryRun: o.dryRun}
	if o.kind != allKinds {
		options.Kinds = []snapshot.Kind{snapshot.Kind(o.kind)}
	}
	switch which {
	case "keep":
		options.Keep = o.keep
	case "keep-days":
		options.KeepDays = o.keepDays
	default:
		return usagef("set what to keep: --keep N (the newest N snapshots) or --keep-days N (from the last N days)")
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, !o.dryRun)
	if err != nil {
		return err
	}
	report, err := changing(ctx, a, &o.destination, catalog, o.dryRun, func(s *session) (*maintenance.PruneReport, error) {
		options.Begun = s.Recovered.Pruned
		return maintenance.Prune(ctx, catalog, options)
	})
	if report == nil {
		return err
	}
	// Even a failed prune reports the runs that it has removed.
	unwritten := a.writeOutput(o.output, report, pruneText(report, err != nil))
	if err != nil {
		return fmt.Errorf("prune %s: %w", catalog, err)
	}
	return unwritten
}

func pruneText(r *maintenance.PruneReport, failed bool) string {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	var b strings.Builder
	for _, run := range r.Removed {
		fmt.Fprintf(&b, "%s %s, run %s: %s\n", verb, snapshotName(run.Kind, run.SnapshotDate), run.RunID, contents(&run))
	}
	for _, run := range r.Unfolded {
		fmt.Fprintf(&b, "kept snapshot %s, run %s: the history does not hold it ", run.SnapshotDate, run.RunID)
		switch {
		case run.Reason != "":
			fmt.Fprintf(&b, "because %s; --left-out removes it\n", run.Reason)
		case run.Command != "":
			fmt.Fprintf(&b, "yet; %s adds it\n", run.Command)
		default:
			b.WriteString("and cannot be rebuilt to add it, because snapshots that it holds are pruned\n")
		}
	}
	if n := len(r.NeededByRebuild); n > 0 {
		fmt.Fprintf(&b, "kept %s that this rebuild needs: %s; prune again after the rebuild\n", wording.Many(n, "snapshot"), wording.First(r.NeededByRebuild, 5))
	}
	if failed { // the kept snapshots may not have been counted
		return b.String()
	}
	fmt.Fprintf(&b, "%s %s; %s kept\n", verb, wording.Many(len(r.Removed), "run"), wording.Many(r.Kept, "snapshot"))
	return b.String()
}

// contents describes the contents of a removed run.
func contents(run *maintenance.PrunedRun) string {
	if run.State == snapshot.Replaced {
		return "documents of a replaced run"
	}
	return fmt.Sprintf("%s, %s", wording.Many(run.Files, "file"), wording.Size(run.Bytes))
}
