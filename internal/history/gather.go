package history

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sort"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
)

// gathered holds a table's rows by unit, in a draft that is dropped after use. With --partition-by district, files do
// not hold the schools in the order of the history. Without the draft, a file would have to be opened and decoded for
// nearly every school.
type gathered struct {
	*rowDraft

	units map[string]*extent
	batch *rows.Batch
}

// extent is the place of a unit's rows in a draft.
type extent struct {
	offset, bytes int64
}

// isScattered reports whether reading the units in the listed order would return to files already read.
func (s *side) isScattered(units []Unit) bool {
	last, seen := noBucket, make(map[int]bool)
	for _, unit := range units {
		bucket := s.bucket(unit)
		if bucket != last && seen[bucket] {
			return true
		}
		last, seen[bucket] = bucket, true
	}
	return false
}

// gather copies the rows of the units to a draft of a fold. It reads each of their files once.
func (r *reader) gather(ctx context.Context, files *fileMaker, units []Unit) error {
	draft, err := files.draft(ctx, snapshot.HistoryFilesPrefix+r.table.Name+"/rows")
	if err != nil {
		return err
	}
	g := &gathered{rowDraft: draft, units: make(map[string]*extent), batch: rows.New(r.table)}
	r.gathered = g // close drops the draft
	buckets := make(map[int]bool)
	for _, unit := range units {
		g.units[unit.School+unit.District] = new(extent)
		buckets[r.side.bucket(unit)] = true
	}
	r.files = r.filesOf(slices.Sorted(maps.Keys(buckets))...)
	page, part, column := rows.New(r.table), g.batch, unitColumn(r.table)
	for {
		page.Reset()
		if err := r.next(ctx, page); errors.Is(err, io.EOF) {
			return draft.finish()
		} else if err != nil {
			return err
		}
		for first := 0; first < page.N; {
			unit := string(page.Cols[column].Text(first))
			end := first + sort.Search(page.N-first, func(i int) bool { return string(page.Cols[column].Text(first+i)) > unit })
			if at := g.units[unit]; at != nil {
				part.Reset()
				part.AppendRows(page, first, end)
				if at.bytes == 0 {
					at.offset = g.size
				}
				if err := g.write(part); err != nil {
					return err
				}
				at.bytes = g.size - at.offset
			}
			first = end
		}
	}
}

// source returns a source of the rows in an extent.
func (g *gathered) source(ctx context.Context, of *extent) source {
	g.seek(of.offset, of.bytes)
	return func(to *rows.Batch) (*rows.Batch, error) {
		if err := g.read(g.batch); err != nil {
			return nil, err
		}
		if to.Len() == 0 {
			return g.batch, ctx.Err()
		}
		to.AppendRows(g.batch, 0, g.batch.N)
		return to, ctx.Err()
	}
}
