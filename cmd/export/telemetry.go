package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/telemetry"
)

// How long a command that is done waits for a collector.
const (
	collectorPatience            = 5 * time.Second
	interruptedCollectorPatience = 2 * time.Second
)

// measuredCommands are those that a collector is told of.
func measuredCommands() []string { return []string{"run", "publish", "verify", "prune", "purge"} }

// measure has an OpenTelemetry collector told of what a command does, if the
// environment asks for that. What becomes of that changes nothing: it is told
// as a warning.
func (a *app) measure(cmd *cobra.Command) {
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		asked, warnings := telemetry.Asked(a.env)
		for _, warning := range warnings {
			a.pending = append(a.pending, "OpenTelemetry: "+warning)
		}
		if asked == (telemetry.Signals{}) {
			return work(cmd, args)
		}
		ctx := cmd.Context()
		within, sending, err := telemetry.Start(ctx, asked, cmd.Name(), thisBuild().Version)
		if err != nil {
			a.pending = append(a.pending, "OpenTelemetry: nothing is sent: "+oneLine(err))
			return work(cmd, args)
		}
		a.telemetry = sending
		cmd.SetContext(within)
		err = work(cmd, args)
		patience := collectorPatience
		if ctx.Err() != nil {
			patience = interruptedCollectorPatience
		}
		code := a.code
		if err != nil {
			code = exitCode(conclude(ctx, err))
		}
		if fault := sending.End(ctx, code, patience); fault != nil {
			a.warn("OpenTelemetry: not everything was sent", fault)
		}
		return err
	}
}

// observe adds what tells of the run to the collector, if that is asked, to
// what its parts are made with.
func (a *app) observe(base *url.URL, meter *pipeline.Meter) extract.Observer {
	if a.telemetry == nil {
		return meter
	}
	return observers{meter, a.telemetry.Service(base)}
}

// sample has the client's state told to the collector, if that is asked.
func (a *app) sample(base *url.URL, client *extract.Client) {
	if a.telemetry != nil {
		a.telemetry.Sample(base, client.Stats)
	}
}

// watcher is who is told of the steps of a run; nil for nobody.
func (a *app) watcher() pipeline.Watcher {
	if a.telemetry == nil {
		return nil
	}
	return a.telemetry
}

// summarize tells the collector, if that is asked, what became of a run.
func (a *app) summarize(ctx context.Context, summary *pipeline.Summary) {
	if a.telemetry != nil && summary != nil {
		a.telemetry.Summarize(ctx, summary, a.now())
	}
}

// observers are all told.
type observers []extract.Observer

func (all observers) Requested(ctx context.Context, event extract.Event) {
	for _, o := range all {
		o.Requested(ctx, event)
	}
}

func (all observers) Retried(ctx context.Context, operation, cause string) {
	for _, o := range all {
		o.Retried(ctx, operation, cause)
	}
}

// warn tells of something that went wrong and changes nothing.
func (a *app) warn(what string, err error) {
	if a.records != nil {
		a.records.Warn(what, "error", oneLine(err)) //nolint:sloglint // what is a constant of the caller
		return
	}
	fmt.Fprintf(a.stderr, "growth-export: warning: %s: %s\n", what, oneLine(err))
}
