package deltalake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// statistics are the statistics of a file. Either MinValues and MaxValues have the bounds of every bounded column that
// has values, or both are absent. Otherwise, delta-rs (1.6) finds no rows by a column without bounds if other columns
// have bounds. Null counts without bounds are harmless.
type statistics struct {
	NumRecords int64            `json:"numRecords"`
	MinValues  map[string]any   `json:"minValues,omitzero"`
	MaxValues  map[string]any   `json:"maxValues,omitzero"`
	NullCount  map[string]int64 `json:"nullCount"`
}

// addOf returns the action that makes a file live, or nil if the file is missing or damaged, or differs from its
// manifest in size or rows. It reads only the footer.
func addOf(ctx context.Context, store sink.Reader, t *table, path string) (_ *add, err error) {
	wanted := t.files[path]
	object, err := store.Open(ctx, t.folder+"/"+path)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	reader := &watchedReader{ReaderAt: object}
	found, err := parquetfile.ReadStatistics(reader, object.Size())
	if reader.err != nil {
		return nil, reader.err
	}
	if err != nil || object.Size() != wanted.size || found.Rows != wanted.rows {
		return nil, nil
	}
	stats, err := json.Marshal(statisticsOf(found, t.declared))
	return &add{
		Path: encodePath(path), PartitionValues: partitionsOf(path), Size: wanted.size,
		ModificationTime: wanted.published, DataChange: true, Stats: string(stats),
	}, err
}

// statisticsOf returns the statistics of a file in the form that logs use.
func statisticsOf(found parquetfile.Statistics, table *schemas.Table) statistics {
	s := statistics{found.Rows, make(map[string]any), make(map[string]any), make(map[string]int64)}
	unbounded, bounded := false, schemas.BoundedColumns()
	for i := range found.Columns {
		c := &found.Columns[i]
		if table.Column(c.Name) < 0 {
			continue
		}
		s.NullCount[c.Name] = c.Nulls
		switch {
		case !slices.Contains(bounded, c.Name):
		case c.Least != nil && c.Type == schemas.String:
			s.MinValues[c.Name], s.MaxValues[c.Name] = c.Least, c.Greatest
		case c.Nulls < found.Rows:
			unbounded = true
		}
	}
	if unbounded {
		s.MinValues, s.MaxValues = nil, nil
	}
	return s
}

// watchedReader keeps the error of a failed read, so that a failed read can be distinguished from a damaged file.
type watchedReader struct {
	io.ReaderAt

	err error
}

// ReadAt reads from the file and keeps the error.
func (r *watchedReader) ReadAt(b []byte, offset int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
