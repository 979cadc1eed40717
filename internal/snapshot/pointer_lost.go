package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// LostPointers returns the published runs whose dates have no pointer. runs are the states of all runs.
func (c Catalog) LostPointers(ctx context.Context, runs []RunState) ([]RunState, error) {
	exist := make(map[string]bool)
	for _, kind := range []Kind{Full, AsOf} {
		entries, err := c.pointers(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			exist[entry.Path] = true
		}
	}
	var lost []RunState
	for _, run := range runs {
		path := PointerPath(run.Kind, run.SnapshotDate)
		if run.State != StatePublished || path == "" || exist[path] {
			continue
		}
		gone, err := c.hasLostPointer(ctx, run.RunID, path)
		if err != nil {
			return nil, err
		}
		if gone {
			lost = append(lost, run)
		}
	}
	return lost, nil
}

// CheckPointers returns an error that wraps sink.ErrDamaged if the pointer of a published full run is lost or damaged.
// It does not check the runs in named, which were found through their pointers.
func (c Catalog) CheckPointers(ctx context.Context, named []string) error {
	index, err := c.Index(ctx)
	if err != nil {
		return err
	}
	found := make(map[string]bool)
	for _, run := range named {
		found[sink.Escape(run)] = true
	}
	folders := slices.DeleteFunc(index.With(ManifestName), func(folder string) bool { return found[folder] })
	m, err := c.firstLost(ctx, folders, func(m *Manifest) bool { return m.Kind == Full })
	if m == nil || err != nil {
		return err
	}
	return &wording.AdvisedError{
		Err:    fmt.Errorf("%w: %s is missing, although run %s is published for this date", sink.ErrDamaged, PointerPath(m.Kind, m.SnapshotDate), m.RunID),
		Advice: wording.WriteAgain("", m.RunID),
	}
}

// firstLost returns the manifest of the first published run in the given folders for which match returns true and whose
// pointer is lost or damaged, or nil if there is none.
func (c Catalog) firstLost(ctx context.Context, folders []string, match func(*Manifest) bool) (*Manifest, error) {
	lost, err := sink.Map(ctx, maxRunsRead, folders, func(ctx context.Context, folder string) (*Manifest, error) {
		m, err := ReadIfSound[Manifest](ctx, c, DocumentPath(folder, ManifestName))
		if m == nil || err != nil || m.Status != Published || !match(m) {
			return nil, err
		}
		gone, err := c.hasLostPointer(ctx, m.RunID, PointerPath(m.Kind, m.SnapshotDate))
		if !gone {
			return nil, err
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range lost {
		if m != nil {
			return m, nil
		}
	}
	return nil, nil
}

// hasLostPointer reports whether the pointer at path, which belongs to the date of a published run, is missing or
// damaged. It returns false if the run is no longer published, or has a change, because other processes may be
// publishing or pruning the run. Such a process records its change first, and removes the change last, after it has
// changed the pointer. A prune also removes the manifest.
func (c Catalog) hasLostPointer(ctx context.Context, run, path string) (bool, error) {
	changing := func() (bool, error) {
		_, _, err := c.Read(ctx, ChangePath(run))
		if errors.Is(err, sink.ErrNotFound) {
			return false, nil
		}
		return true, err
	}
	pointing := func() (bool, error) {
		pointer, err := ReadIfSound[Pointer](ctx, c, path)
		return pointer != nil && pointer.Manifest != "", err
	}
	for _, look := range []func() (found bool, err error){changing, pointing, changing} {
		if found, err := look(); found || err != nil {
			return false, err
		}
	}
	now, err := c.ReadManifest(ctx, run)
	if Unreadable(err) {
		return false, nil
	}
	return err == nil && now.Status == Published, err
}

// IsNamed reports whether the pointer of a date refers to the run.
func (c Catalog) IsNamed(ctx context.Context, kind Kind, date, run string) (bool, error) {
	path := PointerPath(kind, date)
	if path == "" {
		return false, nil
	}
	pointer, err := ReadIfSound[Pointer](ctx, c, path)
	return pointer != nil && pointer.RunID == run, err
}

// CheckManifest returns an error that wraps sink.ErrDamaged if the manifest of the run is missing, although the pointer
// of its date refers to the run.
func (c Catalog) CheckManifest(ctx context.Context, run string) error {
	plan, err := ReadIfSound[Plan](ctx, c, PlanPath(run))
	if plan == nil || err != nil {
		return err
	}
	named, err := c.IsNamed(ctx, plan.Kind, plan.SnapshotDate, run)
	if !named || err != nil {
		return err
	}
	if _, err = c.ReadManifest(ctx, run); !errors.Is(err, sink.ErrNotFound) {
		return nil // commands that read the manifest report the damage
	}
	_, err = c.Current(ctx, plan.Kind, plan.SnapshotDate)
	return err
}

// RestorePointer writes the pointer of a published run again if it is lost or damaged and the run has no change, and
// reports whether it has done so.
func (c Catalog) RestorePointer(ctx context.Context, m *Manifest) (restored bool, err error) {
	path := PointerPath(m.Kind, m.SnapshotDate)
	if m.Status != Published || path == "" {
		return false, nil
	}
	err = sink.Swap(ctx, path, func() error {
		restored = false
		pointer, version, err := ReadDocument[Pointer](ctx, c, path)
		when := sink.Condition{Version: version}
		switch {
		case err == nil && pointer.Manifest == "": // it does not refer to a manifest
		case errors.Is(err, sink.ErrNotFound):
			when = sink.Condition{Absent: true}
		case !errors.Is(err, sink.ErrDamaged):
			return err
		}
		manifest, _, err := c.Read(ctx, ManifestPath(m.RunID))
		if err != nil {
			return err
		}
		// Another process that is changing the run writes the pointer itself, or removes it.
		if busy, err := sink.ListAll(ctx, c, ChangePath(m.RunID)); err != nil || len(busy) > 0 {
			return err
		}
		restored = true
		again := Pointer{RunID: m.RunID, Manifest: ManifestPath(m.RunID), ManifestSHA256: sink.Hash(manifest)}
		return WriteDocument(ctx, c.store, path, again, when)
	})
	return restored && err == nil, err
}

// adviseOn adds advice to the error of a damaged pointer if exactly one published run has the pointer's date. The
// advice says how to write the pointer again.
func (c Catalog) adviseOn(ctx context.Context, path string, damaged error) error {
	runs, _, err := c.PublishedRuns(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, m := range runs {
		if m.Status == Published && PointerPath(m.Kind, m.SnapshotDate) == path {
			found = append(found, m.RunID)
		}
	}
	if len(found) != 1 {
		return damaged
	}
	return &wording.AdvisedError{Err: damaged, Advice: wording.WriteAgain(c.String(), found[0])}
}
