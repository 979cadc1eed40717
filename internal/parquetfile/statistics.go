package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

// Statistics describes the values of a file, according to its footer.
type Statistics struct {
	Rows    int64
	Columns []ColumnStatistics
}

// ColumnStatistics describes the values of a column.
type ColumnStatistics struct {
	Name  string
	Type  schemas.Type // 0 if a Writer does not write this type
	Nulls int64
	// Least and Greatest are bounds of the values. The bound of a long text is shorter than the text. They are nil if the
	// column has only nulls or is boolean, or if a bound is unknown. Otherwise they are a string, a float64, or an int64:
	// a whole number, the days of a date or the microseconds of a timestamp.
	Least, Greatest any
}

// ReadFooter describes a Parquet file of the given size, which another program may have written. It reads only the
// footer.
func ReadFooter(r io.ReaderAt, size int64) (Info, error) {
	meta, err := decodeFooter(r, size)
	if err != nil {
		return Info{}, err
	}
	return infoOf(&meta), nil
}

func decodeFooter(r io.ReaderAt, size int64) (format.FileMetaData, error) {
	footer, err := readFooter(r, size)
	if err == nil {
		err = checkThrift(footer)
	}
	var meta format.FileMetaData
	if err == nil {
		err = thrift.Unmarshal(new(thrift.CompactProtocol), footer, &meta)
	}
	if err == nil && len(meta.Schema) == 0 {
		err = errors.New("it has no schema")
	}
	if err != nil {
		return format.FileMetaData{}, fmt.Errorf("read footer: %w", err)
	}
	return meta, nil
}

// ReadStatistics returns the statistics of a file of the given size. It reads only the footer, so it detects less
// damage than Inspect.
func ReadStatistics(r io.ReaderAt, size int64) (Statistics, error) {
	meta, err := decodeFooter(r, size)
	if err != nil {
		return Statistics{}, err
	}
	s := Statistics{Rows: meta.NumRows, Columns: make([]ColumnStatistics, len(meta.Schema)-1)}
	for i := range s.Columns {
		e := &meta.Schema[1+i]
		s.Columns[i] = ColumnStatistics{Name: e.Name, Type: declaredType(e)}
	}
	for g := range meta.RowGroups {
		if len(meta.RowGroups[g].Columns) != len(s.Columns) {
			return Statistics{}, fmt.Errorf("read footer: row group %d has %d column chunks for %d columns",
				g, len(meta.RowGroups[g].Columns), len(s.Columns))
		}
	}
	for i := range s.Columns {
		s.Columns[i].add(meta.RowGroups, i)
	}
	return s, nil
}

// add adds the statistics of the column's chunks.
func (s *ColumnStatistics) add(groups []format.RowGroup, column int) {
	var least, greatest []byte
	known := s.Type != 0
	for g := range groups {
		chunk := &groups[g].Columns[column].MetaData
		s.Nulls += chunk.Statistics.NullCount
		if chunk.Statistics.NullCount == chunk.NumValues {
			continue
		}
		lower, upper := chunk.Statistics.MinValue, chunk.Statistics.MaxValue
		if known = known && isBound(s.Type, lower) && isBound(s.Type, upper); !known {
			continue // the nulls still count
		}
		if least == nil || compareBounds(s.Type, lower, least) < 0 {
			least = lower
		}
		if greatest == nil || compareBounds(s.Type, upper, greatest) > 0 {
			greatest = upper
		}
	}
	if known && least != nil {
		s.Least, s.Greatest = boundValue(s.Type, least), boundValue(s.Type, greatest)
	}
}

// isBound reports whether b can be used as a bound for values of the type.
func isBound(t schemas.Type, b []byte) bool {
	switch t {
	case schemas.Int32, schemas.Date:
		return len(b) == 4
	case schemas.Int64, schemas.Timestamp, schemas.Double:
		return len(b) == 8
	case schemas.Boolean:
		return false // bounds of booleans exclude nothing
	default:
		return b != nil
	}
}

func boundValue(t schemas.Type, b []byte) any {
	switch t {
	case schemas.Int32, schemas.Date:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case schemas.Int64, schemas.Timestamp:
		return int64(binary.LittleEndian.Uint64(b))
	case schemas.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	default:
		return string(b)
	}
}
