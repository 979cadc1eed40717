package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/internal/sink"
)

// Pointer is _snapshots/<date>.json or _as_of/<date>.json: the run that is the snapshot of that date.
type Pointer struct {
	RunID          string `json:"run_id"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Latest is _latest.json: the newest published full run that is not restricted to some schools.
type Latest struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	Manifest     string `json:"manifest"`
}

// Current returns the manifest of the run that is the snapshot of the date, or nil.
func (c Catalog) Current(ctx context.Context, kind Kind, date string) (*Manifest, error) {
	_, manifest, err := c.readCurrent(ctx, kind, date)
	return manifest, err
}

// readCurrent returns the pointer of a date and the manifest that it names, both nil if there is no pointer.
// ErrNotFound means that there is a pointer but no manifest.
func (c Catalog) readCurrent(ctx context.Context, kind Kind, date string) (*Pointer, *Manifest, error) {
	path := PointerPath(kind, date)
	if path == "" {
		return nil, nil, nil
	}
	pointer, _, err := ReadDocument[Pointer](ctx, c, path, sink.ErrNotFound)
	if pointer == nil || err != nil {
		return nil, nil, err
	}
	manifest, err := c.ReadManifest(ctx, pointer.RunID)
	return pointer, manifest, err
}

// Pointers lists the pointers of a kind, the oldest date first. Delta runs have none.
func (c Catalog) Pointers(ctx context.Context, kind Kind) ([]sink.Entry, error) {
	folder, _, found := strings.Cut(PointerPath(kind, "any"), "/")
	if !found {
		return nil, nil
	}
	entries, err := sink.ListAll(ctx, c, folder+"/")
	return slices.DeleteFunc(entries, func(e sink.Entry) bool { return !strings.HasSuffix(e.Path, ".json") }), err
}

// CurrentRuns passes the manifests of the runs that are the snapshots of their dates to use, one at a time and in any
// order. A pointer or manifest that cannot be read is an error.
func (c Catalog) CurrentRuns(ctx context.Context, kind Kind, use func(*Manifest)) error {
	entries, err := c.Pointers(ctx, kind)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	return sink.ForEach(ctx, entries, func(ctx context.Context, entry sink.Entry) error {
		pointer, _, err := ReadDocument[Pointer](ctx, c, entry.Path, sink.ErrNotFound)
		if pointer == nil || err != nil {
			return err
		}
		manifest, err := c.ReadManifest(ctx, pointer.RunID)
		if errors.Is(err, sink.ErrNotFound) {
			if gone, _, again := ReadDocument[Pointer](ctx, c, entry.Path, sink.ErrNotFound); gone == nil && again == nil {
				return nil // pruned since
			}
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", entry.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		use(manifest)
		return nil
	})
}

// LatestRun returns the manifest of the run that _latest.json names, or nil.
func (c Catalog) LatestRun(ctx context.Context) (*Manifest, error) {
	latest, _, err := ReadDocument[Latest](ctx, c, LatestPath, sink.ErrNotFound)
	if latest == nil || err != nil {
		return nil, err
	}
	manifest, err := c.ReadManifest(ctx, latest.RunID)
	if errors.Is(err, sink.ErrNotFound) {
		err = fmt.Errorf("read %s: %w: the manifest of run %s is missing", LatestPath, sink.ErrDamaged, latest.RunID)
	}
	return manifest, err
}

// NewestUnfiltered returns the newest published full run that is not restricted to some schools, or nil.
func (c Catalog) NewestUnfiltered(ctx context.Context) (*Manifest, error) {
	return c.Newest(ctx, Full, func(m *Manifest) bool { return !m.Parameters.Filtered() })
}

// FindEqual returns the published run of that kind, date, service and scope, or nil. If there are several delta
// runs, it returns the one published last.
func (c Catalog) FindEqual(ctx context.Context, kind Kind, date, baseURL string, scope Scope) (*Manifest, error) {
	if kind != Delta {
		current, err := c.Current(ctx, kind, date)
		if err != nil || current == nil || !current.Covers(baseURL, scope) {
			return nil, err
		}
		return current, nil
	}
	runs, _, err := c.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	var last *Manifest
	for _, m := range runs {
		equal := m.Kind == kind && m.SnapshotDate == date && m.Covers(baseURL, scope)
		if equal && (last == nil || cmp.Or(m.PublishedAt.Compare(last.PublishedAt), cmp.Compare(m.RunID, last.RunID)) > 0) {
			last = m
		}
	}
	return last, nil
}

// NightsBefore returns the states of the published full snapshots of the last dates before the run's, the oldest first.
// It reads no more than most of them, and skips unreadable snapshots and those with other settings.
func (c Catalog) NightsBefore(ctx context.Context, run *Manifest, most int) ([]RunState, error) {
	entries, err := c.Pointers(ctx, Full)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e sink.Entry) bool { return e.Path >= PointerPath(Full, run.SnapshotDate) })
	entries = entries[max(len(entries)-most, 0):]
	found, err := sink.Map(ctx, maxRunsRead, entries, func(ctx context.Context, entry sink.Entry) (*RunState, error) {
		pointer, _, err := ReadDocument[Pointer](ctx, c, entry.Path)
		var manifest *Manifest
		if err == nil {
			manifest, err = c.ReadManifest(ctx, pointer.RunID)
		}
		if Unreadable(err) {
			return nil, nil
		}
		if err != nil || !manifest.Covers(run.BaseURL, run.Parameters.Scope) {
			return nil, err
		}
		night := new(RunState)
		night.addManifest(manifest)
		return night, nil
	})
	var nights []RunState
	for _, night := range found {
		if night != nil {
			nights = append(nights, *night)
		}
	}
	return nights, err
}

// Newest returns the published run of a kind, of the newest date, that matches, or nil. Delta runs have no pointers and
// are never found. Unreadable pointers and manifests are skipped.
func (c Catalog) Newest(ctx context.Context, kind Kind, match func(*Manifest) bool) (*Manifest, error) {
	return c.newestUndamaged(ctx, kind, match, func(string) bool { return true })
}

// newestUndamaged does the same, but a damaged document is an error unless skip accepts its pointer.
func (c Catalog) newestUndamaged(
	ctx context.Context, kind Kind, match func(*Manifest) bool, skip func(pointer string) bool,
) (*Manifest, error) {
	entries, err := c.Pointers(ctx, kind)
	if err != nil {
		return nil, err
	}
	for _, entry := range slices.Backward(entries) {
		pointer, _, err := ReadDocument[Pointer](ctx, c, entry.Path)
		if err == nil {
			var manifest *Manifest
			manifest, err = c.ReadManifest(ctx, pointer.RunID)
			if err == nil && manifest.Kind == kind && manifest.Status == Published && match(manifest) {
				return manifest, nil
			}
		}
		if err != nil && !errors.Is(err, sink.ErrNotFound) && (!errors.Is(err, sink.ErrDamaged) || !skip(entry.Path)) {
			return nil, err
		}
	}
	return nil, nil
}

// updateLatest makes _latest.json name the newest unfiltered published full run. It looks for that run after reading
// the document it replaces, so of two publishers the one that saw less gets a conflict and looks again.
func (c Catalog) updateLatest(ctx context.Context) error {
	return sink.Swap(ctx, LatestPath, func() error {
		current, version, err := ReadDocument[Latest](ctx, c, LatestPath)
		when := sink.Condition{Version: version}
		switch {
		case errors.Is(err, sink.ErrNotFound):
			when = sink.Condition{Absent: true}
		case err != nil && !errors.Is(err, sink.ErrDamaged):
			return err
		}
		newest, err := c.NewestUnfiltered(ctx)
		if err != nil {
			return err
		}
		if newest == nil {
			if when.Absent {
				return nil
			}
			if err := c.store.Remove(ctx, LatestPath); err != nil {
				return err
			}
			return sink.ErrConflict // a run may have been published since: look again
		}
		latest := latestOf(newest)
		if current != nil && *current == latest {
			return nil
		}
		return WriteDocument(ctx, c.store, LatestPath, latest, when)
	})
}

func latestOf(m *Manifest) Latest {
	return Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: ManifestPath(m.RunID)}
}
