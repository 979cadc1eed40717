package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"golang.org/x/sync/errgroup"
)

// files returns the data files of the run, by path.
func (m *Manifest) Files() []sink.File {
	var files []sink.File
	for _, table := range m.Tables {
		files = append(files, table.Files...)
	}
	slices.SortFunc(files, func(a, b sink.File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// RunFoldersWith returns the runs, escaped as in paths, whose folder has a document of that name.
func RunFoldersWith(entries []sink.Entry, name string) []string {
	var runs []string
	for _, entry := range entries {
		if folder, found := strings.CutSuffix(entry.Path, "/"+name); found {
			runs = append(runs, strings.TrimPrefix(folder, RunsPrefix))
		}
	}
	return runs
}

// DocumentPath returns the path of a document of a run, whose name is escaped.
func DocumentPath(run, name string) string { return RunsPrefix + run + "/" + name }

// publishedRuns reads the manifests of the published and replaced runs, by run;
// those that cannot be read are the second result. Runs that are being published
// are left out.
func (c Catalog) PublishedRuns(ctx context.Context) (runs map[string]*Manifest, unreadable, err error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return nil, nil, err
	}
	busy, err := c.ChangingRuns(ctx, (*Change).Publishes)
	if err != nil {
		return nil, nil, err
	}
	names := slices.DeleteFunc(RunFoldersWith(entries, ManifestName), func(run string) bool { return slices.Contains(busy, run) })
	manifests, damaged := make([]*Manifest, len(names)), make([]error, len(names))
	err = each(ctx, names, func(ctx context.Context, i int, run string) error {
		path := DocumentPath(run, ManifestName)
		manifest, _, err := ReadDocument[Manifest](ctx, c, path)
		if err == nil && sink.Escape(manifest.RunID) != run {
			err = fmt.Errorf("read %s: %w: it is the manifest of another run", path, sink.ErrDamaged)
		}
		switch {
		case errors.Is(err, sink.ErrDamaged):
			damaged[i] = err
		case err == nil:
			manifests[i] = manifest
		case !errors.Is(err, sink.ErrNotFound):
			return err
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	runs = make(map[string]*Manifest)
	for _, manifest := range manifests {
		if manifest != nil {
			runs[manifest.RunID] = manifest
		}
	}
	return runs, errors.Join(damaged...), nil
}

// each calls do for every item, several at once, and returns the first error.
func each[T any](ctx context.Context, items []T, do func(ctx context.Context, i int, item T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sink.MaxConcurrency)
	for i, item := range items {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i, item)
		})
	}
	return group.Wait()
}

// LatestRun returns the manifest of the run that _latest.json names; nil if
// there is none.
func (c Catalog) LatestRun(ctx context.Context) (*Manifest, error) {
	latest, _, err := ReadDocument[Latest](ctx, c, LatestPath)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	manifest, err := c.ReadManifest(ctx, latest.RunID)
	if errors.Is(err, sink.ErrNotFound) {
		err = fmt.Errorf("read %s: %w: the manifest of run %s is missing", LatestPath, sink.ErrDamaged, latest.RunID)
	}
	return manifest, err
}

// NewestRun returns the run whose plan was written last; empty if there is none.
func (c Catalog) NewestRun(ctx context.Context) (string, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e sink.Entry) bool { return !strings.HasSuffix(e.Path, "/"+PlanName) })
	if len(entries) == 0 {
		return "", nil
	}
	newest := slices.MaxFunc(entries, func(a, b sink.Entry) int {
		return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.Path, b.Path))
	})
	plan, _, err := ReadDocument[Plan](ctx, c, newest.Path)
	if err != nil {
		return "", err
	}
	return plan.RunID, nil
}

// paths returns the set of the paths of the run's data files.
func (m *Manifest) Paths() map[string]bool {
	paths := make(map[string]bool)
	for _, file := range m.Files() {
		paths[file.Path] = true
	}
	return paths
}
