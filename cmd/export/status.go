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
	"example.org/growthexport/internal/wording"
)

// statusOptions are the settings of status.
type statusOptions struct {
	general
	destination
	clean      bool
	cleanAfter time.Duration
}

func (a *app) statusCommand() *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:         "status",
		Annotations: map[string]string{oftenAnnotation: "dest clean clean-after config output"},
		Short:       "Lists the runs at a destination and how far each is",
		Args:        noArguments,
		Example: "  growth-export status --dest /data/growth\n" +
			"  growth-export status --dest s3://bucket/prefix --clean",
		RunE: resolved(a, o, a.status),
	}
	o.destination.define(cmd)
	cleaning := group{cmd.Flags(), "Cleaning"}
	cleaning.toggle(&o.clean, "clean", "remove what dead runs have staged: those that no process holds and that gave no sign of life for --clean-after")
	define(cleaning, &o.cleanAfter, "clean-after", "TIME", "24h", parseDuration,
		"how long a run has given no sign of life before it counts as dead; a run at work gives one every few minutes")
	o.general.define(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, o *statusOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	store, err := a.existingStore(ctx, &o.destination, from)
	if err != nil {
		return err
	}
	var cleaned []string
	if o.clean {
		cleaned, err = await(ctx, func() ([]string, error) { return sink.Clean(ctx, store, a.now(), o.cleanAfter) })
		if err != nil {
			return err
		}
	}
	runs, err := await(ctx, func() ([]sink.RunState, error) { return sink.Runs(ctx, store) })
	if err != nil {
		return fmt.Errorf("list the runs at %s: %w", store, err)
	}
	if o.output == outputJSON {
		return writeJSON(a.stdout, struct {
			Destination string          `json:"destination"`
			Runs        []sink.RunState `json:"runs"`
			Cleaned     []string        `json:"cleaned,omitempty"`
		}{store.String(), notNil(runs), cleaned})
	}
	for _, run := range cleaned {
		fmt.Fprintf(a.stdout, "cleaned run %s\n", printable(run))
	}
	return writeRuns(a.stdout, store.String(), runs, a.now())
}

func writeRuns(w io.Writer, at string, runs []sink.RunState, now time.Time) error {
	var b strings.Builder
	if len(runs) == 0 {
		fmt.Fprintf(&b, "There are no runs at %s.\n", at)
	} else {
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "run\tkind\tdate\tstate\tschools\tfailed\tdenied\trows\tsize\ttook\tlast sign of life")
		for i := range runs {
			r := &runs[i]
			rows, size, took := "-", "-", "-"
			if r.State == sink.StatePublished || r.State == sink.StateReplaced {
				rows, took = wording.Count(r.Rows), wording.Duration(r.Duration)
			}
			if r.State == sink.StatePublished {
				size = wording.Size(r.Bytes)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.RunID, r.Kind, r.SnapshotDate, stateOf(r),
				wording.Count(r.Schools), wording.Count(r.Failed), wording.Count(r.Denied), rows, size, took, age(now, r.LastProgress))
		}
		_ = t.Flush() // a strings.Builder takes everything
	}
	for i := range runs {
		if by := runs[i].SupersededBy; by != "" {
			fmt.Fprintf(&b, "%s was held back; %s has been published for its date\n", runs[i].RunID, by)
		}
		for _, reason := range runs[i].Reasons {
			fmt.Fprintf(&b, "%s is held back because %s\n", runs[i].RunID, reason)
		}
		for _, problem := range runs[i].Problems {
			fmt.Fprintf(&b, "%s has a problem: %s\n", runs[i].RunID, printable(problem))
		}
	}
	return writeText(w, b.String())
}

// stateOf is the state of a run, and how much of it is staged while it is not
// published.
func stateOf(r *sink.RunState) string {
	switch {
	case r.SupersededBy != "":
		return r.State + ", superseded"
	case r.State == sink.StateStaging && r.Units > 0:
		return fmt.Sprintf("%s, %d of %d tasks", r.State, r.Staged, r.Units)
	}
	return r.State
}
