package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// purgeOptions are the settings of purge.
type purgeOptions struct {
	general
	destination
	schools, districts []string
	dryRun             bool
}

func (a *app) purgeCommand() *cobra.Command {
	o := &purgeOptions{}
	cmd := &cobra.Command{
		Use:         "purge",
		Annotations: map[string]string{oftenAnnotation: "dest schools districts dry-run config"},
		Short:       "Removes all rows of schools or districts from every snapshot",
		Long: "Removes all rows of some schools, or of some districts and their schools, from\n" +
			"every snapshot, as-of snapshot and set of changes at the destination, reads all\n" +
			"again and stores a proof under _purges. What unfinished runs have staged is\n" +
			"dropped: the same command takes it anew. Ledgers, plans and manifests, which\n" +
			"name schools and hold nothing of students, stay.\n\n" +
			"A purge that was killed is finished by the same command. Out of its reach are\n" +
			"object versions of a bucket, backups and copies.",
		Args: noArguments,
		Example: "  growth-export purge --dest /data/growth --districts 7d1c... --dry-run\n" +
			"  growth-export purge --dest s3://bucket/growth --schools @ended.txt",
		RunE: resolved(a, o, a.purge),
	}
	o.defineWriting(o.destination.define(cmd))
	g := group{cmd.Flags(), "What is removed (flags alone count here: elsewhere these names restrict runs)"}
	g.list(&o.schools, "schools", nil, "the rows of these bids: a comma list, or @FILE")
	g.list(&o.districts, "districts", nil, "those of these districts and of their schools: bids likewise")
	g.toggle(&o.dryRun, "dry-run", "tell what would be removed, and change nothing")
	o.general.define(cmd)
	return cmd
}

// purgeTarget returns what is to be purged. It must be said with flags: in an
// environment or a file the same names restrict runs, and a purge of just the
// schools that somebody exports would be the worst of accidents.
func (o *purgeOptions) purgeTarget(from sources) (schools, districts []string, err error) {
	bySchool, byDistrict := from["schools"].rank == byFlag, from["districts"].rank == byFlag
	switch {
	case bySchool && byDistrict:
		return nil, nil, usagef("--schools and --districts exclude each other: purge one, then the other")
	case bySchool:
		return o.schools, nil, nil
	case byDistrict:
		return nil, o.districts, nil
	}
	for _, name := range []string{"schools", "districts"} {
		if from.given(name) {
			return nil, nil, usagef("%s says what runs export: say with the flag --schools or --districts what to purge", from[name].name)
		}
	}
	return nil, nil, usagef("say what to purge: --schools LIST or --districts LIST")
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
	options := sink.PurgeOptions{
		Schools: schools, Districts: districts, DryRun: o.dryRun, Now: a.now, ToolVersion: thisBuild().Version,
	}
	report, err := await(ctx, func() (*sink.PurgeReport, error) { return sink.Purge(ctx, store, options) })
	if err != nil {
		if refused, ok := errors.AsType[*sink.RefusedError](err); ok {
			return refused
		}
		return fmt.Errorf("%w; once that is put right the same command goes on", err)
	}
	if !o.dryRun {
		a.rewriteReports(ctx, store, report.Runs)
	}
	if o.output == outputJSON {
		return writeJSON(a.stdout, report)
	}
	return writePurged(a.stdout, report)
}

// rewriteReports has the pages of runs show what a purge has left of them.
func (a *app) rewriteReports(ctx context.Context, store sink.Store, runs []sink.PurgedRun) {
	for i := range runs {
		if _, err := pipeline.WriteReport(ctx, store, runs[i].RunID); err != nil {
			a.warn("the report of a run cannot be written again", err)
		}
	}
}

func writePurged(w io.Writer, r *sink.PurgeReport) error {
	var b strings.Builder
	for _, bid := range r.Unknown {
		fmt.Fprintf(&b, "no row and no run names %s\n", quoted(bid))
	}
	verb, dropped := "removed", "dropped run"
	if r.DryRun {
		verb, dropped = "would remove", "would drop run"
	}
	for _, run := range r.DroppedRuns {
		fmt.Fprintf(&b, "%s %s, which was not published: the same command takes it anew\n", dropped, printable(run))
	}
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "%s, run %s: %s of %s\n", taken(run.Kind, run.SnapshotDate), run.RunID,
			wording.Many(len(run.Files), "file"), wording.Many(len(run.RowsRemoved), "table"))
	}
	for _, table := range slices.Sorted(maps.Keys(r.RowsRemoved)) {
		fmt.Fprintf(&b, "%s %s of %s\n", verb, wording.Many(r.RowsRemoved[table], "row"), table)
	}
	switch {
	case r.Nothing():
		fmt.Fprintln(&b, "nothing to do")
	case !r.DryRun:
		writeProof(&b, r)
	}
	return writeText(w, b.String())
}

// writeProof says what was read again, and what nobody can tell.
func writeProof(b *strings.Builder, r *sink.PurgeReport) {
	fmt.Fprintf(b, "read again: %s files, %s rows, %s; %s rows of them found\n",
		wording.Count(r.Reread.Files), wording.Count(r.Reread.Rows), wording.Size(r.Reread.Bytes), wording.Count(r.Reread.RowsFound))
	for _, table := range slices.Sorted(maps.Keys(r.Reread.RowsMentioning)) {
		fmt.Fprintf(b, "%s rows of others in %s name one of the bids in another column; they stay\n",
			wording.Count(r.Reread.RowsMentioning[table]), table)
	}
	fmt.Fprintf(b, "proof: %s\n", sink.PurgePath(r.ID))
	fmt.Fprintln(b, "not reached:")
	for _, place := range r.NotReached {
		fmt.Fprintf(b, "  %s\n", printable(place))
	}
}
