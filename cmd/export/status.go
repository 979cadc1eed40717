package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// statusOptions holds the settings of status.
type statusOptions struct {
	general
	destination
	clean      bool
	cleanAfter time.Duration
	maxAge     *time.Duration
}

func (a *app) statusCommand() *cobra.Command {
	o := &statusOptions{}
	cmd := newCommand(a, o, a.status, "dest max-age clean clean-after config output", &cobra.Command{
		Use:   "status",
		Short: "Lists the runs at a destination and their progress",
		Example: "  growth-export status --dest /data/growth\n" +
			"  growth-export status --dest /data/growth --max-age 26h\n" +
			"  growth-export status --dest s3://bucket/prefix --clean",
	})
	g := o.destination.define(cmd)
	define(g, &o.maxAge, "max-age", "TIME", "", optional(parseAge),
		"exit with 1 if the newest snapshot was published longer ago; for monitoring")
	cleaning := group{cmd.Flags(), "Cleaning"}
	cleaning.toggle(&o.clean, "clean", "remove data staged by dead runs: runs that no process is working on and that have given no sign of life for --clean-after; runs that are held or waiting to be published are kept")
	define(cleaning, &o.cleanAfter, "clean-after", "TIME", "24h", parseDuration,
		"time without a sign of life after which a run counts as dead; a live run gives one every few minutes")
	o.general.define(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, o *statusOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, o.clean)
	if err != nil {
		return err
	}
	cleaned, err := changing(ctx, a, &o.destination, catalog, !o.clean, func(*session) ([]string, error) {
		if !o.clean {
			return nil, nil
		}
		if !catalog.Info().Locks && o.cleanAfter < maintenance.MinCleanAge {
			o.log.WarnContext(ctx, "on a store without locks, a slow run looks like a dead one: 15m is used instead of --clean-after", "destination", catalog.String())
		}
		cleaned, err := maintenance.Clean(ctx, catalog, a.now(), o.cleanAfter)
		if listed, unknown := catalog.ListsStaged(ctx); unknown == nil && !listed {
			o.log.WarnContext(ctx, "this store lists uploads by exact key only: uploads of the history, and of runs without a plan, cannot be found",
				"advice", "configure the store to expire stale uploads, but not before a held run would be published")
		}
		return cleaned, err
	})
	if err != nil {
		return err
	}
	runs, err := await(ctx, func() ([]snapshot.RunState, error) { return catalog.Runs(ctx) })
	if err != nil {
		return fmt.Errorf("list the runs at %s: %w", catalog, err)
	}
	held, err := snapshot.ReadIfSound[snapshot.HistoryPointer](ctx, catalog, snapshot.HistoryPointerPath)
	if err != nil {
		return err
	}
	pointers, err := await(ctx, func() ([]snapshot.DamagedPointer, error) { return catalog.DamagedPointers(ctx) })
	if err != nil {
		return err
	}
	newest, err := await(ctx, func() (string, error) { return catalog.WithoutLatest(ctx, runs) })
	if err != nil {
		return err
	}
	var problems []string
	for _, pointer := range pointers {
		problems = append(problems, pointer.Problem+": "+pointerAdvice(catalog, pointer.Path, runs, newest))
		if pointer.Path == snapshot.LatestPath {
			newest = "" // this problem is already listed
		}
	}
	purges, err := await(ctx, func() ([]snapshot.UnfinishedPurge, error) { return catalog.UnfinishedPurges(ctx) })
	if err != nil {
		return err
	}
	damaged, err := await(ctx, func() ([]string, error) { return catalog.DamagedPurges(ctx) })
	if err != nil {
		return err
	}
	undone, err := await(ctx, func() ([]string, error) { return catalog.UndonePurges(ctx, runs) })
	if err != nil {
		return err
	}
	problems = slices.Concat(problems, damaged, undone, texts(purges))
	var ids []string
	for i := range runs {
		ids = append(ids, runs[i].Purges...)
	}
	proofs, err := await(ctx, func() ([]string, error) { return catalog.MissingProofs(ctx, ids) })
	if err != nil {
		return err
	}
	for _, proof := range proofs {
		problems = append(problems, proof+": this proof of a purge is missing, although a manifest refers to it: "+snapshot.RestoreProof)
	}
	if newest != "" {
		problems = append(problems, snapshot.LatestPath+" does not refer to the newest snapshot: "+wording.WriteAgain(catalog.String(), newest))
	}
	lost, err := await(ctx, func() ([]snapshot.RunState, error) { return catalog.LostPointers(ctx, runs) })
	if err != nil {
		return err
	}
	for i := range lost {
		problems = append(problems, fmt.Sprintf("%s is missing, although run %s is published for this date: %s",
			snapshot.PointerPath(lost[i].Kind, lost[i].SnapshotDate), lost[i].RunID, wording.WriteAgain(catalog.String(), lost[i].RunID)))
	}
	outside, reason, err := catalog.LeavesOut(ctx)
	if err != nil {
		return err
	}
	if outside != nil {
		problems = append(problems, fmt.Sprintf("the history is no longer extended: the snapshot of %s does not belong to it, because %s; %s",
			outside.SnapshotDate, reason, wording.OtherHistory))
	}
	stopped, err := await(ctx, func() (*history.NeedsRebuildError, error) { return history.Stopped(ctx, catalog, runs) })
	if err != nil {
		return err
	}
	if stopped != nil {
		problems = append(problems, "the history is no longer extended: "+stopped.Reason())
	}
	value := struct {
		Destination string              `json:"destination"`
		Runs        []snapshot.RunState `json:"runs"`
		Cleaned     []string            `json:"cleaned,omitempty"`
		// Problems lists the problems that are not in Runs, such as damaged documents that do not belong to a run.
		Problems []string `json:"problems,omitempty"`

		History *snapshot.HistoryPointer `json:"history,omitempty"`
	}{catalog.String(), notNil(runs), cleaned, problems, held}
	var text strings.Builder
	text.WriteString(statusText(catalog.String(), runs, held != nil, cleaned, a.now(), columns(a.stdout)))
	if held != nil {
		fmt.Fprintf(&text, "history through %s\n", held.Through)
	}
	writeFirst(&text, "problem: ", problems)
	if err := a.writeOutput(o.output, value, text.String()); err != nil || o.maxAge == nil {
		return err
	}
	return checkAge(catalog.String(), runs, a.now(), *o.maxAge)
}

