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
	cleaning.toggle(&o.clean, "clean", "drop what dead runs have left staged: published ones, and killed ones that nobody resumes")
	define(cleaning, &o.cleanAfter, "clean-after", "TIME", "24h", parseDuration,
		"how long a run that is staging makes no progress before it counts as dead")
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
		fmt.Fprintln(t, "run\tkind\tdate\tstate\tsteps staged\tschools\tfailed\tdenied\tlast progress")
		for i := range runs {
			r := &runs[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", r.RunID, r.Kind, r.SnapshotDate, r.State,
				r.Staged, r.Units, wording.Count(r.Schools), wording.Count(r.Failed), wording.Count(r.Denied), age(now, r.LastProgress))
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
	return writeText(w, b.String())
}
