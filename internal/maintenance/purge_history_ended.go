package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// addEnding counts a version that is left until a day on which the version itself did not end. It belongs in the file of
// that day, which may not exist yet.
func (t *historyTable) addEnding(day int32, n int64) {
	at := slices.IndexFunc(t.files, func(f historyFile) bool { return f.open || f.to >= day })
	if at < 0 {
		at = len(t.files)
	}
	if at == len(t.files) || t.files[at].open || t.files[at].to > day {
		t.files = slices.Insert(t.files, at, historyFile{to: day})
	}
	t.files[at].gained += n
}

// endings returns the versions that addEnding has counted, by day, in the order of the files. They are few: children of
// records that have changed owners.
func (w *historyWriter) endings(ctx context.Context, t *historyTable) (map[int32]*rows.Batch, error) {
	table := &schemas.Table{Name: t.table.Name}
	files := slices.DeleteFunc(slices.Clone(t.files), func(f historyFile) bool { return f.Path == "" || f.endings == 0 && f.gained == 0 })
	for i := range files {
		if err := w.withFile(ctx, t, &files[i], func(file *dataFile) error {
			addColumns(table, file.table)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	because := snapshot.Removed
	if t.dataset != nil && t.dataset.Name == "test_results" {
		because = snapshot.Unexplained
	}
	found := make(map[int32]*rows.Batch)
	for i := range files {
		f := &files[i]
		if f.endings == 0 {
			continue
		}
		if err := w.withFile(ctx, t, f, func(file *dataFile) error {
			if err := sink.CheckHash(ctx, file, f.SHA256); err != nil {
				return err
			}
			match := w.history.match(t, f.to, file.table)
			return snapshot.ReadRows(file, file.Size(), file.table, func(batch *rows.Batch) error {
				for i := range batch.N {
					_, _, endings := match.row(batch, i)
					for _, e := range endings {
						if found[e.to] == nil {
							found[e.to] = rows.New(table)
						}
						appendVersion(found[e.to], batch, i)
						last := found[e.to].N - 1
						found[e.to].Cols[table.Column(validFrom)].I32[last] = e.from
						reason := &found[e.to].Cols[table.Column("ended_because")]
						reason.Truncate(last)
						reason.AppendString(because)
					}
				}
				return ctx.Err()
			})
		}); err != nil {
			return nil, err
		}
	}
	for _, batch := range found {
		batch.Order = make([]int32, batch.N)
		for i := range batch.Order {
			batch.Order[i] = int32(i)
		}
		slices.SortStableFunc(batch.Order, func(a, b int32) int { return compareVersions(batch, int(a), batch, int(b)) })
	}
	return found, nil
}

// withFile hands an open file of the history to use.
func (w *historyWriter) withFile(ctx context.Context, t *historyTable, f *historyFile, use func(*dataFile) error) (err error) {
	file, err := openDataFile(ctx, w.catalog, f.Path, t.table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := use(file); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	return nil
}

// addColumns adds the columns that a table lacks before those of versions.
func addColumns(table, from *schemas.Table) {
	at := 0
	for i := range from.Columns {
		if found := table.Column(from.Columns[i].Name); found >= 0 {
			at = found
		} else {
			table.Columns = slices.Insert(table.Columns, at, from.Columns[i])
		}
		at++
	}
}

// appendVersion appends row i of a batch that may lack columns.
func appendVersion(to, from *rows.Batch, i int) {
	for c := range to.Cols {
		if at := from.Table.Column(to.Table.Columns[c].Name); at >= 0 {
			to.Cols[c].AppendRow(&from.Cols[at], i)
		} else {
			to.Cols[c].AppendNull()
		}
	}
	to.N++
}

// compareVersions compares two versions in the order of the history's files: by key and valid_from, then by all values.
func compareVersions(a *rows.Batch, i int, b *rows.Batch, j int) int {
	for _, c := range a.Table.KeyColumns() {
		if order := rows.Compare(&a.Cols[c], i, &b.Cols[c], j); order != 0 {
			return order
		}
	}
	for c := range a.Cols {
		if order := rows.Compare(&a.Cols[c], i, &b.Cols[c], j); order != 0 {
			return order
		}
	}
	return 0
}

// endingsWriter writes the rows of a day's file, and between them those that now end on that day.
type endingsWriter struct {
	*snapshot.TableFile

	endings *rows.Batch // may be nil
	next    int         // of endings
}

// append appends some rows of a batch.
func (w *endingsWriter) append(batch *rows.Batch, kept []int32) error {
	if w.endings == nil {
		batch.Order = kept
		return w.Append(batch)
	}
	wide := rows.New(w.endings.Table)
	for _, i := range kept {
		appendVersion(wide, batch, int(i))
	}
	for from := 0; from < wide.N; {
		to := wide.N
		if w.next < w.endings.Len() {
			ending := w.endings.Row(w.next)
			to = from + sort.Search(wide.N-from, func(k int) bool { return compareVersions(wide, from+k, w.endings, ending) > 0 })
		}
		if err := w.AppendRows(wide, from, to); err != nil {
			return err
		}
		if from = to; from < wide.N {
			if err := w.AppendRows(w.endings, w.next, w.next+1); err != nil {
				return err
			}
			w.next++
		}
	}
	return nil
}

// finish appends the rows that are left.
func (w *endingsWriter) finish() error {
	if w.endings == nil {
		return nil
	}
	return w.AppendRows(w.endings, w.next, w.endings.Len())
}