// pointerAdvice returns advice on how to repair a damaged pointer. newest is the run to which _latest.json should
// refer, or "" if it already does or there is no such run.
func pointerAdvice(catalog snapshot.Catalog, path string, runs []snapshot.RunState, newest string) string {
	switch {
	case path == snapshot.HistoryPointerPath:
		return wording.RebuildHistory(catalog.String())
	case path == snapshot.LatestPath && newest != "":
		return wording.WriteAgain(catalog.String(), newest)
	}
	for i := range runs {
		r := &runs[i]
		if r.State == snapshot.StatePublished && len(r.Problems) == 0 && snapshot.PointerPath(r.Kind, r.SnapshotDate) == path {
			return wording.WriteAgain(catalog.String(), r.RunID)
		}
	}
	return wording.Restore
}

// checkAge returns an error if the newest full snapshot was published longer ago than maxAge, or if there is no such
// snapshot. A snapshot of only some schools or students counts only if there is no other full snapshot.
func checkAge(dest string, runs []snapshot.RunState, now time.Time, maxAge time.Duration) error {
	var newest *snapshot.RunState
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Kind != snapshot.Full || r.State != snapshot.StatePublished:
		case newest == nil, newest.Filtered && !r.Filtered, newest.Filtered == r.Filtered && r.SnapshotDate > newest.SnapshotDate:
			newest = r
		}
	}
	if newest == nil {
		return fmt.Errorf("no full snapshot is published at %s", dest)
	}
	if age := now.Sub(newest.LastProgress); age > maxAge {
		return fmt.Errorf("the newest snapshot at %s, of %s, was published %s ago, more than --max-age %s: look at the logs of the runs since then",
			dest, newest.SnapshotDate, wording.Duration(age), maxAge)
	}
	return nil
}

