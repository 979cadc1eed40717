package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// footerOf decodes the footer with the members that package format lacks.
func footerOf(t *testing.T, file []byte) *fileMetaData {
	t.Helper()
	n := len(file) - 8
	size := int(binary.LittleEndian.Uint32(file[n:]))
	meta := new(fileMetaData)
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), file[n-size:n], meta))
	return meta
}

func indexesOf(t *testing.T, file []byte, chunk *columnChunk) (*format.OffsetIndex, *format.ColumnIndex) {
	t.Helper()
	offsets, bounds := new(format.OffsetIndex), new(format.ColumnIndex)
	b := file[chunk.OffsetIndexOffset:][:chunk.OffsetIndexLength]
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), b, offsets))
	if chunk.ColumnIndexLength == 0 {
		return offsets, nil
	}
	b = file[chunk.ColumnIndexOffset:][:chunk.ColumnIndexLength]
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), b, bounds))
	return offsets, bounds
}

// plain returns a value encoded as in statistics.
func plain(v any) []byte {
	switch v := v.(type) {
	case int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	}
	return []byte(v.(string))
}

// requireBounds checks the bounds of some values.
func requireBounds(t *testing.T, values []any, least, greatest []byte, leastExact, greatestExact bool) {
	t.Helper()
	lo := slices.MinFunc(values, compareValues)
	hi := slices.MaxFunc(values, compareValues)
	if lo == 0.0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0.0 {
		hi = 0.0
	}
	switch {
	case leastExact:
		require.Equal(t, plain(lo), least)
	default:
		require.True(t, strings.HasPrefix(lo.(string), string(least)))
		require.LessOrEqual(t, len(least), maxBoundBytes)
	}
	switch {
	case greatestExact:
		require.Equal(t, plain(hi), greatest)
	default:
		require.Less(t, hi.(string), string(greatest))
		require.LessOrEqual(t, len(greatest), maxBoundBytes+1)
	}
}

func TestStatisticsAndPageIndex(t *testing.T) {
	t.Parallel()
	table := everyType()
	for _, opts := range []Options{{}, {PageRows: 10, RowGroupRows: 95}, {PageRows: 3}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			t.Parallel()
			all := randomRows(rand.New(rand.NewPCG(5, 5)), table, 400)
			file := write(t, table, all, opts)
			meta := footerOf(t, file)
			require.Equal(t, "growth-export version 1", meta.CreatedBy)
			require.Len(t, meta.ColumnOrders, len(table.Columns))
			first := 0
			for g := range meta.RowGroups {
				group := &meta.RowGroups[g]
				require.Equal(t, []format.SortingColumn{{ColumnIdx: 1, NullsFirst: true}, {NullsFirst: true}, {ColumnIdx: 2, NullsFirst: true}},
					[]format.SortingColumn(group.SortingColumns))
				for j := range table.Columns {
					requireChunk(t, file, &group.Columns[j], columnOf(all[first:first+int(group.NumRows)], j))
				}
				first += int(group.NumRows)
			}
			require.Equal(t, len(all), first)

			whole, err := ReadStatistics(bytes.NewReader(file), int64(len(file)))
			require.NoError(t, err)
			require.EqualValues(t, len(all), whole.Rows)
			for j := range table.Columns {
				values := columnOf(all, j)
				require.EqualValues(t, len(values)-len(present(values)), whole.Columns[j].Nulls, table.Columns[j].Name)
			}
		})
	}
}

func columnOf(all []row, j int) []any {
	values := make([]any, len(all))
	for i := range all {
		values[i] = all[i][j]
	}
	return values
}

func present(values []any) []any {
	return slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
}

