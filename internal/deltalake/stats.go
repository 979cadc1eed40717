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

// errUnusable reports that a file is missing, or is not the one that its manifest names.
var errUnusable = errors.New("the file is missing or damaged")

// readStats returns the statistics of a file as a log has them, or errUnusable.
func readStats(ctx context.Context, store sink.Store, path string, file wantedFile, table *schemas.Table) (_ string, err error) {
	object, err := store.Open(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		return "", errUnusable
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	reader := &watchedReader{ReaderAt: object}
	found, err := parquetfile.ReadStatistics(reader, object.Size())
	switch {
	case reader.err != nil:
		return "", reader.err
	case err != nil, object.Size() != file.size, found.Rows != file.rows:
		return "", errUnusable
	}
	s := statistics{
		NumRecords: found.Rows, MinValues: map[string]any{}, MaxValues: map[string]any{}, NullCount: map[string]int64{},
	}
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
	encoded, err := json.Marshal(s)
	return string(encoded), err
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
