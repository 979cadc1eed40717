package maintenance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// purgeHistory removes what was found in the history. Files that lose nothing stay, unless the first school of the next
// part is gone: schools begin parts, and a part without its first school continues the one before.
func (p *purger) purgeHistory(ctx context.Context) (err error) {
	h := p.history
	if h == nil {
		return nil
	}
	if h.rehashed, err = p.rehash(h.manifest.Snapshots); err != nil || !h.pending() {
		return err
	}
	pointer, _, err := p.catalog.Read(ctx, snapshot.HistoryPointerPath)
	if err != nil {
		return fmt.Errorf("purge the history: %w", err)
	}
	sum := sha256.Sum256([]byte(h.manifest.HistoryID + " without " + p.report.ID))
	id := hex.EncodeToString(sum[:8])
	if err := p.catalog.Sweep(ctx, id); err != nil { // of a killed purge
		return err
	}
	w := &historyWriter{catalog: p.catalog, history: h, id: id, tables: snapshot.NewHistoryTables(p.catalog, id)}
	change, err := w.change(ctx, p.report.ID)
	// The pointer was read after the manifest. What the other process has removed cannot be read.
	err = cmp.Or(p.catalog.HistoryUnchanged(ctx, h.manifest.HistoryID), err)
	if err == nil {
		change.Before = sink.Hash(pointer)
		err = p.catalog.ApplyHistory(ctx, change)
	}
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(fmt.Errorf("purge the history: %w", err), p.abortHistory(ctx, w))
	}
	return nil
}

// abortHistory drops what was staged, unless a change that has begun needs it.
func (p *purger) abortHistory(ctx context.Context, w *historyWriter) error {
	begun, err := p.catalog.HistoryChanging(ctx, w.id)
	if begun || err != nil {
		return err
	}
	return errors.Join(p.catalog.AbortAll(ctx, w.id, w.staged), p.catalog.Sweep(ctx, w.id))
}

// historyWriter stages the files of a history without what is purged.
type historyWriter struct {
	catalog snapshot.Catalog
	history *purgedHistory
	id      string
	tables  *snapshot.Tables
	staged  []sink.File
}

// change stages the files and returns the change that publishes them.
func (w *historyWriter) change(ctx context.Context, purge string) (*snapshot.HistoryChange, error) {
	before := w.history.manifest
	after := *before
	after.HistoryID, after.Snapshots, after.Tables = w.id, w.history.rehashed, maps.Clone(before.Tables)
	after.Previous.Tables = maps.Clone(before.Previous.Tables)
	after.Previous.Purged = slices.Clone(before.Previous.Purged)
	for _, t := range w.history.tables {
		if !slices.ContainsFunc(t.files, func(f historyFile) bool { return f.changes() }) {
			continue
		}
		name := t.table.Name
		files, err := w.table(ctx, t)
		if err != nil {
			return nil, err
		}
		after.Tables[name] = snapshot.NewManifestTable(files...)
		previous, replaced := before.Previous.Tables[name]
		if !replaced { // what the last fold kept may now begin or end on its day
			previous = []sink.File{}
			after.Previous.Tables[name] = previous
		}
		if previous != nil && !slices.Contains(after.Previous.Purged, name) {
			after.Previous.Purged = append(after.Previous.Purged, name)
		}
	}
	if report := w.history.report(purge); report != nil {
		after.Purge = report.Plus(before.Purge)
	}
	change := &snapshot.HistoryChange{After: &after, Staged: make(map[string]json.RawMessage)}
	for _, file := range w.staged {
		change.Staged[file.Path] = file.Staged
	}
	named := make(set)
	for _, file := range after.Files() {
		named[file.Path] = true
	}
	for _, file := range before.Files() {
		if !named[file.Path] {
			change.Remove = append(change.Remove, file.Path)
		}
	}
	change.Remove = append(change.Remove, snapshot.HistoryManifestPath(before.HistoryID))
	return change, nil
}