// statusText lists runs as a table or, on a terminal that is too narrow for the table, each run as a few short lines.
// If columns is 0, the width is unknown. If hasHistory is true, the suggested commands for held full runs also add
// these runs to the history.
func statusText(dest string, runs []snapshot.RunState, hasHistory bool, cleaned []string, now time.Time, columns int) string {
	var b strings.Builder
	for _, run := range cleaned {
		fmt.Fprintf(&b, "cleaned run %s\n", printable(run))
	}
	if len(runs) == 0 {
		fmt.Fprintf(&b, "There are no runs at %s.\n", dest)
		return b.String()
	}
	cells := [][]string{{"run", "kind", "date", "state", "schools", "failed", "denied", "rows", "size", "took", "last sign of life"}}
	for i := range runs {
		r := &runs[i]
		rows, size, took := "-", "-", "-"
		readable := r.Bytes > 0 || len(r.Problems) == 0 // whether the manifest, which contains these figures, could be read
		if readable && (r.State == snapshot.StatePublished || r.State == snapshot.StateReplaced) {
			rows, took = wording.Count(r.Rows), wording.Duration(max(r.Duration, time.Second)) // the times in a manifest are whole seconds
		}
		if readable && r.State == snapshot.StatePublished {
			size = wording.Size(r.Bytes)
		}
		cells = append(cells, []string{
			r.RunID, string(r.Kind), r.SnapshotDate, stateText(r),
			wording.Count(r.Schools), wording.Count(r.Failed), wording.Count(r.Denied), rows, size, took, ageText(now, r.LastProgress),
		})
	}
	b.WriteString(tableText(cells, columns))
	var problems []string
	for i := range runs {
		r := &runs[i]
		if r.PrivacyKey != "" {
			fmt.Fprintf(&b, "%s was exported with --privacy %s, key fingerprint %s\n", r.RunID, r.Privacy, r.PrivacyKey)
		}
		b.WriteString(shardsText(r))
		if r.Students != nil {
			fmt.Fprintf(&b, "%s covers a cohort: %s\n", r.RunID, listedText(r.Students))
		}
		if r.SupersededBy != "" {
			fmt.Fprintf(&b, "%s was held back; %s has been published for its date\n", r.RunID, r.SupersededBy)
		}
		for _, reason := range r.Reasons {
			fmt.Fprintf(&b, "%s is held back because %s\n", r.RunID, reason)
		}
		if len(r.Reasons) > 0 {
			words := []any{wording.Setting("dest"), dest, wording.Setting("run-id"), r.RunID, wording.Setting("accept-held")}
			if hasHistory && r.Kind == snapshot.Full && !r.Filtered {
				words = append(words, wording.Setting("history"))
			}
			fmt.Fprintf(&b, "to publish run %s as it is: %s\n", r.RunID, wording.Command("publish", words...))
		}
		for _, problem := range r.Problems {
			problems = append(problems, r.RunID+" has a problem: "+problem)
		}
	}
	writeFirst(&b, "", problems)
	return b.String()
}

// tableText returns a table with a heading or, if it is wider than the terminal, a paragraph for each row. In a
// paragraph, each cell but the first follows its heading, and cells that hold only a hyphen are left out.
func tableText(rows [][]string, columns int) string {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // Writing to a strings.Builder cannot fail.
	width := 0
	for line := range strings.Lines(table.String()) {
		width = max(width, utf8.RuneCountInString(line)-1)
	}
	if columns == 0 || width <= columns {
		return table.String()
	}
	h := helpText{width: columns}
	for _, row := range rows[1:] {
		h.writeLine(row[0])
		var facts []string
		for i, cell := range row[1:] {
			if cell != "-" {
				facts = append(facts, rows[0][i+1]+" "+cell)
			}
		}
		h.b.WriteString("  ")
		h.wrap(2, 2, strings.Join(facts, ", "))
		h.b.WriteByte('\n')
	}
	return h.b.String()
}

// shardsText lists the shards of a run by progress: staged, staged in part, and nothing staged yet.
func shardsText(r *snapshot.RunState) string {
	var staged, part, nothing []string
	for _, shard := range r.Shards {
		name := strconv.Itoa(shard.Shard)
		switch {
		case shard.Tasks == 0: // there are more shards than buckets
		case shard.Tasks == shard.Staged:
			staged = append(staged, name)
		case shard.Staged > 0:
			part = append(part, fmt.Sprintf("%s (%d of %d tasks)", name, shard.Staged, shard.Tasks))
		default:
			nothing = append(nothing, name)
		}
	}
	var groups []string
	for _, group := range []struct {
		shards []string
		state  string
	}{{staged, "staged"}, {part, "staged in part"}, {nothing, "nothing staged yet"}} {
		if len(group.shards) > 0 {
			groups = append(groups, group.state+" "+strings.Join(group.shards, ", "))
		}
	}
	if len(groups) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has %d shards: %s\n", r.RunID, len(r.Shards), strings.Join(groups, "; "))
}

// stateText returns the state of a run, with the number of staged tasks while it is staging. A published run whose
// manifest is missing is shown as published, although its state in JSON is staging.
func stateText(r *snapshot.RunState) string {
	switch {
	case r.SupersededBy != "":
		return r.State + ", superseded"
	case r.ManifestMissing:
		return snapshot.StatePublished + ", manifest missing"
	case r.State == snapshot.StateStaging && r.Tasks > 0:
		return fmt.Sprintf("%s, %d of %d tasks", r.State, r.Staged, r.Tasks)
	}
	return r.State
}

// ageText formats the time that has passed since then.
func ageText(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return wording.Duration(max(0, now.Sub(then))) + " ago"
}
