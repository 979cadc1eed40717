package main

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/telemetry"
	"example.org/growthexport/internal/wording"
)

// The maximum time that a finished command waits for the collector, normally and after an interrupt.
const (
	collectorTimeout            = 5 * time.Second
	interruptedCollectorTimeout = 2 * time.Second
)

// measuredCommands returns the names of the commands that can send telemetry.
func measuredCommands() []string { return []string{"run", "publish", "verify", "prune", "purge"} }

// measure makes a command send its metrics and traces to an OpenTelemetry collector, if the environment configures one.
// If they cannot be sent, there is only a warning.
func (a *app) measure(cmd *cobra.Command) {
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		signals, warnings := telemetry.SignalsFromEnv(a.env)
		for _, warning := range warnings {
			a.pending = append(a.pending, "OpenTelemetry: "+warning)
		}
		if signals == (telemetry.Signals{}) {
			return work(cmd, args)
		}
		ctx := cmd.Context()
		within, sending, err := telemetry.Start(ctx, signals, cmd.Name(), thisBuild().Version)
		if err != nil {
			a.pending = append(a.pending, "OpenTelemetry: nothing is sent: "+wording.OneLine(err))
			return work(cmd, args)
		}
		a.telemetry = sending
		cmd.SetContext(within)
		err = work(cmd, args)
		timeout := collectorTimeout
		if ctx.Err() != nil {
			timeout = interruptedCollectorTimeout
		}
		code := a.code
		if err != nil {
			code = exitCode(conclude(ctx, err))
		}
		if fault := sending.End(ctx, code, timeout); fault != nil {
			a.warn("OpenTelemetry: not everything was sent", fault)
		}
		return err
	}
}

// observer returns an observer of requests that updates progress and, if there is telemetry, the telemetry.
func (a *app) observer(base *url.URL, progress *pipeline.Progress) extract.Observer {
	if a.telemetry == nil {
		return progress
	}
	return observers{progress, a.telemetry.Service(base)}
}

// sample makes telemetry, if there is any, read the statistics of the client whenever metrics are sent.
func (a *app) sample(base *url.URL, client *extract.Client) {
	if a.telemetry != nil {
		a.telemetry.Sample(base, client.Stats)
	}
}

// tracer returns the tracer of a run's steps, or nil if there is no telemetry.
func (a *app) tracer() pipeline.Tracer {
	if a.telemetry == nil {
		return nil
	}
	return a.telemetry
}

// recordSummary reports the summary of a run to the collector.
func (a *app) recordSummary(ctx context.Context, summary *pipeline.Summary) {
	if a.telemetry != nil && summary != nil {
		a.telemetry.Summarize(ctx, summary, a.now())
	}
}

// observers is an Observer that passes each call on to several observers.
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
