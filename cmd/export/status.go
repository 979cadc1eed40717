package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/sink"
)

func (a *app) statusCommand() *cobra.Command {
	var o struct {
		general
		destination
	}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Lists the runs at a destination and how far each is",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := a.resolve(cmd)
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), &o.general, &o.destination, from)
		},
	}
	o.destination.define(cmd)
	o.general.define(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, o *general, at *destination, from sources) error {
	store, err := a.existingStore(ctx, at, from)
	if err != nil {
		return err
	}
	runs, err := await(ctx, func() ([]sink.RunState, error) { return sink.Runs(ctx, store) })
	if err != nil {
		return fmt.Errorf("list the runs at %s: %w", store, err)
	}
	if o.output == outputJSON {
		return writeJSON(a.stdout, struct {
			Destination string          `json:"destination"`
			Runs        []sink.RunState `json:"runs"`
		}{store.String(), notNil(runs)})
	}
	return writeRuns(a.stdout, store.String(), runs, a.now())
}

func writeRuns(w io.Writer, at string, runs []sink.RunState, now time.Time) error {
	var b strings.Builder
	if len(runs) == 0 {
		fmt.Fprintf(&b, "There are no runs at %s.\n", at)
	} else {
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "run\tkind\tdate\tstate\tsteps staged\tschools\tfailed\tdenied\tlast progress")
		for i := range runs {
			r := &runs[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", r.RunID, r.Kind, r.SnapshotDate, r.State,
				r.Staged, r.Units, count(r.Schools), count(r.Failed), count(r.Denied), age(now, r.LastProgress))
		}
		_ = t.Flush() // a strings.Builder takes everything
	}
	for i := range runs {
		for _, reason := range runs[i].Reasons {
			fmt.Fprintf(&b, "%s is held back because %s\n", runs[i].RunID, reason)
		}
		for _, problem := range runs[i].Problems {
			fmt.Fprintf(&b, "%s has a problem: %s\n", runs[i].RunID, printable(problem))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the runs: %w", err)
	}
	return nil
}
