package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// Pointer is _snapshots/<date>.json or _as_of/<date>.json. It refers to the run that is the snapshot of that date.
type Pointer struct {
	RunID          string `json:"run_id"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Latest is _latest.json. It refers to the newest published full run that is not restricted to some schools or
// students.
type Latest struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	Manifest     string `json:"manifest"`
}

// Snapshot is the run that a pointer refers to.
type Snapshot struct {
	// Path is the path of the pointer.
	Path     string
	Pointer  Pointer
	Manifest *Manifest
	// Err says why the pointer or the manifest cannot be read: one of them is damaged, or the manifest is missing.
	Err error
}

// Current returns the manifest of the run that is the snapshot of the date, or nil if there is none.
func (c Catalog) Current(ctx context.Context, kind Kind, date string) (*Manifest, error) {
	return c.current(ctx, PointerPath(kind, date))
}

// current returns the manifest of the run that a pointer refers to, or nil if there is no pointer.
func (c Catalog) current(ctx context.Context, path string) (*Manifest, error) {
	s, err := c.readSnapshot(ctx, path)
	if s == nil || err != nil {
		return nil, err
	}
	return s.Manifest, s.Err
}

// readSnapshot reads a pointer and the manifest that it refers to. It returns nil if there is no pointer. If either
// document is damaged or the manifest is missing, the error is in Err of the result.
func (c Catalog) readSnapshot(ctx context.Context, path string) (*Snapshot, error) {
	if path == "" {
		return nil, nil
	}
	pointer, version, err := ReadDocument[Pointer](ctx, c, path)
	s := &Snapshot{Path: path}
	switch {
	case err == nil:
		s.Pointer = *pointer
		s.Manifest, err = c.ReadManifest(ctx, pointer.RunID)
		if err == nil && PointerPath(s.Manifest.Kind, s.Manifest.SnapshotDate) != path {
			s.Manifest, err = nil, &wording.AdvisedError{
				Err:    fmt.Errorf("read %s: %w: run %s is not a snapshot of this date", path, sink.ErrDamaged, pointer.RunID),
				Advice: wording.Restore,
			}
		}
	case errors.Is(err, sink.ErrDamaged):
		err = c.adviseOn(ctx, path, err)
	case errors.Is(err, sink.ErrNotFound):
		return nil, nil
	}
	if errors.Is(err, sink.ErrNotFound) {
		if _, now, again := c.Read(ctx, path); now != version || again != nil {
			return c.readSnapshot(ctx, path) // pruned since, or replaced and then pruned
		}
		err = fmt.Errorf("read %s: %w: the manifest of run %s is missing", path, sink.ErrDamaged, pointer.RunID)
	}
	if err != nil && !Unreadable(err) {
		return nil, err
	}
	s.Err = err
	return s, nil
}

// Snapshots yields the snapshots of a kind with dates before the given date, or of all dates if before is empty, the
// newest first. It reads ahead in batches of growing size, so that finding the newest snapshot takes few requests and
// reading all of them takes little time. Delta runs have no pointers.
func (c Catalog) Snapshots(ctx context.Context, kind Kind, before string) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		entries, err := c.pointers(ctx, kind)
		if err != nil {
			yield(nil, err)
			return
		}
		if before != "" {
			entries = slices.DeleteFunc(entries, func(e sink.Entry) bool { return e.Path >= PointerPath(kind, before) })
		}
		slices.Reverse(entries)
		for ahead := 1; len(entries) > 0; ahead = min(2*ahead, sink.MaxConcurrency) {
			n := min(ahead, len(entries))
			found, err := sink.Map(ctx, n, entries[:n], func(ctx context.Context, e sink.Entry) (*Snapshot, error) {
				return c.readSnapshot(ctx, e.Path)
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range found {
				if s != nil && !yield(s, nil) {
					return
				}
			}
			entries = entries[n:]
		}
	}
}

// pointers lists the pointers of a kind, the oldest date first. Delta runs have no pointers.
func (c Catalog) pointers(ctx context.Context, kind Kind) ([]sink.Entry, error) {
	folder, _, found := strings.Cut(PointerPath(kind, "any"), "/")
	if !found {
		return nil, nil
	}
	entries, err := sink.ListAll(ctx, c, folder+"/")
	return slices.DeleteFunc(entries, func(e sink.Entry) bool { return !strings.HasSuffix(e.Path, ".json") }), err
}

// LatestRun returns the manifest of the run that _latest.json refers to, or nil if that document does not exist.
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

// NewestUnfiltered returns the newest published full run that is not restricted to some schools or students, or nil if
// there is none.
func (c Catalog) NewestUnfiltered(ctx context.Context) (*Manifest, error) {
	return c.Newest(ctx, Full, func(m *Manifest) bool { return !m.Parameters.Filtered() })
}

// FindEqual returns the published run with the given kind, date, service and scope, or nil if there is none. If there
// are several delta runs, it returns the one published last.
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

// NightsBefore returns the states of the last published full snapshots before the run's date, the oldest first. It
// considers at most the given number of snapshots, and skips snapshots that are unreadable or have different settings.
func (c Catalog) NightsBefore(ctx context.Context, run *Manifest, most int) ([]RunState, error) {
	var nights []RunState
	read := 0
	for s, err := range c.Snapshots(ctx, Full, run.SnapshotDate) {
		if err != nil {
			return nil, err
		}
		if read++; read > most {
			break
		}
		if s.Err == nil && s.Manifest.Covers(run.BaseURL, run.Parameters.Scope) {
			nights = append(nights, RunState{})
			nights[len(nights)-1].addManifest(s.Manifest)
		}
	}
	slices.Reverse(nights)
	return nights, nil
}

// Newest returns the published run of a kind with the newest date for which match returns true, or nil if there is
// none. Delta runs have no pointers and are never found. Unreadable pointers and manifests are skipped.
func (c Catalog) Newest(ctx context.Context, kind Kind, match func(*Manifest) bool) (*Manifest, error) {
	return c.newestBefore(ctx, kind, "", match, func(string) bool { return true })
}

// newestBefore works like Newest for the dates before the given one, but a damaged document is an error unless skip
// returns true for its pointer.
func (c Catalog) newestBefore(
	ctx context.Context, kind Kind, date string, match func(*Manifest) bool, skip func(pointer string) bool,
) (*Manifest, error) {
	for s, err := range c.Snapshots(ctx, kind, date) {
		switch {
		case err != nil:
			return nil, err
		case errors.Is(s.Err, sink.ErrDamaged) && !skip(s.Path):
			return nil, s.Err
		case s.Err == nil && s.Manifest.Kind == kind && s.Manifest.Status == Published && match(s.Manifest):
			return s.Manifest, nil
		}
	}
	return nil, nil
}

// UpdateLatest makes _latest.json refer to the newest unfiltered published full run, or removes the document if there
// is no such run. It reports whether it has written the document. It looks for that run after reading the document that
// it replaces. If two publishers do this at once, the publisher that saw the older state therefore gets a conflict and
// looks again.
func (c Catalog) UpdateLatest(ctx context.Context) (written bool, err error) {
	err = sink.Swap(ctx, LatestPath, func() error {
		written = false
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
		written = true
		return WriteDocument(ctx, c.store, LatestPath, latest, when)
	})
	return written && err == nil, err
}

// WithoutLatest returns the id of the newest unfiltered published full run if _latest.json does not refer to that run,
// and "" otherwise. The document may be missing, or it may refer to a lost run or, for example after it was restored
// from a backup, to an older run. runs are the states of all runs. A run that is being published does not count,
// because its publisher writes the document.
func (c Catalog) WithoutLatest(ctx context.Context, runs []RunState) (run string, err error) {
	latest, err := c.LatestRun(ctx)
	if err != nil && !errors.Is(err, sink.ErrDamaged) {
		return "", err
	}
	newest, err := c.NewestUnfiltered(ctx)
	if newest == nil || err != nil || latest != nil && latest.RunID == newest.RunID {
		return "", ignoreUnreadable(err)
	}
	published := slices.ContainsFunc(runs, func(r RunState) bool { return r.RunID == newest.RunID && r.State == StatePublished })
	if !published {
		return "", nil
	}
	return newest.RunID, nil
}

func latestOf(m *Manifest) Latest {
	return Latest{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Manifest: ManifestPath(m.RunID)}
}
