package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// RefusedError says that a run does not fit what is at the destination: a
// matter of the user's settings, found before anything is requested.
type RefusedError struct {
	// Reason says what is there, what differs and what to do.
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Candidate is a run that wants to become the snapshot of its date.
type Candidate struct {
	// Run is empty for a run that has no plan yet.
	Run  string
	Kind Kind
	Date string
	// BaseURL and Scope are the service it reads and what it covers.
	BaseURL string
	Scope   Scope
	// Today is set if the date is the day on which the run was planned.
	Today bool
	// Replace is set if --replace was given.
	Replace bool
}

// check returns a *RefusedError if the run may not replace the current one.
func (c *Candidate) check(current *Manifest) error {
	if c.Replace {
		return nil
	}
	what := "the snapshot of " + c.Date
	if c.Kind == AsOf {
		what = "the enrollment as of " + c.Date
	}
	differs := current.Differences(c.BaseURL, c.Scope)
	if len(differs) > 0 {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s, which has another scope (%s); --replace replaces it",
			what, current.RunID, strings.Join(differs, ", "))}
	}
	if c.Kind == Full && !c.Today {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s, and that date is past; --replace replaces it",
			what, current.RunID)}
	}
	return nil
}

// CheckReplace returns the run that the candidate would replace; nil if there is
// none. It fails with a *RefusedError if it may not: the scope or the service
// differs, or the date of a full snapshot is past. As-of runs may replace one
// of equal scope whatever the day, and delta runs replace nothing.
func (c Catalog) CheckReplace(ctx context.Context, run Candidate) (*Manifest, error) {
	pointer, current, err := c.readCurrent(ctx, run.Kind, run.Date)
	switch {
	case pointer == nil && err == nil:
		return nil, nil
	case errors.Is(err, sink.ErrDamaged), errors.Is(err, sink.ErrNotFound):
		if !run.Replace {
			return nil, &RefusedError{Reason: fmt.Sprintf("cannot read the current run of %s (%v); --replace replaces it",
				PointerPath(run.Kind, run.Date), err)}
		}
		if pointer != nil {
			return &Manifest{RunID: pointer.RunID}, nil
		}
		return nil, nil
	case err != nil:
		return nil, err
	case current.RunID == run.Run:
		return nil, nil
	}
	return current, run.check(current)
}

// Current returns the manifest of the current run of the date, or nil if there is none.
func (c Catalog) Current(ctx context.Context, kind Kind, date string) (*Manifest, error) {
	_, manifest, err := c.readCurrent(ctx, kind, date)
	return manifest, err
}

// readCurrent returns the pointer of a date and the manifest that it names,
// both nil if there is no pointer. ErrNotFound says that there is a pointer and
// no manifest.
func (c Catalog) readCurrent(ctx context.Context, kind Kind, date string) (*Pointer, *Manifest, error) {
	path := PointerPath(kind, date)
	if path == "" {
		return nil, nil, nil
	}
	pointer, _, err := ReadDocument[Pointer](ctx, c, path)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	manifest, err := c.ReadManifest(ctx, pointer.RunID)
	return pointer, manifest, err
}

// newestFull returns the published full run of the newest date that fits; nil
// if there is none.
func (c Catalog) newestFull(ctx context.Context, fits func(*Manifest) bool) (*Manifest, error) {
	return c.newest(ctx, Full, fits)
}

// newest returns the published run of a kind, of the newest date, that fits;
// nil if there is none, as of delta runs, which have no pointers. Pointers and
// manifests that cannot be read are passed over.
func (c Catalog) newest(ctx context.Context, kind Kind, fits func(*Manifest) bool) (*Manifest, error) {
	folder, _, found := strings.Cut(PointerPath(kind, ""), "/")
	if !found {
		return nil, nil
	}
	entries, err := sink.ListAll(ctx, c, folder+"/")
	if err != nil {
		return nil, err
	}
	for _, entry := range slices.Backward(entries) {
		pointer, _, err := ReadDocument[Pointer](ctx, c, entry.Path)
		if err == nil {
			var manifest *Manifest
			manifest, err = c.ReadManifest(ctx, pointer.RunID)
			if err == nil && manifest.Kind == kind && manifest.Status == Published && fits(manifest) {
				return manifest, nil
			}
		}
		if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
			return nil, err
		}
	}
	return nil, nil
}

// PreviousFull returns the newest published full snapshot of the same service
// and scope other than the run itself, with which the run is compared; nil if
// there is none.
func (c Catalog) PreviousFull(ctx context.Context, plan *Plan) (*Manifest, error) {
	return c.newestFull(ctx, func(m *Manifest) bool {
		return m.RunID != plan.RunID && m.Covers(plan.BaseURL, plan.Scope)
	})
}

// FindEqual returns the published run of that kind, date, service and scope; nil
// if there is none. Of several delta runs it is the one published last.
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

// Baseline returns the run to compare another with: the run that it replaces if service and scope are equal, otherwise the
// newest earlier published run of the same kind, service and scope. It returns nil if there is none, and for delta runs,
// which cover different spans of time.
func (c Catalog) Baseline(ctx context.Context, run *Manifest) (*Manifest, error) {
	if run.Kind == Delta {
		return nil, nil
	}
	for _, replaced := range run.Replaces {
		manifest, err := c.ReadManifest(ctx, replaced)
		if err == nil && manifest.Covers(run.BaseURL, run.Parameters.Scope) {
			return manifest, nil
		}
		if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
			return nil, err
		}
	}
	return c.newest(ctx, run.Kind, func(m *Manifest) bool {
		stands := m.SnapshotDate < run.SnapshotDate || m.SnapshotDate == run.SnapshotDate && run.Status == ""
		return stands && m.RunID != run.RunID && m.Covers(run.BaseURL, run.Parameters.Scope)
	})
}

func (c Catalog) NewestUnfiltered(ctx context.Context) (*Manifest, error) {
	return c.newestFull(ctx, func(m *Manifest) bool { return !m.Parameters.Filtered() })
}

// updateLatest makes _latest.json name the newest published full run that is
// not restricted to some schools. The newest is looked for after the document
// was read that is to be replaced, so of two publishers the one that saw less
// is refused and looks again.
func (c Catalog) updateLatest(ctx context.Context) error {
	return sink.Swap(ctx, LatestPath, func() error {
		standing, version, err := ReadDocument[Latest](ctx, c, LatestPath)
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
			if err := c.Remove(ctx, LatestPath); err != nil {
				return err
			}
			return sink.ErrConflict // a run may have been published since: look again
		}
		latest := latestOf(newest)
		if standing != nil && *standing == latest {
			return nil
		}
		return c.WriteDocument(ctx, LatestPath, latest, when)
	})
}

func latestOf(m *Manifest) Latest {
	return Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: ManifestPath(m.RunID)}
}
