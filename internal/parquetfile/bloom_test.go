package parquetfile

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// personTable has a column that identifies a person, and one that does not.
func personTable() *schemas.Table {
	return &schemas.Table{Name: "t", Columns: []schemas.Column{
		{Name: "key", Type: schemas.String, Key: true},
		{Name: "student_bid", Type: schemas.String, Class: schemas.ID},
	}}
}

// bloomFilters returns the Bloom filters of a column by row group, read by the library.
func bloomFilters(t *testing.T, file []byte, column int) []parquet.BloomFilter {
	t.Helper()
	opened, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var filters []parquet.BloomFilter
	for _, group := range opened.RowGroups() {
		filters = append(filters, group.ColumnChunks()[column].BloomFilter())
	}
	return filters
}

func passes(t *testing.T, filter parquet.BloomFilter, value string) bool {
	t.Helper()
	ok, err := filter.Check(parquet.ByteArrayValue([]byte(value)))
	require.NoError(t, err)
	return ok
}

// TestBloomFilter checks that a filter passes every value of its row group and few others, and is not larger than
// necessary, whether the values are coded by a dictionary, directly, or both.
func TestBloomFilter(t *testing.T) {
	t.Parallel()
	const groupRows, distinct = 16384, 4096
	for _, c := range []struct {
		name      string
		value     func(row int) int
		size, max int // bytes; maximum number of 10,000 absent values that pass
	}{
		{"dictionary", func(row int) int { return row % distinct }, distinct, 400},
		{"direct", func(row int) int { return row }, groupRows, 400},
		{"dictionary, then direct", func(row int) int { return max(row-8000, row%100) }, groupRows, 400},
		{"direct with repetitions", func(row int) int { return row / 3 }, groupRows / 2, 400},
		{"few", func(row int) int { return row % 3 }, 32, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := make([]row, 2*groupRows)
			for i := range all {
				all[i] = row{fmt.Sprintf("%06d", i), fmt.Sprintf("student %d", c.value(i%groupRows))}
			}
			file := write(t, personTable(), all, Options{RowGroupRows: groupRows, PageRows: 1000})
			require.Equal(t, []parquet.BloomFilter{nil, nil}, bloomFilters(t, file, 0))
			filters := bloomFilters(t, file, 1)
			require.Len(t, filters, 2)
			for g, filter := range filters {
				require.EqualValues(t, c.size, filter.Size())
				for _, x := range all[g*groupRows : (g+1)*groupRows] {
					require.True(t, passes(t, filter, x[1].(string)))
				}
				passed := 0
				for i := range 10_000 {
					if passes(t, filter, fmt.Sprintf("absent %d", i)) {
						passed++
					}
				}
				require.LessOrEqual(t, passed, c.max)
			}
			info, err := inspect(file)
			require.NoError(t, err)
			require.EqualValues(t, len(all), info.Rows)
		})
	}
}

// TestBloomFilterDependsOnValues checks that a filter depends neither on the order or number of the values, nor on what
// the writer wrote before.
func TestBloomFilterDependsOnValues(t *testing.T) {
	t.Parallel()
	table := personTable()
	bytesOf := func(w *Writer, value func(i int) string, n int) []byte {
		var out bytes.Buffer
		w.Reset(&out, table)
		batch := rows.New(table)
		for i := range n {
			fill(t, batch, map[string]any{"key": fmt.Sprintf("%06d", i), "student_bid": value(i)})
		}
		require.NoError(t, w.Append(batch))
		_, err := w.Close()
		require.NoError(t, err)
		filter := bloomFilters(t, out.Bytes(), 1)[0]
		b := make([]byte, filter.Size())
		_, err = filter.ReadAt(b, 0)
		require.NoError(t, err)
		return b
	}
	used := NewWriter(io.Discard, everyType(), Options{})
	bytesOf(used, func(i int) string { return fmt.Sprintf("other %d", i) }, 5000)
	want := bytesOf(NewWriter(io.Discard, table, Options{}), strconv.Itoa, 1000)
	require.Equal(t, want, bytesOf(used, func(i int) string { return strconv.Itoa(999 - i%1000) }, 3000))
}

// TestNoBloomFilter checks that a row group without values has no filter.
func TestNoBloomFilter(t *testing.T) {
	t.Parallel()
	file := write(t, personTable(), []row{{"a", nil}, {"b", nil}, {"c", "x"}}, Options{RowGroupRows: 2})
	filters := bloomFilters(t, file, 1)
	require.Nil(t, filters[0])
	require.True(t, passes(t, filters[1], "x"))
}

// TestFoldBloomFilter checks that a folded filter equals one that was built in that size.
func TestFoldBloomFilter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var folded, direct bloomFilter
		folded.setRows(1 << 16)
		hashes := make([]uint64, 1+r.IntN(1<<bits.Len(uint(r.IntN(1<<13)))))
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		folded.blocks.InsertBulk(hashes)
		got := folded.fold()
		direct.setRows(32 * len(got))
		direct.blocks.InsertBulk(hashes)
		require.Equal(t, direct.blocks, got)
	}
}
