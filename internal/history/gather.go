package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// gathered holds a table's rows by unit, in a draft that is dropped after use. Files of --partition-by district do not hold
// the schools in the order of the history, so that reading them school by school would open and decode a file for nearly
// every school.
type gathered struct {
	*rowDraft

	units map[string]*extent
	batch *rows.Batch
}

// extent is where a draft holds the rows of a unit.
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

// gather copies the rows of the units to a draft of a fold. It reads every file once.
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
	for _, bucket := range slices.Sorted(maps.Keys(buckets)) {
		file, ok := r.side.files[r.table.Name][bucket]
		if !ok {
			continue
		}
		if err := r.gatherFile(ctx, file); err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
	}
	return draft.finish()
}

// gatherFile appends the rows of one file to the draft.
func (r *reader) gatherFile(ctx context.Context, file sink.File) (err error) {
	if err := r.open(ctx, file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.fileReader.close()) }()
	page, part, column := rows.New(r.table), r.gathered.batch, unitColumn(r.table)
	for {
		page.Reset()
		if err := r.read(page); err != nil {
			return ignoreEnd(err)
		}
		for first := 0; first < page.N; {
			unit := string(page.Cols[column].Text(first))
			end := first + sort.Search(page.N-first, func(i int) bool { return string(page.Cols[column].Text(first+i)) > unit })
			if at := r.gathered.units[unit]; at != nil {
				part.Reset()
				part.AppendRows(page, first, end)
				if at.bytes == 0 {
					at.offset = r.gathered.size
				}
				if err := r.gathered.write(part); err != nil {
					return err
				}
				at.bytes = r.gathered.size - at.offset
			}
			first = end
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// source returns the rows of a unit.
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