// table returns the files of a table after the purge, in the manifest's order.
func (w *historyWriter) table(ctx context.Context, t *historyTable) ([]sink.File, error) {
	endings, err := w.endings(ctx, t)
	if err != nil {
		return nil, err
	}
	var files []sink.File
	for i := 0; i < len(t.files); {
		first := i
		left := int64(0)
		for i++; ; i++ {
			left += t.files[i-1].left()
			if i == len(t.files) || !t.files[first].open || left > 0 && !t.files[i].firstGone {
				break
			}
		}
		part := t.files[first:i]
		switch {
		case left == 0:
			continue
		case len(part) == 1 && !part[0].changes():
			files = append(files, part[0].File)
			continue
		}
		validTo, ending := snapshot.Open, (*rows.Batch)(nil)
		if !part[0].open {
			validTo, ending = snapshot.DateOf(part[0].to), endings[part[0].to]
		}
		path := fmt.Sprintf("%spart-%04d-%s.parquet", snapshot.HistoryFolder(t.table.Name, validTo), first, w.id)
		file, err := w.part(ctx, t, path, part, ending)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// part stages one file with what is left of some files, and with the versions that now end on the file's day, if any.
func (w *historyWriter) part(
	ctx context.Context, t *historyTable, path string, from []historyFile, endings *rows.Batch,
) (_ sink.File, err error) {
	out := &endingsWriter{endings: endings}
	create := func(table *schemas.Table) (err error) {
		out.TableFile, err = w.tables.Create(ctx, path, table)
		return err
	}
	defer func() {
		if out.TableFile != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	if endings != nil {
		if err := create(endings.Table); err != nil {
			return sink.File{}, err
		}
	}
	var table *schemas.Table // of the rows that are copied
	for i := range from {
		if from[i].Path == "" {
			continue
		}
		err := w.copyRows(ctx, t, &from[i], func(own *schemas.Table) (*schemas.Table, *endingsWriter, error) {
			if table == nil {
				table = own
			}
			if out.TableFile == nil {
				err = create(table)
			}
			return table, out, err
		})
		if err != nil {
			return sink.File{}, fmt.Errorf("rewrite %s: %w", from[i].Path, err)
		}
	}
	if err := out.finish(); err != nil {
		return sink.File{}, err
	}
	file, err := out.Stage(ctx)
	if err != nil {
		return sink.File{}, err
	}
	w.staged = append(w.staged, file)
	file.Staged = nil
	return file, nil
}

// copyRows appends what is left of a file to the one that open returns.
func (w *historyWriter) copyRows(
	ctx context.Context, t *historyTable, f *historyFile,
	open func(*schemas.Table) (*schemas.Table, *endingsWriter, error),
) (err error) {
	was, err := openDataFile(ctx, w.catalog, f.Path, t.table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, was.Close()) }()
	if err := sink.CheckHash(ctx, was, f.SHA256); err != nil {
		return err
	}
	table, out, err := open(was.table)
	if err != nil {
		return err
	}
	match := w.history.match(t, f.to, table)
	var now historyFile
	err = snapshot.ReadRows(was, was.Size(), table, func(batch *rows.Batch) error {
		kept := make([]int32, 0, batch.N)
		began := batch.Cols[match.from].I32
		var cleared []int
		for i := range batch.N {
			from, stays, endings := match.row(batch, i)
			switch {
			case !stays && len(endings) > 0:
				now.moved++
				continue
			case !stays:
				now.removed++
				continue
			}
			if match.losesExtra(batch, i) {
				now.cleared++
				cleared = append(cleared, i)
			}
			if len(t.merges) > 0 {
				merge, found := t.merges[match.versionID(batch, i)]
				if found && merge.goes {
					now.merged++
					continue
				}
				if found {
					from = merge.from
				}
			}
			if from != began[i] {
				now.trimmed++
				began[i] = from
			}
			kept = append(kept, int32(i))
		}
		if len(cleared) > 0 {
			clearTexts(&batch.Cols[match.extraAt], cleared)
		}
		return errors.Join(ctx.Err(), out.append(batch, kept))
	})
	if err == nil && (now.removed != f.removed || now.moved != f.moved || now.trimmed != f.trimmed || now.cleared != f.cleared || now.merged != f.merged) {
		err = fmt.Errorf("%d rows to purge were found, then %d", f.removed, now.removed)
	}
	return err
}
