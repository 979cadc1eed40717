package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RefusedError says that a run does not fit what is at the destination: a
// matter of the user's settings, found before anything is requested.
type RefusedError struct {
	// Reason says what stands, what differs and what to do.
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// replacement is a run that wants to be that of its date.
type replacement struct {
	run     string // empty where it has no id yet
	kind    Kind
	date    string
	scope   Scope
	today   bool
	replace bool
}

// judge tells why the run may not replace the one that stands; nil if it may.
func (r *replacement) judge(standing *Manifest) error {
	if r.replace {
		return nil
	}
	what := "the snapshot of " + r.date
	if r.kind == AsOf {
		what = "the enrollment as of " + r.date
	}
	differs := standing.Parameters.Differences(r.scope)
	if len(differs) > 0 {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s, which has another scope (%s); --replace replaces it",
			what, standing.RunID, strings.Join(differs, ", "))}
	}
	if r.kind == Full && !r.today {
		return &RefusedError{Reason: fmt.Sprintf("%s is run %s, and that date is past; --replace replaces it",
			what, standing.RunID)}
	}
	return nil
}

// mayReplace returns the run that the other would replace, if one stands, or
// why it may not.
func mayReplace(ctx context.Context, store Store, r replacement) (string, error) {
	pointer, standing, err := readStanding(ctx, store, r.kind, r.date)
	switch {
	case pointer == nil && err == nil:
		return "", nil
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrNotFound):
		if !r.replace {
			return "", &RefusedError{Reason: fmt.Sprintf("what stands at %s cannot be judged (%v); --replace replaces it",
				PointerPath(r.kind, r.date), err)}
		}
		if pointer != nil {
			return pointer.RunID, nil
		}
		return "", nil
	case err != nil:
		return "", err
	case standing.RunID == r.run:
		return "", nil
	}
	return standing.RunID, r.judge(standing)
}

// CheckReplace tells whether a run that is about to start may be published: a
// *RefusedError if the date is taken by a run that it may not replace, or the
// destination is partitioned in another way. Today tells whether the date is
// that of the plan. As-of runs may replace one of equal scope whatever the day,
// and delta runs replace nothing.
func CheckReplace(
	ctx context.Context, store Store, kind Kind, date string, scope Scope, today, replace bool,
) error {
	if err := checkPartitioning(ctx, store, scope.PartitionBy, true); err != nil {
		return err
	}
	_, err := mayReplace(ctx, store, replacement{
		kind: kind, date: date, scope: scope, today: today, replace: replace,
	})
	return err
}

// Standing returns the manifest of the run that is that of the date; nil if
// there is none.
func Standing(ctx context.Context, store Store, kind Kind, date string) (*Manifest, error) {
	_, manifest, err := readStanding(ctx, store, kind, date)
	return manifest, err
}

