package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

// footer collects the page indexes, the Bloom filters and the file's metadata, which follow the row groups.
type footer struct {
	meta fileMetaData
	// The encoded indexes and filters of all column chunks, in the order of the chunks. Until finish is called, the
	// chunks' offsets are relative to these buffers.
	columnIndexes, offsetIndexes, bloomFilters bytes.Buffer
}

func (f *footer) reset(table *schemas.Table) {
	f.columnIndexes.Reset()
	f.offsetIndexes.Reset()
	f.bloomFilters.Reset()
	groups := f.meta.RowGroups[:0]
	f.meta = fileMetaData{
		Version:      2,
		Schema:       schemaOf(table),
		RowGroups:    groups,
		CreatedBy:    CreatedBy,
		ColumnOrders: make([]format.ColumnOrder, len(table.Columns)),
	}
	if groups == nil {
		f.meta.RowGroups = []rowGroup{} // written as an empty list
	}
	for i := range f.meta.ColumnOrders {
		f.meta.ColumnOrders[i].Value = new(format.TypeDefinedOrder)
	}
}

// startGroup adds a row group that starts at the given file offset, and returns it.
func (f *footer) startGroup(table *schemas.Table, offset, rows int64) *rowGroup {
	group := rowGroup{NumRows: rows, FileOffset: offset, Columns: make([]columnChunk, 0, len(table.Columns))}
	for _, k := range table.KeyColumns() {
		group.SortingColumns = append(group.SortingColumns, format.SortingColumn{ColumnIdx: int32(k), NullsFirst: true})
	}
	f.meta.RowGroups = append(f.meta.RowGroups, group)
	return &f.meta.RowGroups[len(f.meta.RowGroups)-1]
}

// addChunk adds the column's chunk, which starts at the given file offset. It consists of a dictionary page of the
// given size, 0 if there is none, and the data pages.
func (f *footer) addChunk(group *rowGroup, c *column, offset int64, dictionary int) error {
	chunk := columnChunk{MetaData: c.metaData()}
	meta := &chunk.MetaData
	meta.TotalCompressedSize = int64(dictionary + c.body.size)
	if dictionary > 0 {
		meta.DictionaryPageOffset = offset
	}
	meta.DataPageOffset = offset + int64(dictionary)

	if c.lean {
		meta.EncodingStats = nil
		f.meta.ColumnOrders = nil // without bounds, no orders are needed
	} else if err := f.addIndexes(&chunk, c); err != nil {
		return err
	}
	if c.bloom.used {
		meta.BloomFilterOffset = int64(f.bloomFilters.Len())
		if err := c.appendBloom(&f.bloomFilters); err != nil {
			return err
		}
		meta.BloomFilterLength = int32(int64(f.bloomFilters.Len()) - meta.BloomFilterOffset)
	}

	group.Columns = append(group.Columns, chunk)
	group.TotalByteSize += meta.TotalUncompressedSize
	group.TotalCompressedSize += meta.TotalCompressedSize
	return nil
}

// addIndexes adds the page index of a chunk.
func (f *footer) addIndexes(chunk *columnChunk, c *column) error {
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
			Offset:             chunk.MetaData.DataPageOffset + int64(p.offset),
			CompressedPageSize: int32(p.size),
			FirstRowIndex:      p.firstRow,
		}
	}
	chunk.OffsetIndexOffset = int64(f.offsetIndexes.Len())
	if err := encodeThrift(&f.offsetIndexes, &index); err != nil {
		return fmt.Errorf("encode offset index: %w", err)
	}
	chunk.OffsetIndexLength = int32(int64(f.offsetIndexes.Len()) - chunk.OffsetIndexOffset)
	return nil
}

// finish returns the end of the file, which follows the row groups. offset is the file offset at which the row groups
// end.
func (f *footer) finish(offset, rows int64) ([]byte, error) {
	offsetIndexes := offset + int64(f.columnIndexes.Len())
	bloomFilters := offsetIndexes + int64(f.offsetIndexes.Len())
	for i := range f.meta.RowGroups {
		for j := range f.meta.RowGroups[i].Columns {
			chunk := &f.meta.RowGroups[i].Columns[j]
			if chunk.ColumnIndexLength > 0 {
				chunk.ColumnIndexOffset += offset
			}
			if chunk.OffsetIndexLength > 0 {
				chunk.OffsetIndexOffset += offsetIndexes
			}
			if chunk.MetaData.BloomFilterLength > 0 {
				chunk.MetaData.BloomFilterOffset += bloomFilters
			}
		}
	}
	f.meta.NumRows = rows
	f.columnIndexes.Write(f.offsetIndexes.Bytes())
	f.columnIndexes.Write(f.bloomFilters.Bytes())
	at := f.columnIndexes.Len()
	if err := encodeThrift(&f.columnIndexes, &f.meta); err != nil {
		return nil, fmt.Errorf("encode footer: %w", err)
	}
	size := uint32(f.columnIndexes.Len() - at)
	return append(binary.LittleEndian.AppendUint32(f.columnIndexes.Bytes(), size), magic...), nil
}

// metaData returns the chunk's metadata without its offsets.
func (c *column) metaData() columnMetaData {
	meta := columnMetaData{
		Type:                  physicalType(c.def.Type),
		PathInSchema:          []string{c.def.Name},
		Codec:                 format.Zstd,
		TotalUncompressedSize: int64(c.raw),
	}
	if c.stored {
		meta.Codec = format.Uncompressed
	}
	all, known := bounds{}, !c.lean
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

// columnIndex returns the bounds of each page of the chunk. It returns false if the bounds of a page with values are
// not known.
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
