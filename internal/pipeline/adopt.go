package pipeline

import (
	"context"
	"errors"

	"example.org/growthexport/internal/snapshot"
)

// adoptPublished handles a run that this process could not finish. If another process has published it, or started to, this one
// helps to finish and returns nil; otherwise it returns reason. The other process counted only what was staged when it
// began, so what this one staged in addition is dropped.
func adoptPublished(ctx context.Context, deps *Deps, run string, summary *Summary, reason error) error {
	if ctx.Err() != nil {
		return reason
	}
	if begun, err := deps.Catalog.PublishingStarted(ctx, run); !begun {
		return errors.Join(reason, err)
	}
	_, stuck, err := finishPublishing(ctx, deps)
	if err != nil {
		return errors.Join(reason, err)
	}
	if s := stuck.of(run); s != nil && !s.Published {
		return errors.Join(reason, s)
	}
	manifest, err := deps.Catalog.ReadManifest(ctx, run)
	if err != nil {
		return errors.Join(reason, err)
	}
	deps.Logger.WarnContext(ctx, "another process published the run: the files staged by this one are dropped", "run", run)
	tidy(ctx, deps, manifest)
	summary.AlreadyPublished = true
	summary.fromManifest(manifest)
	return nil
}

// tidy drops what is left of the staging of a published run, and of the pages of
// those that it replaced: a publisher may have been killed on its last steps. It
// is as good as it was if that fails.
func tidy(ctx context.Context, deps *Deps, manifest *snapshot.Manifest) {
	for _, run := range append([]string{manifest.RunID}, manifest.Replaces...) {
		if err := deps.Catalog.RemoveStaging(ctx, run); err != nil && ctx.Err() == nil {
			deps.Logger.WarnContext(ctx, "what is left of the staging of a published run cannot be dropped", "run", run, "error", err)
		}
	}
}
