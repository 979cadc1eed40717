package snapshot

import (
	"context"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Draft starts a file that becomes visible when a change is applied, like the method of the same name in sink.Store.
func (c Catalog) Draft(ctx context.Context, owner, path string) (sink.Draft, error) {
	return c.store.Draft(ctx, owner, path)
}

// Sweep drops the staged files of a run or of a change to the history, like the method of the same name in sink.Store.
// On a store that cannot list all staged files, it also tries the paths that follow from the plan of the run and the
// paths of the files to keep, because a killed process may have staged earlier versions of these.
func (c Catalog) Sweep(ctx context.Context, owner string, keep ...sink.File) error {
	if err := c.store.Sweep(ctx, owner, keep...); err != nil {
		return err
	}
	lister, err := c.pathLister(ctx)
	if lister == nil || err != nil {
		return err
	}
	paths, err := c.plannedPaths(ctx, owner)
	if err != nil {
		return err
	}
	for i := range keep {
		paths = append(paths, keep[i].Path)
	}
	slices.Sort(paths)
	return lister.SweepAt(ctx, slices.Compact(paths), keep...)
}

// AllStaged works like Staged, but on a store that cannot list all staged files it also tries the paths that follow
// from the plans of runs.
func (c Catalog) AllStaged(ctx context.Context) (map[string]time.Time, error) {
	staged, err := c.Staged(ctx)
	if err != nil {
		return nil, err
	}
	lister, err := c.pathLister(ctx)
	if lister == nil || err != nil {
		return staged, err
	}
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := ReadAll[Plan](ctx, c, index, PlanName)
	if err != nil {
		return nil, err
	}
	for folder, plan := range plans {
		paths, err := c.plannedPaths(ctx, plan.RunID)
		var newest time.Time
		if err == nil {
			newest, err = lister.StagedAt(ctx, paths)
		}
		if err != nil {
			return nil, err
		}
		if newest.After(staged[folder]) {
			staged[folder] = newest
		}
	}
	return staged, nil
}

// pathLister returns the store if it cannot list all staged files but can find them by path, and nil otherwise.
func (c Catalog) pathLister(ctx context.Context) (sink.PathLister, error) {
	lister, ok := c.store.(sink.PathLister)
	if !ok {
		return nil, nil
	}
	if listed, err := c.ListsStaged(ctx); listed || err != nil {
		return nil, err
	}
	return lister, nil
}

// plannedPaths returns the paths at which the processes of a run, or a purge of it, may have staged files.
func (c Catalog) plannedPaths(ctx context.Context, run string) ([]string, error) {
	paths := []string{LedgerPath(run)}
	plan, err := ReadIfSound[Plan](ctx, c, PlanPath(run))
	if err != nil {
		return nil, err
	}
	if plan != nil {
		for _, task := range plan.Tasks() {
			dataset, known := schemas.Find(task.Dataset)
			if !known {
				continue
			}
			for _, table := range dataset.Tables {
				paths = append(paths, plan.DataPath(table.Name, task.Bucket))
			}
		}
	}
	manifest, err := ReadIfSound[Manifest](ctx, c, ManifestPath(run))
	if err != nil || manifest == nil {
		return paths, err
	}
	for _, file := range manifest.Files() {
		if !slices.Contains(paths, file.Path) { // the plan of a run that is being pruned may be gone
			paths = append(paths, file.Path)
		}
		// A purge that was killed may have staged the next generation of a file.
		if part, ok := sink.ParsePart(file.Path); ok {
			if next, left := part.Next(len(manifest.Purges) + 1); left {
				paths = append(paths, next)
			}
		}
	}
	return paths, nil
}
