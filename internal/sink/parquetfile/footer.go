package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

const magic = "PAR1"

// footer collects what stands behind the row groups: the page indexes and the
// file's metadata.
type footer struct {
	meta fileMetaData
	// The indexes of all column chunks, encoded, in the order of the chunks.
	// Until finish, the offsets of a chunk's indexes count from the start of
	// these.
	columnIndexes, offsetIndexes bytes.Buffer
}

func (f *footer) reset(table *schemas.Table) {
	f.columnIndexes.Reset()
	f.offsetIndexes.Reset()
	groups := f.meta.RowGroups[:0]
	f.meta = fileMetaData{
		Version:      2,
		Schema:       schemaOf(table),
		RowGroups:    groups,
		CreatedBy:    CreatedBy,
		ColumnOrders: make([]format.ColumnOrder, len(table.Columns)),
	}
	if groups == nil {
		f.meta.RowGroups = []rowGroup{} // an empty list, not none
	}
	for i := range f.meta.ColumnOrders {
		f.meta.ColumnOrders[i].Value = new(format.TypeDefinedOrder)
	}
}

// startGroup adds a row group that starts at the file's offset.
func (f *footer) startGroup(table *schemas.Table, offset, rows int64) *rowGroup {
	group := rowGroup{NumRows: rows, FileOffset: offset, Columns: make([]columnChunk, 0, len(table.Columns))}
	for _, k := range table.KeyColumns() {
		group.SortingColumns = append(group.SortingColumns, format.SortingColumn{ColumnIdx: int32(k), NullsFirst: true})
	}
	f.meta.RowGroups = append(f.meta.RowGroups, group)
	return &f.meta.RowGroups[len(f.meta.RowGroups)-1]
}

// addChunk adds the column's chunk, whose dictionary page of that many bytes
// starts at the file's offset and is followed by its data pages.
func (f *footer) addChunk(group *rowGroup, c *column, offset int64, dictionary int) error {
	chunk := columnChunk{MetaData: c.metaData()}
	meta := &chunk.MetaData
	meta.TotalCompressedSize = int64(dictionary + len(c.body))
	if dictionary > 0 {
		meta.DictionaryPageOffset = offset
	}
	meta.DataPageOffset = offset + int64(dictionary)

	if index, ok := c.columnIndex(); ok {
		chunk.ColumnIndexOffset = int64(f.columnIndexes.Len())
		if err := encodeThrift(&f.columnIndexes, &index); err != nil {
			return fmt.Errorf("encode column index: %w", err)
		}
		chunk.ColumnIndexLength = int32(int64(f.columnIndexes.Len()) - chunk.ColumnIndexOffset)
	}
	index := format.OffsetIndex{PageLocations: make([]format.PageLocation, len(c.pages))}
	for i, p := range c.pages {
		index.PageLocations[i] = format.PageLocation{
			Offset:             meta.DataPageOffset + int64(p.offset),
			CompressedPageSize: int32(p.size),
			FirstRowIndex:      p.firstRow,
		}
	}
	chunk.OffsetIndexOffset = int64(f.offsetIndexes.Len())
	if err := encodeThrift(&f.offsetIndexes, &index); err != nil {
		return fmt.Errorf("encode offset index: %w", err)
	}
	chunk.OffsetIndexLength = int32(int64(f.offsetIndexes.Len()) - chunk.OffsetIndexOffset)

	group.Columns = append(group.Columns, chunk)
	group.TotalByteSize += meta.TotalUncompressedSize
	group.TotalCompressedSize += meta.TotalCompressedSize
	return nil
}

// finish returns all that follows the row groups, which end at the file's
// offset.
func (f *footer) finish(offset, rows int64) ([]byte, error) {
	offsetIndexes := offset + int64(f.columnIndexes.Len())
	for i := range f.meta.RowGroups {
		for j := range f.meta.RowGroups[i].Columns {
			chunk := &f.meta.RowGroups[i].Columns[j]
			if chunk.ColumnIndexLength > 0 {
				chunk.ColumnIndexOffset += offset
			}
			chunk.OffsetIndexOffset += offsetIndexes
		}
	}
	f.meta.NumRows = rows
	f.columnIndexes.Write(f.offsetIndexes.Bytes())
	at := f.columnIndexes.Len()
	if err := encodeThrift(&f.columnIndexes, &f.meta); err != nil {
		return nil, fmt.Errorf("encode footer: %w", err)
	}
	size := uint32(f.columnIndexes.Len() - at)
	return append(binary.LittleEndian.AppendUint32(f.columnIndexes.Bytes(), size), magic...), nil
}

