package pipeline_test

import (
	"context"

	"example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/pipeline"
)

// open opens a session as the commands do.
func open(ctx context.Context, deps pipeline.Deps) (*destination.Session, error) {
	return destination.Open(ctx, deps.Catalog, destination.Options{Log: deps.Logger, Now: deps.Now})
}

// runAll recovers the destination, calls pipeline.Run, and writes the pages.
func runAll(ctx context.Context, deps pipeline.Deps, settings pipeline.Settings) (*pipeline.Summary, error) {
	s, err := open(ctx, deps)
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, deps, settings)
}

// publishAll recovers the destination, calls pipeline.Publish, and writes the pages.
func publishAll(ctx context.Context, deps pipeline.Deps, settings pipeline.PublishSettings) (*pipeline.Summary, error) {
	s, err := open(ctx, deps)
	if err != nil {
		return nil, err
	}
	return s.Publish(ctx, deps, settings)
}
