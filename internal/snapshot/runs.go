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

// PublishedRuns returns the manifests of the published and replaced runs, by run id. The second result joins the errors
// of the manifests that are damaged. Runs that are being published are left out.
func (c Catalog) PublishedRuns(ctx context.Context) (runs map[string]*Manifest, unreadable, err error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, nil, err
	}
	busy, err := c.Changes(ctx, (*Change).Publishes)
	if err != nil {
		return nil, nil, err
	}
	names := slices.DeleteFunc(index.With(ManifestName), func(run string) bool { return busy[run] != nil })
	type result struct {
		manifest *Manifest
		damaged  error
	}
	results, err := sink.Map(ctx, sink.MaxConcurrency, names, func(ctx context.Context, run string) (result, error) {
		path := DocumentPath(run, ManifestName)
		manifest, _, err := ReadDocument[Manifest](ctx, c, path)
		if err == nil && sink.Escape(manifest.RunID) != run {
			err = fmt.Errorf("read %s: %w: it is the manifest of another run", path, sink.ErrDamaged)
		}
		switch {
		case errors.Is(err, sink.ErrDamaged):
			return result{damaged: err}, nil
		case errors.Is(err, sink.ErrNotFound):
			return result{}, nil
		}
		return result{manifest: manifest}, err
	})
	if err != nil {
		return nil, nil, err
	}
	runs = make(map[string]*Manifest)
	for _, r := range results {
		unreadable = errors.Join(unreadable, r.damaged)
		if r.manifest != nil {
			runs[r.manifest.RunID] = r.manifest
		}
	}
	return runs, unreadable, nil
}

// DeltaRuns returns the published delta runs in the order in which they were planned. An unreadable manifest is an
// error, because it may belong to a delta run.
func (c Catalog) DeltaRuns(ctx context.Context) ([]*Manifest, error) {
	runs, unreadable, err := c.PublishedRuns(ctx)
	if err := errors.Join(err, unreadable); err != nil {
		return nil, fmt.Errorf("look for delta runs: %w", err)
	}
	deltas := slices.SortedFunc(maps.Values(runs), ByPlan)
	return slices.DeleteFunc(deltas, func(m *Manifest) bool { return m.Kind != Delta || m.Status != Published }), nil
}

// ByPlan compares published runs by the time at which they were planned, then by id.
func ByPlan(a, b *Manifest) int {
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RunID, b.RunID))
}

// filesOfDate lists the data files of all runs of a kind for a date.
func (c Catalog) filesOfDate(ctx context.Context, kind Kind, date string) ([]string, error) {
	found, err := sink.Map(ctx, sink.MaxConcurrency, schemas.Tables(), func(ctx context.Context, table *schemas.Table) ([]sink.Entry, error) {
		return sink.ListAll(ctx, c, DatePath(kind, table.Name, date))
	})
	var paths []string
	for _, entry := range slices.Concat(found...) {
		paths = append(paths, entry.Path)
	}
	return paths, err
}
