package maintenance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// rewriteConcurrency is the maximum number of files that are rewritten at once. Each file needs memory for a row group.
const rewriteConcurrency = 2

// rewrittenPath returns the path of the file that replaces the file at path. It fails if path is not the path of a data
// file, or if the generation does not fit in a name.
func rewrittenPath(path string, generation int) (string, error) {
	part, ok := sink.ParsePart(path)
	next, left := part.Next(generation)
	if !ok || !left {
		return "", fmt.Errorf("rewrite %s: its name is not the name of a data file, or it was rewritten too often", path)
	}
	return next, nil
}

// purgeRun removes the rows that were found in a published run. It returns sink.ErrConflict if the run's manifest has
// changed since the rows were found.
func (p *purger) purgeRun(ctx context.Context, run string) error {
	m := p.all[run]
	data, _, err := p.catalog.Read(ctx, snapshot.ManifestPath(run))
	if err != nil {
		return fmt.Errorf("purge run %s: %w", run, err)
	}
	current := new(snapshot.Manifest)
	if err := snapshot.DecodeDocument(snapshot.ManifestPath(run), data, current); err != nil {
		return err
	}
	if !reflect.DeepEqual(m, current) {
		return fmt.Errorf("purge run %s: %w: its manifest has changed; purge again", run, sink.ErrConflict)
	}
	if err := p.checkPointer(ctx, m, sink.Hash(data)); err != nil {
		return fmt.Errorf("purge run %s: %w", run, err)
	}
	change, err := p.rewrite(ctx, m, sink.Hash(data), p.found[run])
	if err != nil {
		return fmt.Errorf("purge run %s: %w", run, err)
	}
	return p.catalog.Apply(ctx, change)
}

// checkPointer returns sink.ErrDamaged if the hash in the date's pointer is not the hash of the manifest, because a
// purge would otherwise make a manifest valid that was tampered with.
func (p *purger) checkPointer(ctx context.Context, m *snapshot.Manifest, hash string) error {
	path := snapshot.PointerPath(m.Kind, m.SnapshotDate)
	if path == "" {
		return nil
	}
	pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](ctx, p.catalog, path)
	switch {
	case snapshot.Unreadable(err):
		return nil // The rows are removed anyway, and Verify reports the pointer.
	case err != nil:
		return err
	case pointer.RunID == m.RunID && pointer.ManifestSHA256 != hash:
		return fmt.Errorf("%w: the SHA-256 of %s is not the one in %s", sink.ErrDamaged, snapshot.ManifestPath(m.RunID), path)
	}
	return nil
}

// rewrite stages the files of a run without the rows that are purged, and returns the change that publishes them.
// Nothing is visible yet.
func (p *purger) rewrite(ctx context.Context, m *snapshot.Manifest, hash string, found foundRun) (*snapshot.Change, error) {
	units := found.units
	// Remove staged files that a killed purge, or the run itself, left behind.
	if err := p.catalog.Sweep(ctx, m.RunID); err != nil {
		return nil, err
	}
	purge := snapshot.ManifestPurge{
		ID: p.report.ID, At: p.report.BegunAt, RowsRemoved: make(map[string]int64), SchoolsEmptied: make(map[string]int64),
		Files: []snapshot.PurgedFile{}, Suppressed: p.suppressed,
	}
	tables := snapshot.NewTables(p.catalog, m.RunID)
	rewritten := make([][]sink.File, len(units))
	group, rewriting := errgroup.WithContext(ctx)
	group.SetLimit(rewriteConcurrency)
	for i := range units {
		rewritten[i] = make([]sink.File, len(units[i].files))
		if !units[i].changes() {
			continue
		}
		group.Go(func() error {
			if err := rewriting.Err(); err != nil {
				return err
			}
			return p.rewriteUnit(rewriting, tables, m, &units[i], rewritten[i])
		})
	}
	if err := group.Wait(); err != nil {
		ctx := context.WithoutCancel(ctx)
		return nil, errors.Join(err, p.catalog.AbortAll(ctx, m.RunID, slices.Concat(rewritten...)), p.catalog.Sweep(ctx, m.RunID))
	}
	change := &snapshot.Change{
		FormatVersion: snapshot.FormatVersion, RunID: m.RunID, Kind: m.Kind, SnapshotDate: m.SnapshotDate,
		Before: hash, Staged: make(map[string]json.RawMessage),
	}
	takes := make(map[string]sink.File) // the new files, by the paths of the files that they replace
	for i := range units {
		if units[i].emptied > 0 {
			purge.SchoolsEmptied[units[i].dataset.Name] += units[i].emptied
		}
		for j := range units[i].files {
			old, file := &units[i].files[j], rewritten[i][j]
			if !old.changes() {
				continue
			}
			change.Staged[file.Path] = file.Staged
			file.Staged = nil
			takes[old.file.Path] = file
			purge.Add(old.table.Name, snapshot.PurgedFile{Path: file.Path, Was: old.file.Path, RowsRemoved: old.removed, ExtraRemoved: old.cleared})
			change.Remove = append(change.Remove, old.file.Path)
		}
	}
	slices.SortFunc(purge.Files, func(a, b snapshot.PurgedFile) int { return strings.Compare(a.Path, b.Path) })
	var ledger *snapshot.PurgedLedger
	if found.ledger != nil {
		var err error
		if ledger, err = p.purgedLedger(ctx, m); err != nil || ledger == nil {
			return nil, cmp.Or(err, fmt.Errorf("%w: its ledger has changed", sink.ErrConflict))
		}
		change.Ledger, purge.LedgerRemoved = ledger.Data, ledger.Removed
	}
	after := m.WithPurge(takes, purge, ledger)
	change.After = &after
	return change, nil
}

