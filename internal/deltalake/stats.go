package deltalake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// statistics are the statistics of a file.
type statistics struct {
	NumRecords int64            `json:"numRecords"`
	MinValues  map[string]any   `json:"minValues"`
	MaxValues  map[string]any   `json:"maxValues"`
	NullCount  map[string]int64 `json:"nullCount"`
}

// addOf returns the action that makes a file live, or nil if the file is missing, or is not the one that its manifest
// names. It reads only the footer.
func addOf(ctx context.Context, store sink.Store, t *table, path string) (_ *add, err error) {
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

// statisticsOf returns the statistics of a file as a log has them.
func statisticsOf(found parquetfile.Statistics, table *schemas.Table) statistics {
	s := statistics{found.Rows, make(map[string]any), make(map[string]any), make(map[string]int64)}
	for i := range found.Columns {
		c := &found.Columns[i]
		at := table.Column(c.Name)
		if at < 0 {
			continue
		}
		s.NullCount[c.Name] = c.Nulls
		// Another type than declared would be another program's file.
		if declared := &table.Columns[at]; c.Least != nil && hasBounds(declared) && declared.Type == c.Type {
			if least, greatest := bounds(c); least != nil {
				s.MinValues[c.Name], s.MaxValues[c.Name] = least, greatest
			}
		}
	}
	return s
}

// bounds returns the bounds of a column as a log has them, or nil if no text that every engine reads can express them.
// Those of timestamps are whole milliseconds, the unit that all engines agree on.
func bounds(c *parquetfile.ColumnStatistics) (least, greatest any) {
	lower, whole := c.Least.(int64)
	upper, _ := c.Greatest.(int64)
	if !whole || c.Type != schemas.Date && c.Type != schemas.Timestamp {
		return c.Least, c.Greatest
	}
	from, to, layout := time.UnixMicro(lower).UTC(), time.UnixMicro(upper).UTC(), "2006-01-02T15:04:05.000Z"
	if c.Type == schemas.Date {
		from, to, layout = time.Unix(lower*secondsPerDay, 0).UTC(), time.Unix(upper*secondsPerDay, 0).UTC(), time.DateOnly
	} else if cut := to.Truncate(time.Millisecond); cut != to {
		to = cut.Add(time.Millisecond)
	}
	if from.Year() < 1 || to.Year() > 9999 {
		return nil, nil
	}
	return from.Format(layout), to.Format(layout)
}

const secondsPerDay = 24 * 60 * 60

// watchedReader keeps the error of a failed read, to tell it from a damaged file.
type watchedReader struct {
	io.ReaderAt

	err error
}

// ReadAt reads and keeps the error.
func (r *watchedReader) ReadAt(b []byte, offset int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