func requireChunk(t *testing.T, file []byte, chunk *columnChunk, values []any) {
	t.Helper()
	s := chunk.MetaData.Statistics
	have := present(values)
	require.EqualValues(t, len(values)-len(have), s.NullCount)
	if len(have) == 0 {
		require.Nil(t, s.MinValue)
		require.Nil(t, s.MaxValue)
	} else {
		require.True(t, s.IsMinValueExact.Valid && s.IsMaxValueExact.Valid)
		requireBounds(t, have, s.MinValue, s.MaxValue, s.IsMinValueExact.V, s.IsMaxValueExact.V)
	}
	offsets, bounds := indexesOf(t, file, chunk)
	var before int
	for i, p := range offsets.PageLocations {
		require.Equal(t, i == 0, p.FirstRowIndex == 0)
		end := int64(len(values))
		if i+1 < len(offsets.PageLocations) {
			end = offsets.PageLocations[i+1].FirstRowIndex
		}
		page := values[p.FirstRowIndex:end]
		have := present(page)
		require.EqualValues(t, len(page)-len(have), bounds.NullCounts[i])
		require.Equal(t, len(have) == 0, bounds.NullPages[i])
		if bounds.NullPages[i] {
			require.Empty(t, bounds.MinValues[i])
			require.Empty(t, bounds.MaxValues[i])
			continue
		}
		exact := func(v any) bool { return len(plain(v)) <= maxBoundBytes }
		requireBounds(t, have, bounds.MinValues[i], bounds.MaxValues[i],
			exact(slices.MinFunc(have, compareValues)), exact(slices.MaxFunc(have, compareValues)))
		if before > 0 {
			requireBoundaryOrder(t, chunk, bounds, before-1, i)
		}
		before = i + 1
	}
}

// requireBoundaryOrder checks that the bounds of two pages have the promised order.
func requireBoundaryOrder(t *testing.T, chunk *columnChunk, bounds *format.ColumnIndex, i, j int) {
	t.Helper()
	def := everyType().Columns[everyType().Column(chunk.MetaData.PathInSchema[0])]
	c := column{def: &def}
	lo := c.compare(bounds.MinValues[i], bounds.MinValues[j])
	hi := c.compare(bounds.MaxValues[i], bounds.MaxValues[j])
	switch bounds.BoundaryOrder {
	case format.Ascending:
		require.True(t, lo <= 0 && hi <= 0)
	case format.Descending:
		require.True(t, lo >= 0 && hi >= 0)
	case format.Unordered:
		require.NotEqual(t, "requested_school_bid", def.Name, "a sorted column")
	}
}

func TestBoundaryOrder(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "n", Type: schemas.Int32}}}
	for _, c := range []struct {
		values []any
		want   format.BoundaryOrder
	}{
		{[]any{int32(1)}, format.Ascending},
		{[]any{nil, nil}, format.Ascending},
		{[]any{int32(-2), nil, int32(-1), int32(-1), nil}, format.Ascending},
		{[]any{int32(3), nil, int32(3), int32(-1)}, format.Descending},
		{[]any{int32(3), int32(1), nil, int32(2)}, format.Unordered},
	} {
		all := make([]row, len(c.values))
		for i, v := range c.values {
			all[i] = row{v}
		}
		file := write(t, table, all, Options{PageRows: 1})
		_, bounds := indexesOf(t, file, &footerOf(t, file).RowGroups[0].Columns[0])
		require.Equal(t, c.want, bounds.BoundaryOrder, "%v", c.values)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	table := everyType()
	meta := footerOf(t, write(t, table, nil, Options{}))
	require.Zero(t, meta.NumRows)
	require.Empty(t, meta.RowGroups)
	require.Equal(t, "every_type", meta.Schema[0].Name)
	var got []string
	for _, e := range meta.Schema[1:] {
		s := fmt.Sprintf("%s %s %s", e.Name, e.RepetitionType.V, e.Type.V)
		if e.LogicalType.Value != nil {
			s += fmt.Sprintf(" %s %d", e.LogicalType.Value, e.ConvertedType.V)
		}
		got = append(got, s)
	}
	kinds := map[schemas.Type]string{
		schemas.String: "BYTE_ARRAY STRING 0", schemas.JSON: "BYTE_ARRAY STRING 0",
		schemas.Int32: "INT32", schemas.Int64: "INT64", schemas.Double: "DOUBLE", schemas.Boolean: "BOOLEAN",
		schemas.Date: "INT32 DATE 6", schemas.Timestamp: "INT64 TIMESTAMP(isAdjustedToUTC=true,unit=MICROS) 10",
	}
	for i, c := range table.Columns {
		repetition := map[bool]string{true: "REQUIRED", false: "OPTIONAL"}[c.Required]
		require.Equal(t, c.Name+" "+repetition+" "+kinds[c.Type], got[i])
	}
}