// rewriteUnit rewrites and stages the files of a unit from which rows are removed or in which rows lose _extra.
func (p *purger) rewriteUnit(ctx context.Context, tables *snapshot.Tables, m *snapshot.Manifest, unit *purgeUnit, into []sink.File) error {
	of := make(erase.Records)
	for i := range unit.files {
		f := &unit.files[i]
		if !f.changes() {
			continue
		}
		path, err := rewrittenPath(f.file.Path, len(m.Purges)+1)
		if err != nil {
			return err
		}
		var c *census
		prepare := func(own *schemas.Table) (*erase.Match, *census) {
			c = newCensus(own)
			return p.targetOf(m.RunID).NewMatch(own, f.table, unit.dataset, of), c
		}
		if into[i], err = p.rewriteFile(ctx, tables, f, path, prepare); err != nil {
			return err
		}
		if unit.dataset != nil && f.table == unit.dataset.Tables[0] {
			unit.emptied += c.emptied()
		}
	}
	return nil
}

// census counts the requests that have rows in a file before and after a purge. As in the ledger, there is one request
// for each school, or for each district if the table is fetched per district.
type census struct {
	column       int // the index of the column with the requested bid; -1 if the table is fetched as a whole
	before, left erase.Set
}

func newCensus(own *schemas.Table) *census {
	c := &census{column: own.Column("requested_school_bid"), before: make(erase.Set), left: make(erase.Set)}
	if c.column < 0 {
		c.column = own.Column("requested_district_bid")
	}
	return c
}

// count counts the request of a row. removed reports whether the row is purged.
func (c *census) count(batch *rows.Batch, i int, removed bool) {
	var requested []byte
	if c.column >= 0 && !batch.Cols[c.column].Null(i) {
		requested = batch.Cols[c.column].Text(i)
	}
	if !c.before[string(requested)] {
		c.before[string(requested)] = true
	}
	if !removed && !c.left[string(requested)] {
		c.left[string(requested)] = true
	}
}

// emptied returns how many requests have no rows left.
func (c *census) emptied() int64 { return int64(len(c.before) - len(c.left)) }

// rewriteFile stages a copy of a file without the purged rows. It keeps the columns and the order of the rows. The
// bytes of the copy depend only on the remaining rows.
func (p *purger) rewriteFile(
	ctx context.Context, tables *snapshot.Tables, old *purgeFile, path string,
	prepare func(*schemas.Table) (*erase.Match, *census),
) (_ sink.File, err error) {
	was, err := erase.OpenFile(ctx, p.catalog, old.file.Path, old.table)
	if err != nil {
		return sink.File{}, err
	}
	defer func() { err = errors.Join(err, was.Close()) }()
	if err := sink.CheckHash(ctx, was, old.file.SHA256); err != nil {
		return sink.File{}, fmt.Errorf("rewrite %s: %w", old.file.Path, err)
	}
	file, err := tables.Create(ctx, path, was.Table)
	if err != nil {
		return sink.File{}, err
	}
	defer func() { err = errors.Join(err, file.Abort()) }()
	match, census := prepare(was.Table)
	var removed, cleared int64
	err = snapshot.ReadRows(was, was.Size(), was.Table, func(batch *rows.Batch) error {
		kept := make([]int32, 0, batch.N)
		var without []int
		for i := range batch.N {
			fate := match.Fate(batch, i)
			census.count(batch, i, fate == erase.Goes)
			if fate == erase.Goes {
				continue
			}
			kept = append(kept, int32(i))
			if fate == erase.LosesExtra {
				without = append(without, i)
			}
		}
		match.ClearExtra(batch, without)
		cleared += int64(len(without))
		removed += int64(batch.N - len(kept))
		batch.Order = kept
		return errors.Join(ctx.Err(), file.Append(batch))
	})
	if err == nil && (removed != old.removed || cleared != old.cleared) {
		err = fmt.Errorf("the scan found %d rows to purge, but the rewrite found %d", old.removed+old.cleared, removed+cleared)
	}
	if err != nil {
		return sink.File{}, fmt.Errorf("rewrite %s: %w", old.file.Path, err)
	}
	return file.Stage(ctx)
}
