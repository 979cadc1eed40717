package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// rewrite publishes the history without the rows that were found. Files whose rows do not change stay, unless the next
// part loses its first school: each part begins with a certain school, and without that school the rest of the part
// belongs to the previous part.
func (e *Erasure) rewrite(ctx context.Context, catalog snapshot.Catalog, purge string) error {
	sum := sha256.Sum256([]byte(e.Manifest.HistoryID + " without " + purge))
	files := newFileMaker(catalog, hex.EncodeToString(sum[:8]))
	if err := catalog.Sweep(ctx, files.id); err != nil { // leftovers of a killed purge
		return err
	}
	after, err := e.after(ctx, files, purge)
	if err != nil {
		// If another process has changed the history, its files may be gone. Report that change instead.
		err = cmp.Or(catalog.HistoryUnchanged(ctx, e.Manifest.HistoryID), err)
		return errors.Join(err, files.abort(context.WithoutCancel(ctx)))
	}
	return catalog.ChangeHistory(ctx, e.Manifest.HistoryID, after, files.staged, e.Manifest.ReplacedBy(after))
}

// after stages the rewritten files and returns the new manifest.
func (e *Erasure) after(ctx context.Context, files *fileMaker, purge string) (*snapshot.HistoryManifest, error) {
	before := e.Manifest
	after := *before
	folded, err := e.folded(e.opts.Runs)
	if err != nil {
		return nil, err
	}
	after.HistoryID, after.Snapshots, after.Tables = files.id, folded, maps.Clone(before.Tables)
	after.Previous.Tables = maps.Clone(before.Previous.Tables)
	after.Previous.Purged = slices.Clone(before.Previous.Purged)
	for _, t := range e.tables {
		if !slices.ContainsFunc(t.files, func(f erasedFile) bool { return f.changes() }) {
			continue
		}
		name := t.table.Name
		left, err := e.left(ctx, files, t)
		if err != nil {
			return nil, err
		}
		after.Tables[name] = snapshot.NewManifestTable(left...)
		if after.Previous.Tables == nil {
			continue // the last fold was undone, so the files before it are not known
		}
		previous, replaced := before.Previous.Tables[name]
		if !replaced { // versions that the last fold kept may now begin or end on the day of that fold
			previous = []sink.File{}
			after.Previous.Tables[name] = previous
		}
		if previous != nil && !slices.Contains(after.Previous.Purged, name) {
			after.Previous.Purged = append(after.Previous.Purged, name)
		}
	}
	if report := e.Report(purge); report != nil {
		after.AddPurge(report)
	}
	return &after, nil
}

// left returns the files of a table after the rewrite, in the manifest's order.
func (e *Erasure) left(ctx context.Context, files *fileMaker, t *erasedTable) ([]sink.File, error) {
	var after []sink.File
	for i := 0; i < len(t.files); {
		first := i
		left := t.files[i].left()
		for i++; i < len(t.files) && t.files[first].open && (left == 0 || t.files[i].firstGone); i++ {
			left += t.files[i].left()
		}
		part := t.files[first:i]
		switch {
		case left == 0:
			continue
		case len(part) == 1 && !part[0].changes():
			after = append(after, part[0].File)
			continue
		}
		path := fmt.Sprintf("%spart-%04d-%s.parquet", snapshot.HistoryFolder(t.table.Name, snapshot.DateOf(part[0].to)), first, files.id)
		file, err := e.part(ctx, files, t, path, part)
		if err != nil {
			return nil, err
		}
		after = append(after, file)
	}
	return after, nil
}

// part stages one file with the remaining rows of the given files, and returns it.
func (e *Erasure) part(ctx context.Context, files *fileMaker, t *erasedTable, path string, from []erasedFile) (sink.File, error) {
	var out *snapshot.TableFile
	var table *schemas.Table // the columns of the first file
	for i := range from {
		err := e.copyRows(ctx, files.catalog, t, &from[i], func(own *schemas.Table) (_ *schemas.Table, _ *snapshot.TableFile, err error) {
			if out == nil {
				table = own
				out, err = files.create(ctx, path, own)
			}
			return table, out, err
		})
		if err != nil {
			return sink.File{}, fmt.Errorf("rewrite %s: %w", from[i].Path, err)
		}
	}
	return files.stage(ctx, out)
}

// copyRows appends the remaining rows of a file to the file that open returns, with that file's columns. It returns an
// error if it does not find the same number of rows to purge as the search.
func (e *Erasure) copyRows(
	ctx context.Context, catalog snapshot.Catalog, t *erasedTable, f *erasedFile,
	open func(*schemas.Table) (*schemas.Table, *snapshot.TableFile, error),
) (err error) {
	was, err := erase.OpenFile(ctx, catalog, f.Path, t.table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, was.Close()) }()
	if err := sink.CheckHash(ctx, was, f.SHA256); err != nil {
		return err
	}
	table, out, err := open(was.Table)
	if err != nil {
		return err
	}
	m := e.match(t, f.to, table)
	var now erasedFile
	first, add, finish := 0, out.Append, func() error { return nil }
	if len(t.merges) > 0 {
		regrouper := newRegrouper(out, table, m)
		add, finish = regrouper.add, func() error { return regrouper.write(regrouper.held.N) }
	}
	err = snapshot.ReadRows(was, was.Size(), table, func(batch *rows.Batch) error {
		kept := make([]int32, 0, batch.N)
		var cleared []int
		for i := range batch.N {
			if t.copies(m, batch, i, place{f.Path, first + i}, &now) {
				kept = append(kept, int32(i))
				if m.LosesExtra(batch, i) {
					cleared = append(cleared, i)
				}
			}
		}
		m.ClearExtra(batch, cleared)
		first += batch.N
		batch.Order = kept
		return errors.Join(ctx.Err(), add(batch))
	})
	if err == nil {
		err = finish()
	}
	if err == nil && (now.found() != f.found() || now.merged != f.merged || now.began != f.began) {
		err = fmt.Errorf("the search found %d rows to purge, but the rewrite found %d", f.found()+f.merged+f.began, now.found()+now.merged+now.began)
	}
	return err
}

// copies reports whether a version is copied, sets its new first day and ordinal, and counts the change.
func (t *erasedTable) copies(m *versionMatch, batch *rows.Batch, i int, at place, now *erasedFile) bool {
	v := m.version(batch, i)
	if !v.stays {
		now.removed++
		return false
	}
	began := &batch.Cols[m.from].I32[i]
	switch {
	case m.LosesExtra(batch, i):
		now.cleared++
	case v.from != *began:
		now.trimmed++
	}
	if merge, found := t.merges[at]; found {
		if merge.goes {
			now.merged++
			return false
		}
		now.began++
		if v.from = merge.from; m.ordinal >= 0 {
			batch.Cols[m.ordinal].I32[i] = merge.ordinal
		}
	}
	*began = v.from
	return true
}