// metaData returns the chunk's metadata without its place in the file.
func (c *column) metaData() columnMetaData {
	meta := columnMetaData{
		Type:                  physicalType(c.def.Type),
		PathInSchema:          []string{c.def.Name},
		Codec:                 format.Zstd,
		TotalUncompressedSize: int64(c.raw),
	}
	all, known := bounds{}, true
	counts := map[format.Encoding]int32{}
	for _, p := range c.pages {
		meta.NumValues += int64(p.rows)
		meta.Statistics.NullCount += int64(p.nulls)
		counts[p.encoding]++
		switch {
		case p.nulls == p.rows:
		case !p.bounds.known:
			known = false
		case !all.known:
			all = p.bounds
		default:
			all = c.widen(all, p.bounds)
		}
	}
	if known && all.known {
		meta.Statistics.MinValue = slices.Clone(all.least)
		meta.Statistics.MaxValue = slices.Clone(all.greatest)
		meta.Statistics.IsMinValueExact = thrift.New(all.leastExact)
		meta.Statistics.IsMaxValueExact = thrift.New(all.greatestExact)
	}
	if c.dict.len() > 0 {
		meta.EncodingStats = append(meta.EncodingStats,
			format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	}
	for _, e := range []format.Encoding{
		format.Plain, format.RLE, format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.RLEDictionary,
	} {
		if counts[e] > 0 {
			meta.EncodingStats = append(meta.EncodingStats,
				format.PageEncodingStats{PageType: format.DataPage, Encoding: e, Count: counts[e]})
		}
		levels := e == format.RLE && !c.def.Required
		dictionary := e == format.Plain && c.dict.len() > 0
		if counts[e] > 0 || levels || dictionary {
			meta.Encoding = append(meta.Encoding, e)
		}
	}
	return meta
}

// columnIndex returns the chunk's bounds by page. There is none if the bounds
// of a page that has values are not known.
func (c *column) columnIndex() (format.ColumnIndex, bool) {
	n := len(c.pages)
	index := format.ColumnIndex{
		NullPages:  make([]bool, n),
		MinValues:  make([][]byte, n),
		MaxValues:  make([][]byte, n),
		NullCounts: make([]int64, n),
	}
	ascending, descending := true, true
	before := -1
	for i, p := range c.pages {
		index.NullPages[i] = p.nulls == p.rows
		index.NullCounts[i] = int64(p.nulls)
		if index.NullPages[i] {
			continue
		}
		if !p.bounds.known {
			return index, false
		}
		index.MinValues[i], index.MaxValues[i] = p.bounds.least, p.bounds.greatest
		if before >= 0 {
			b := c.pages[before].bounds
			least, greatest := c.compare(b.least, p.bounds.least), c.compare(b.greatest, p.bounds.greatest)
			ascending = ascending && least <= 0 && greatest <= 0
			descending = descending && least >= 0 && greatest >= 0
		}
		before = i
	}
	switch {
	case ascending:
		index.BoundaryOrder = format.Ascending
	case descending:
		index.BoundaryOrder = format.Descending
	default:
		index.BoundaryOrder = format.Unordered
	}
	return index, true
}

func physicalType(t schemas.Type) format.Type {
	switch t {
	case schemas.Int32, schemas.Date:
		return format.Int32
	case schemas.Int64, schemas.Timestamp:
		return format.Int64
	case schemas.Double:
		return format.Double
	case schemas.Boolean:
		return format.Boolean
	default:
		return format.ByteArray
	}
}

// schemaOf returns the table's schema: the root and its columns. Whole numbers
// need no annotation: their physical type says all.
func schemaOf(table *schemas.Table) []format.SchemaElement {
	elements := make([]format.SchemaElement, 1, 1+len(table.Columns))
	elements[0] = format.SchemaElement{Name: table.Name, NumChildren: thrift.New(int32(len(table.Columns)))}
	for i := range table.Columns {
		c := &table.Columns[i]
		e := format.SchemaElement{
			Name:           c.Name,
			Type:           thrift.New(physicalType(c.Type)),
			RepetitionType: thrift.New(format.Optional),
		}
		if c.Required {
			e.RepetitionType.V = format.Required
		}
		switch c.Type {
		case schemas.String, schemas.JSON: // see doc.go for why not JsonType
			e.ConvertedType = thrift.New(deprecated.UTF8)
			e.LogicalType.Value = new(format.StringType)
		case schemas.Date:
			e.ConvertedType = thrift.New(deprecated.Date)
			e.LogicalType.Value = new(format.DateType)
		case schemas.Timestamp:
			e.ConvertedType = thrift.New(deprecated.TimestampMicros)
			e.LogicalType.Value = &format.TimestampType{
				IsAdjustedToUTC: true,
				Unit:            format.TimeUnit{Value: new(format.MicroSeconds)},
			}
		case schemas.Int32, schemas.Int64, schemas.Double, schemas.Boolean:
		}
		elements = append(elements, e)
	}
	return elements
}
