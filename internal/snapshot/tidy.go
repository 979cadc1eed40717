package snapshot

import (
	"context"
	"errors"
	"maps"
	"slices"

	"example.org/growthexport/internal/sink"
	"golang.org/x/sync/errgroup"
)

// RemoveStaging drops what is left of the staging of a published run: what another
// process of the run has staged that did not know, and the last that a publisher
// did not come to because it was killed. The run may still be in the hands of
// its publisher, so the intent stays, which finishes what that has begun.
func (c Catalog) RemoveStaging(ctx context.Context, run string) error {
	checkpoints, err := sink.ListAll(ctx, c, runPath(run)+checkpointFolder)
	if err != nil {
		return err
	}
	paths := []string{HeldPath(run), AlivePath(run)}
	for _, entry := range checkpoints {
		paths = append(paths, entry.Path)
	}
	if err := sink.RemoveAll(ctx, c, paths); err != nil {
		return err
	}
	return c.Sweep(ctx, run)
}

// DropCheckpoints drops the staged files that the checkpoints of a run name, and then
// the checkpoints, so that the same command fetches everything again. The files
// go first: on a store that cannot list staged files nothing else names them.
func (c Catalog) DropCheckpoints(ctx context.Context, run string) error {
	checkpoints, err := c.ReadCheckpoints(ctx, run)
	if err != nil {
		return err
	}
	var paths []string
	var files []sink.File
	for _, j := range checkpoints {
		paths = append(paths, CheckpointPath(run, j.Bucket, j.Dataset))
		files = slices.AppendSeq(files, maps.Values(j.Files))
	}
	if err := c.AbortAll(ctx, run, files); err != nil {
		return err
	}
	return sink.RemoveAll(ctx, c, paths)
}

// abortAll drops staged files. One whose checkpoint is damaged has no name to
// drop it by and is left to Sweep.
func (c Catalog) AbortAll(ctx context.Context, run string, files []sink.File) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sink.MaxConcurrency)
	for _, file := range files {
		if file.Staged == nil {
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.Abort(ctx, run, file); !errors.Is(err, sink.ErrDamaged) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}
