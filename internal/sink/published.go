package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// addTo adds the paths of the run's data files.
func (m *Manifest) addTo(paths set) {
	for _, file := range m.files() {
		paths[file.Path] = true
	}
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

// publishedRuns reads the manifests of the runs that are published or replaced,
// by run; those that cannot be read are the second result. Runs that somebody
// is publishing are not among them.
func publishedRuns(ctx context.Context, store Store) (runs map[string]*Manifest, unreadable, err error) {
	entries, err := list(ctx, store, runsPrefix)
	if err != nil {
		return nil, nil, err
	}
	busy := runsWith(entries, intentName)
	runs = make(map[string]*Manifest)
	for _, run := range runsWith(entries, manifestName) {
		if slices.Contains(busy, run) {
			continue
		}
		path := inRun(run, manifestName)
		manifest, _, err := readDocument[Manifest](ctx, store, path)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err == nil && Escape(manifest.RunID) != run:
			err = fmt.Errorf("read %s: %w: it is the manifest of another run", path, ErrDamaged)
		}
		if errors.Is(err, ErrDamaged) {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		runs[manifest.RunID] = manifest
	}
	return runs, unreadable, nil
}

// LastWhole returns the plan of the full or delta run that was published last of
// those without a filter, without a failed or denied school, and with all of
// these datasets; nil if there is none. Manifests that cannot be read are passed
// over: to begin from an earlier run only reaches further back.
func LastWhole(ctx context.Context, store Store, datasets []string) (*Plan, error) {
	runs, _, err := publishedRuns(ctx, store)
	if err != nil {
		return nil, err
	}
	var last *Manifest
	for _, m := range runs {
		missing := func(name string) bool { return !slices.Contains(m.Parameters.Datasets, name) }
		fits := m.Kind != AsOf && !m.Parameters.Filtered() && m.Schools.Failed == 0 && m.Schools.Denied == 0 &&
			!slices.ContainsFunc(datasets, missing)
		if fits && (last == nil || cmp.Or(m.PublishedAt.Compare(last.PublishedAt), cmp.Compare(m.RunID, last.RunID)) > 0) {
			last = m
		}
	}
	if last == nil {
		return nil, nil
	}
	return ReadPlan(ctx, store, last.RunID)
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
	entries, err := list(ctx, store, runsPrefix)
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

// alone finishes what killed publishers and purges have left, and keeps others
// out until unlock is called.
func alone(ctx context.Context, store Store) (unlock func() error, err error) {
	if _, err := FinishPublishing(ctx, store); err != nil {
		return nil, err
	}
	if unlock, err = store.Lock(ctx, publishLock, true); err != nil {
		return nil, err
	}
	if err := finishPurges(ctx, store); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}
