package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// files returns the data files of the run, by path.
func (m *Manifest) files() []File {
	var files []File
	for _, table := range m.Tables {
		files = append(files, table.Files...)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// runsWith returns the runs, as they stand in paths, whose folder has a document
// of that name.
func runsWith(entries []Entry, name string) []string {
	var runs []string
	for _, entry := range entries {
		if folder, found := strings.CutSuffix(entry.Path, "/"+name); found {
			runs = append(runs, strings.TrimPrefix(folder, runsPrefix))
		}
	}
	return runs
}

// inRun is where a document of a run is that stands in paths so.
func inRun(run, name string) string { return runsPrefix + run + "/" + name }

// publishedRuns reads the manifests of the published and replaced runs, by run;
// those that cannot be read are the second result. Runs that are being published
// are left out.
func publishedRuns(ctx context.Context, store Store) (runs map[string]*Manifest, unreadable, err error) {
	entries, err := ListAll(ctx, store, runsPrefix)
	if err != nil {
		return nil, nil, err
	}
	busy, err := runsChanging(ctx, store, (*Change).publishes)
	if err != nil {
		return nil, nil, err
	}
	names := slices.DeleteFunc(runsWith(entries, manifestName), func(run string) bool { return slices.Contains(busy, run) })
	manifests, damaged := make([]*Manifest, len(names)), make([]error, len(names))
	err = each(ctx, names, func(ctx context.Context, i int, run string) error {
		path := inRun(run, manifestName)
		manifest, _, err := readDocument[Manifest](ctx, store, path)
		if err == nil && Escape(manifest.RunID) != run {
			err = fmt.Errorf("read %s: %w: it is the manifest of another run", path, ErrDamaged)
		}
		switch {
		case errors.Is(err, ErrDamaged):
			damaged[i] = err
		case err == nil:
			manifests[i] = manifest
		case !errors.Is(err, ErrNotFound):
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
	group.SetLimit(MaxConcurrency)
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
func LatestRun(ctx context.Context, store Store) (*Manifest, error) {
	latest, _, err := readDocument[Latest](ctx, store, LatestPath)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	manifest, err := ReadManifest(ctx, store, latest.RunID)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("read %s: %w: the manifest of run %s is missing", LatestPath, ErrDamaged, latest.RunID)
	}
	return manifest, err
}

// NewestRun returns the run whose plan was written last; empty if there is none.
func NewestRun(ctx context.Context, store Store) (string, error) {
	entries, err := ListAll(ctx, store, runsPrefix)
	if err != nil {
		return "", err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return !strings.HasSuffix(e.Path, "/"+planName) })
	if len(entries) == 0 {
		return "", nil
	}
	newest := slices.MaxFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.Path, b.Path))
	})
	plan, _, err := readDocument[Plan](ctx, store, newest.Path)
	if err != nil {
		return "", err
	}
	return plan.RunID, nil
}

// paths returns the set of the paths of the run's data files.
func (m *Manifest) paths() map[string]bool {
	paths := make(map[string]bool)
	for _, file := range m.files() {
		paths[file.Path] = true
	}
	return paths
}
