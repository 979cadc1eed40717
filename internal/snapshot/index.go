package snapshot

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// Index lists the contents of the folders of all runs, as found in a single listing.
type Index []*RunFolder

// RunFolder lists the contents of the folder of a run.
type RunFolder struct {
	Name     string                // the name below _runs/, which is the escaped id of the run
	contents map[string]sink.Entry // by name in the folder
}

// Index returns the folders of all runs, in the order of the paths in them.
func (c Catalog) Index(ctx context.Context) (Index, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	var index Index
	for _, entry := range entries {
		folder, name, inside := strings.Cut(strings.TrimPrefix(entry.Path, RunsPrefix), "/")
		if !inside {
			continue // the page at IndexPath
		}
		if len(index) == 0 || index[len(index)-1].Name != folder {
			index = append(index, &RunFolder{Name: folder, contents: make(map[string]sink.Entry)})
		}
		index[len(index)-1].contents[name] = entry
	}
	return index, err
}

// With returns the names of the folders that hold a document with the given name.
func (x Index) With(name string) []string {
	var names []string
	for _, folder := range x {
		if folder.Has(name) {
			names = append(names, folder.Name)
		}
	}
	return names
}

// Has reports whether the folder holds a document with the given name.
func (f *RunFolder) Has(name string) bool {
	_, ok := f.contents[name]
	return ok
}

// Len returns how many documents the folder holds.
func (f *RunFolder) Len() int { return len(f.contents) }

// HasCheckpoints reports whether the folder holds checkpoints, or files beside them.
func (f *RunFolder) HasCheckpoints() bool {
	for name := range f.contents {
		if strings.HasPrefix(name, CheckpointFolder) {
			return true
		}
	}
	return false
}

// written returns when a document was written.
func (f *RunFolder) written(name string) time.Time { return f.contents[name].Modified }

func (f *RunFolder) path(name string) string { return DocumentPath(f.Name, name) }

// ReadAll reads all documents with the given name. The result maps folders to documents. Missing and damaged documents
// are left out.
func ReadAll[T any](ctx context.Context, c Catalog, index Index, name string) (map[string]*T, error) {
	folders := index.With(name)
	found, err := sink.Map(ctx, maxRunsRead, folders, func(ctx context.Context, folder string) (*T, error) {
		return ReadIfSound[T](ctx, c, DocumentPath(folder, name))
	})
	documents := make(map[string]*T)
	for i, document := range found {
		if document != nil {
			documents[folders[i]] = document
		}
	}
	return documents, err
}

// WithoutPlan returns the id of the run that was planned last among the published and replaced runs without a plan, if
// it was planned later than the given run, and "" otherwise. Runs with a change are ignored. It also returns "" if the
// plan of the given run is missing or damaged.
func (c Catalog) WithoutPlan(ctx context.Context, run string) (string, error) {
	plan, err := c.ReadPlan(ctx, run)
	if Unreadable(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	index, err := c.Index(ctx)
	if err != nil {
		return "", err
	}
	index = slices.DeleteFunc(index, func(f *RunFolder) bool { return f.Has(PlanName) || f.Has(ChangeName) })
	manifests, err := ReadAll[Manifest](ctx, c, index, ManifestName)
	if err != nil {
		return "", err
	}
	last := &Manifest{StartedAt: plan.PlannedAt, RunID: plan.RunID}
	for _, m := range manifests {
		if ByPlan(m, last) > 0 {
			last = m
		}
	}
	if last.RunID == run {
		return "", nil
	}
	return last.RunID, nil
}

// NewestRun returns the id of the run whose plan was written last, or "" if there is no plan.
func (c Catalog) NewestRun(ctx context.Context) (string, error) {
	index, err := c.Index(ctx)
	index = slices.DeleteFunc(index, func(f *RunFolder) bool { return !f.Has(PlanName) })
	if len(index) == 0 || err != nil {
		return "", err
	}
	newest := slices.MaxFunc(index, func(a, b *RunFolder) int {
		return cmp.Or(a.written(PlanName).Compare(b.written(PlanName)), cmp.Compare(a.Name, b.Name))
	})
	plan, _, err := ReadDocument[Plan](ctx, c, newest.path(PlanName))
	if err != nil {
		return "", err
	}
	return plan.RunID, nil
}