// readStanding returns the pointer of a date and the manifest that it names,
// both nil if there is no pointer. ErrNotFound says that there is a pointer and
// no manifest.
func readStanding(ctx context.Context, store Store, kind Kind, date string) (*Pointer, *Manifest, error) {
	path := PointerPath(kind, date)
	if path == "" {
		return nil, nil, nil
	}
	pointer, _, err := readDocument[Pointer](ctx, store, path)
	if errors.Is(err, ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	manifest, err := ReadManifest(ctx, store, pointer.RunID)
	return pointer, manifest, err
}

// checkPartitioning holds a destination to its first partitioning: that of any
// published run, for they are all alike; before there is one, that of the runs
// that have begun.
func checkPartitioning(ctx context.Context, store Store, partitionBy string, begun bool) error {
	entries, err := list(ctx, store, runsPrefix)
	if err != nil {
		return err
	}
	for _, run := range runsWith(entries, manifestName) {
		manifest, _, err := readDocument[Manifest](ctx, store, inRun(run, manifestName))
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		return samePartitioning(manifest.RunID, manifest.Parameters.PartitionBy, partitionBy)
	}
	if !begun {
		return nil
	}
	for _, run := range runsWith(entries, planName) {
		plan, _, err := readDocument[Plan](ctx, store, inRun(run, planName))
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := samePartitioning(plan.RunID, plan.Scope.PartitionBy, partitionBy); err != nil {
			return err
		}
	}
	return nil
}

func samePartitioning(run, standing, wanted string) error {
	standing, wanted = cmp.Or(standing, NotPartitioned), cmp.Or(wanted, NotPartitioned)
	if standing == wanted {
		return nil
	}
	return &RefusedError{Reason: fmt.Sprintf(
		"this destination is partitioned by %s (run %s), not by %s; choose another destination",
		standing, run, wanted)}
}

// newestFull returns the published full run of the newest date that fits; nil
// if there is none.
func newestFull(ctx context.Context, store Store, fits func(*Manifest) bool) (*Manifest, error) {
	return newest(ctx, store, Full, fits)
}

// newest returns the published run of a kind, of the newest date, that fits;
// nil if there is none, as of delta runs, which have no pointers. Pointers and
// manifests that cannot be read are passed over.
func newest(ctx context.Context, store Store, kind Kind, fits func(*Manifest) bool) (*Manifest, error) {
	folder, _, found := strings.Cut(PointerPath(kind, ""), "/")
	if !found {
		return nil, nil
	}
	entries, err := list(ctx, store, folder+"/")
	if err != nil {
		return nil, err
	}
	for _, entry := range slices.Backward(entries) {
		pointer, _, err := readDocument[Pointer](ctx, store, entry.Path)
		if err == nil {
			var manifest *Manifest
			manifest, err = ReadManifest(ctx, store, pointer.RunID)
			if err == nil && manifest.Kind == kind && manifest.Status == Published && fits(manifest) {
				return manifest, nil
			}
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged) {
			return nil, err
		}
	}
	return nil, nil
}

// PreviousFull returns the newest published full snapshot of equal scope other
// than that run: what a new one is compared with. Nil if there is none.
func PreviousFull(ctx context.Context, store Store, scope Scope, exceptRun string) (*Manifest, error) {
	return newestFull(ctx, store, func(m *Manifest) bool {
		return m.RunID != exceptRun && m.Parameters.Equal(scope)
	})
}

// Before returns the run that the figures of another are seen beside: that
// which it replaced or is about to, if of the same scope, else the published
// one of the same kind and scope with the nearest date before. Nil if there is
// none, and for delta runs, which are not of equal spans of time.
func Before(ctx context.Context, store Store, run *Manifest) (*Manifest, error) {
	if run.Kind == Delta {
		return nil, nil
	}
	for _, replaced := range run.Replaces {
		manifest, err := ReadManifest(ctx, store, replaced)
		if err == nil && manifest.Parameters.Equal(run.Parameters.Scope) {
			return manifest, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged) {
			return nil, err
		}
	}
	return newest(ctx, store, run.Kind, func(m *Manifest) bool {
		stands := m.SnapshotDate < run.SnapshotDate || m.SnapshotDate == run.SnapshotDate && run.Status == ""
		return stands && m.RunID != run.RunID && m.Parameters.Equal(run.Parameters.Scope)
	})
}

func newestWhole(ctx context.Context, store Store) (*Manifest, error) {
	return newestFull(ctx, store, func(m *Manifest) bool { return !m.Parameters.Filtered() })
}

// updateLatest makes _latest.json name the newest published full run that is
// not restricted to some schools. The newest is looked for after the document
// was read that is to be replaced, so of two publishers the one that saw less
// is refused and looks again.
func updateLatest(ctx context.Context, store Store) error {
	return swap(ctx, LatestPath, func() error {
		standing, version, err := readDocument[Latest](ctx, store, LatestPath)
		when := Condition{Version: version}
		switch {
		case errors.Is(err, ErrNotFound):
			when = Condition{Absent: true}
		case err != nil && !errors.Is(err, ErrDamaged):
			return err
		}
		newest, err := newestWhole(ctx, store)
		if err != nil {
			return err
		}
		if newest == nil {
			if when.Absent {
				return nil
			}
			if err := store.Remove(ctx, LatestPath); err != nil {
				return err
			}
			return ErrConflict // a run may have been published since: look again
		}
		latest := latestOf(newest)
		if standing != nil && *standing == latest {
			return nil
		}
		return writeDocument(ctx, store, LatestPath, latest, when)
	})
}

func latestOf(m *Manifest) Latest {
	return Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: ManifestPath(m.RunID)}
}