// encodingsOf returns the encodings of the data pages of a file of one row group and one column, as "encoding" or
// "encoding/encoding".
func encodingsOf(t *testing.T, kind schemas.Type, values []any) string {
	t.Helper()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "c", Type: kind}}}
	all := make([]row, len(values))
	for i, v := range values {
		all[i] = row{v}
	}
	file := write(t, table, all, Options{PageRows: 4000})
	requireRows(t, all, read(t, table, file))
	meta := footerOf(t, file).RowGroups[0].Columns[0].MetaData
	require.True(t, slices.IsSorted(meta.Encoding))
	var names []string
	pages, dictionaries := int32(0), int32(0)
	for _, s := range meta.EncodingStats {
		require.Contains(t, meta.Encoding, s.Encoding)
		if s.PageType == format.DictionaryPage {
			dictionaries++
			continue
		}
		names = append(names, s.Encoding.String())
		pages += s.Count
	}
	require.EqualValues(t, (len(values)+3999)/4000, pages)
	require.Equal(t, slices.Contains(names, "RLE_DICTIONARY"), dictionaries == 1)
	require.Equal(t, dictionaries == 1, meta.DictionaryPageOffset > 0)
	return strings.Join(names, "/")
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	values := func(n int, f func(i int) any) []any {
		s := make([]any, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	id := func() string { return fmt.Sprintf("%016x-%016x", r.Uint64(), r.Uint64()) }
	few := func(int) any { return fmt.Sprintf("level %d", r.IntN(20)) }
	for _, c := range []struct {
		name   string
		kind   schemas.Type
		want   string
		values []any
	}{
		{"names", schemas.String, "RLE_DICTIONARY", values(12_000, few)},
		{"one value", schemas.String, "RLE_DICTIONARY", values(12_000, func(int) any { return "x" })},
		{"empty texts", schemas.String, "RLE_DICTIONARY", values(12_000, func(int) any { return "" })},
		{"too few to tell", schemas.String, "RLE_DICTIONARY", values(1000, func(int) any { return id() })},
		{"ids", schemas.String, "DELTA_LENGTH_BYTE_ARRAY", values(12_000, func(int) any { return id() })},
		{"rare ids", schemas.String, "DELTA_LENGTH_BYTE_ARRAY/RLE_DICTIONARY", values(12_000, func(i int) any {
			if i%5 != 0 {
				return nil
			}
			return id()
		})},
		{"names, then ids", schemas.String, "DELTA_LENGTH_BYTE_ARRAY/RLE_DICTIONARY", values(80_000, func(i int) any {
			if i < 2000 {
				return few(i)
			}
			return id()
		})},
		{"nothing", schemas.String, "PLAIN", values(9000, func(int) any { return nil })},
		{"nothing, then names, then nothing", schemas.String, "PLAIN/RLE_DICTIONARY", values(12_000, func(i int) any {
			if i < 4000 || i >= 8000 {
				return nil
			}
			return few(i)
		})},
		{"nothing, then ids, then nothing", schemas.String, "PLAIN/DELTA_LENGTH_BYTE_ARRAY", values(12_000, func(i int) any {
			if i < 4000 || i >= 8000 {
				return nil
			}
			return id()
		})},
		{"scores", schemas.Int32, "RLE_DICTIONARY", values(12_000, func(int) any { return 140 + r.Int32N(99) })},
		{"durations", schemas.Int64, "DELTA_BINARY_PACKED", values(12_000, func(int) any { return r.Int64N(1 << 22) })},
		{"any number", schemas.Int32, "DELTA_BINARY_PACKED", values(12_000, func(int) any { return r.Int32() - r.Int32() })},
		{"counting", schemas.Int32, "DELTA_BINARY_PACKED", values(12_000, func(i int) any { return int32(i) })},
		{"no numbers", schemas.Int64, "PLAIN", values(12_000, func(int) any { return nil })},
		{"days", schemas.Date, "RLE_DICTIONARY", values(12_000, func(int) any { return 20000 + r.Int32N(60) })},
		{"times", schemas.Timestamp, "DELTA_BINARY_PACKED", values(12_000, func(int) any { return 17e14 + r.Int64N(1e14) })},
		{"tenths", schemas.Double, "RLE_DICTIONARY", values(12_000, func(int) any { return float64(r.IntN(900)) / 10 })},
		{"doubles", schemas.Double, "PLAIN", values(12_000, func(int) any { return r.NormFloat64() })},
		{"booleans", schemas.Boolean, "PLAIN", values(12_001, func(int) any { return r.IntN(2) == 0 })},
		{"no booleans", schemas.Boolean, "PLAIN", values(1, func(int) any { return nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, encodingsOf(t, c.kind, c.values))
		})
	}
}

// TestOffsets checks that the footer has the offsets of the pages, and that every byte before the page index belongs to
// a page.
func TestOffsets(t *testing.T) {
	t.Parallel()
	table := everyType()
	all := randomRows(rand.New(rand.NewPCG(6, 6)), table, 900)
	file := write(t, table, all, Options{PageRows: 100, RowGroupRows: 450})
	require.Equal(t, "PAR1", string(file[:4]))
	require.Equal(t, "PAR1", string(file[len(file)-4:]))
	at := int64(4)
	for _, group := range footerOf(t, file).RowGroups {
		require.Equal(t, at, group.FileOffset)
		var total, raw int64
		for j := range group.Columns {
			end, err := pageSizes(file, at, &group.Columns[j])
			require.NoError(t, err)
			total += group.Columns[j].MetaData.TotalCompressedSize
			raw += group.Columns[j].MetaData.TotalUncompressedSize
			at = end
		}
		require.Equal(t, total, group.TotalCompressedSize)
		require.Equal(t, raw, group.TotalByteSize)
	}
	require.Equal(t, at, footerOf(t, file).RowGroups[0].Columns[0].ColumnIndexOffset)
}

// pageSizes reads the page headers of a chunk that starts at a file offset, and compares their sizes with the chunk's
// metadata.
func pageSizes(file []byte, at int64, chunk *columnChunk) (int64, error) {
	var raw, packed int64
	for packed < chunk.MetaData.TotalCompressedSize {
		r := bytes.NewReader(file[at:])
		var h pageHeader
		protocol := new(thrift.CompactProtocol)
		if err := thrift.NewDecoder(protocol.NewReader(r)).Decode(&h); err != nil {
			return 0, err
		}
		header := int64(len(file)) - at - int64(r.Len())
		if (h.Type == format.DictionaryPage) != (at == chunk.MetaData.DictionaryPageOffset) {
			return 0, fmt.Errorf("%s at %d", h.Type, at)
		}
		raw += header + int64(h.UncompressedPageSize)
		packed += header + int64(h.CompressedPageSize)
		at += header + int64(h.CompressedPageSize)
	}
	if m := chunk.MetaData; raw != m.TotalUncompressedSize || packed != m.TotalCompressedSize {
		return 0, fmt.Errorf("%d and %d bytes, the footer says %d and %d", raw, packed, m.TotalUncompressedSize, m.TotalCompressedSize)
	}
	return at, nil
}
