package main

import (
	"context"

	"github.com/spf13/cobra"

	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/pipeline"
)

// publishOptions holds the settings of publish.
type publishOptions struct {
	general
	destination
	limits
	finishing
	runID         string
	acceptHeld    bool
	abandon       bool
	replace       bool
	acceptBaseURL bool
	deltaLake     bool
	history       bool
}

func (a *app) publishCommand() *cobra.Command {
	o := &publishOptions{}
	cmd := newCommand(a, o, a.publish, "dest run-id accept-held abandon max-failed-schools max-shrink config", &cobra.Command{
		Use:   "publish",
		Short: "Checks and publishes a staged or held run",
		Example: "  growth-export publish --dest /data/growth --run-id night\n" +
			"  growth-export publish --dest /data/growth --run-id night --accept-held\n" +
			"  growth-export publish --dest /data/growth --run-id night --abandon",
	})
	o.defineWriting(o.destination.define(cmd))
	publishing := group{cmd.Flags(), publishingGroup}
	define(publishing, &o.runID, "run-id", "ID", "", parseRunID, "id of the run")
	publishing.shownDefault("run-id", "the only staged run")
	publishing.toggle(&o.acceptHeld, "accept-held", "publish a run even if it is held back")
	publishing.toggle(&o.abandon, "abandon", "give up the unpublished run --run-id and remove what it has staged or committed")
	o.limits.define(publishing, false)
	defineDeltaLake(publishing, &o.deltaLake)
	defineHistory(publishing, &o.history)
	defineReplace(publishing, &o.replace)
	defineAcceptBaseURL(publishing, &o.acceptBaseURL)
	o.finishing.define(o.general.define(cmd))
	return cmd
}

func (a *app) publish(ctx context.Context, o *publishOptions, from sources) error {
	if o.abandon && o.runID == "" {
		return a.endBeforeRun(ctx, o.onFinish, usagef("%s: set --run-id to the run to give up", from["abandon"].name))
	}
	if _, err := from.pick("abandon", "accept-held"); err != nil {
		return a.endBeforeRun(ctx, o.onFinish, err)
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, true)
	if err != nil {
		return a.endBeforeRun(ctx, o.onFinish, err)
	}
	progress := &pipeline.Progress{}
	a.who.setProgress(progress)
	deps := pipeline.Deps{Catalog: catalog, Logger: o.log, Progress: progress, Tracer: a.tracer(), Now: a.now}
	options := a.sessionOptions(&o.destination)
	options.History, options.DeltaLake = o.history, o.deltaLake
	if o.abandon {
		summary, err := await(ctx, func() (*pipeline.Summary, error) {
			return work.New(catalog, options).Abandon(ctx, deps, o.runID)
		})
		return a.endRun(ctx, &o.general, o.onFinish, summary, err)
	}
	settings := pipeline.PublishSettings{
		RunID: o.runID, AcceptHeld: o.acceptHeld, Override: o.override, Replace: o.replace, AcceptBaseURL: o.acceptBaseURL,
	}
	summary, err := await(ctx, func() (*pipeline.Summary, error) {
		s, err := work.Open(ctx, catalog, options)
		if err != nil {
			return nil, err
		}
		return s.Publish(ctx, deps, settings)
	})
	return a.endRun(ctx, &o.general, o.onFinish, summary, err)
}
