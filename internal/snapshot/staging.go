package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// StagedTasks returns the checkpoints of the staged tasks. A task is staged if its checkpoint covers it and the files
// of the checkpoint are intact in the store. A task is damaged if such a checkpoint exists, but files are missing or
// have changed.
func (c Catalog) StagedTasks(ctx context.Context, plan *Plan) (staged map[Task]*Checkpoint, damaged []Task, err error) {
	return c.stagedTasks(ctx, plan, c.store.Intact)
}

func (c Catalog) stagedTasks(ctx context.Context, plan *Plan, check fileCheck) (map[Task]*Checkpoint, []Task, error) {
	checkpoints, err := c.ReadCheckpoints(ctx, plan.RunID)
	if err != nil {
		return nil, nil, err
	}
	held, err := checkFiles(ctx, plan.RunID, checkpoints, check)
	if err != nil {
		return nil, nil, err
	}
	staged := make(map[Task]*Checkpoint, len(checkpoints))
	var damaged []Task
	for i, checkpoint := range checkpoints {
		task := Task{Bucket: checkpoint.Bucket, Dataset: checkpoint.Dataset}
		dataset, known := schemas.Find(checkpoint.Dataset)
		switch {
		case !known || !checkpoint.covers(plan, dataset):
		case held[i]:
			staged[task] = checkpoint
		default:
			damaged = append(damaged, task)
		}
	}
	return staged, damaged, nil
}

// fileCheck is Store.Holds or Store.Intact.
type fileCheck func(ctx context.Context, run string, file sink.File) (bool, error)

// checkFiles reports for each checkpoint whether all its files pass the check.
func checkFiles(ctx context.Context, run string, checkpoints []*Checkpoint, check fileCheck) ([]bool, error) {
	return sink.Map(ctx, sink.MaxConcurrency, checkpoints, func(ctx context.Context, checkpoint *Checkpoint) (bool, error) {
		for _, file := range checkpoint.Files {
			if there, err := check(ctx, run, file); !there || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// dropLostTasks removes the checkpoints whose files the store has lost, so that the next run fetches their tasks again.
func (c Catalog) dropLostTasks(ctx context.Context, run string) error {
	checkpoints, err := c.ReadCheckpoints(ctx, run)
	if err != nil {
		return err
	}
	held, err := checkFiles(ctx, run, checkpoints, c.store.Intact)
	if err != nil {
		return err
	}
	for i, checkpoint := range checkpoints {
		if held[i] {
			continue
		}
		if err := c.store.Remove(ctx, CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset)); err != nil {
			return err
		}
	}
	return nil
}

// DropCheckpoints removes the staged files that the checkpoints of a run list, then the checkpoints and the files
// beside them, so that the same command fetches everything again. Staged files are removed first, because on a store
// that cannot list them, they can only be found through the checkpoints.
func (c Catalog) DropCheckpoints(ctx context.Context, run string) error {
	checkpoints, err := c.ReadCheckpoints(ctx, run)
	if err != nil {
		return err
	}
	var files []sink.File
	for _, checkpoint := range checkpoints {
		files = slices.AppendSeq(files, maps.Values(checkpoint.Files))
	}
	if err := c.AbortAll(ctx, run, files); err != nil {
		return err
	}
	return c.removeAllIn(ctx, runPath(run)+CheckpointFolder)
}

// removeAllIn removes the documents in a folder, and other documents if any are given.
func (c Catalog) removeAllIn(ctx context.Context, folder string, others ...string) error {
	entries, err := sink.ListAll(ctx, c, folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		others = append(others, entry.Path)
	}
	return sink.RemoveAll(ctx, c.store, others)
}

// commitAll makes the staged files of a run visible. Other staged files of the run are dropped first, because some
// stores remove a committed file when another upload to its path is aborted. Finally, commitAll checks that all files
// exist. If one does not, it returns ErrStagedLost.
func (c Catalog) commitAll(ctx context.Context, run string, files []sink.File) error {
	if err := c.Sweep(ctx, run, files...); err != nil {
		return err
	}
	err := sink.ForEach(ctx, files, func(ctx context.Context, file sink.File) error {
		err := c.store.Commit(ctx, run, file)
		if err == nil {
			c.committed()
		}
		return err
	})
	if err != nil {
		return err
	}
	return sink.ForEach(ctx, files, func(ctx context.Context, file sink.File) error {
		object, err := c.Open(ctx, file.Path)
		if errors.Is(err, sink.ErrNotFound) {
			return fmt.Errorf("%s was published and has disappeared: %w", file.Path, sink.ErrStagedLost)
		}
		if err != nil {
			return err
		}
		return object.Close()
	})
}

// AbortAll removes staged files of an owner or, if the owner is empty, of the owners that the paths contain. A file
// whose staging record is damaged is left to Sweep.
func (c Catalog) AbortAll(ctx context.Context, owner string, files []sink.File) error {
	return sink.ForEach(ctx, files, func(ctx context.Context, file sink.File) error {
		if file.Staged == nil {
			return nil
		}
		if err := c.store.Abort(ctx, cmp.Or(owner, sink.Owner(file.Path)), file); !errors.Is(err, sink.ErrDamaged) {
			return err
		}
		return nil
	})
}

// RemoveStaging removes the checkpoints, held.json, the heartbeat and the leftover staged files of a published run.
// Such files come from a killed publisher, or from processes that did not know that the run was published. The change
// is kept, because a publisher may still need it.
func (c Catalog) RemoveStaging(ctx context.Context, run string) error {
	if err := c.removeAllIn(ctx, runPath(run)+CheckpointFolder, HeldPath(run), AlivePath(run)); err != nil {
		return err
	}
	return c.Sweep(ctx, run)
}

// RemoveDocuments removes the staged files of a run and everything in its folder except its change. The document at the
// path last is removed at the end.
func (c Catalog) RemoveDocuments(ctx context.Context, run, folder, last string) error {
	documents, err := sink.ListAll(ctx, c, folder)
	if err != nil {
		return err
	}
	var paths []string
	for _, entry := range documents {
		if entry.Path != last && entry.Path != folder+ChangeName {
			paths = append(paths, entry.Path)
		}
	}
	if err := sink.RemoveAll(ctx, c.store, paths); err != nil {
		return err
	}
	if err := c.Sweep(ctx, run); err != nil {
		return err
	}
	return c.store.Remove(ctx, last)
}
