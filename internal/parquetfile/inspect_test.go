package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func inspect(file []byte) (Info, error) {
	return Inspect(bytes.NewReader(file), int64(len(file)))
}

func smallFile(t *testing.T, n int) []byte {
	t.Helper()
	table := everyType()
	rows := randomRows(rand.New(rand.NewPCG(4, 4)), table, n)
	return write(t, table, rows, Options{PageRows: 40, RowGroupRows: 100})
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, groups int }{{0, 0}, {1, 1}, {100, 1}, {250, 3}} {
		info, err := inspect(smallFile(t, c.rows))
		require.NoError(t, err)
		require.EqualValues(t, c.rows, info.Rows)
		require.Equal(t, c.groups, info.RowGroups)
		require.Equal(t, "growth-export version 1", info.CreatedBy)
		require.Len(t, info.Columns, len(everyType().Columns))
		require.Equal(t, []string{"id", "requested_school_bid", "ordinal", "few_string"}, info.Columns[:4])
	}
}

func TestInspectTruncated(t *testing.T) {
	t.Parallel()
	file := smallFile(t, 150)
	for n := 0; n < len(file); n += 1 + n/200 {
		_, err := inspect(file[:n])
		require.Error(t, err, "the first %d of %d bytes", n, len(file))
	}
	for n := 1; n < len(file); n += 1 + n/50 {
		_, err := inspect(file[n:])
		require.Error(t, err, "without the first %d bytes", n)
	}
}

// Damage in the footer or the page index is an error, unless it is in a name or a bound. It never causes a panic or
// takes much memory.
func TestInspectDamaged(t *testing.T) {
	t.Parallel()
	file := smallFile(t, 150)
	index := int(footerOf(t, file).RowGroups[0].Columns[0].ColumnIndexOffset)
	r := rand.New(rand.NewPCG(8, 8))
	failed := 0
	const tries = 600
	for range tries {
		bad := slices.Clone(file)
		for range 1 + r.IntN(3) {
			bad[index+r.IntN(len(bad)-index)] = byte(r.Uint32())
		}
		if _, err := inspect(bad); err != nil {
			failed++
		}
	}
	require.Greater(t, failed, tries/3)
}

func TestInspectFooterThatLies(t *testing.T) {
	t.Parallel()
	file := smallFile(t, 250)
	size := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	body := file[:len(file)-8-size]
	for _, c := range []struct {
		name, want string
		lie        func(m *fileMetaData)
	}{
		{"nothing", "", func(*fileMetaData) {}},
		{"fewer rows", "row group 2: 50 rows", func(m *fileMetaData) { m.NumRows-- }},
		{"more rows", "250 rows in row groups, 251 in the footer", func(m *fileMetaData) { m.NumRows++ }},
		{"fewer values", "row group 1, column ordinal: 99 values for 100 rows", func(m *fileMetaData) {
			m.RowGroups[1].Columns[2].MetaData.NumValues--
		}},
		{"a missing row group", "200 rows in row groups, 250 in the footer", func(m *fileMetaData) {
			m.RowGroups = m.RowGroups[:2]
		}},
		{"a missing first row group", "row group 0, column id: pages from", func(m *fileMetaData) {
			m.RowGroups, m.NumRows = m.RowGroups[1:], 150
		}},
		{"a gap", "row group 1, column ordinal: pages from", func(m *fileMetaData) {
			m.RowGroups[1].Columns[2] = m.RowGroups[1].Columns[3]
		}},
		{"pages too short", "row group 0, column requested_school_bid: pages end at", func(m *fileMetaData) {
			m.RowGroups[0].Columns[1].MetaData.TotalCompressedSize--
		}},
		{"no offset index", "row group 0, column id: read offset index", func(m *fileMetaData) {
			m.RowGroups[0].Columns[0].OffsetIndexLength = 0
		}},
		{"an index beyond the end", "row group 0, column id: read column index: 1000000000 bytes at", func(m *fileMetaData) {
			m.RowGroups[0].Columns[0].ColumnIndexLength = 1e9
		}},
		{"a Bloom filter beyond the end", "row group 0, column many_string: a Bloom filter of 1000000000 bytes at", func(m *fileMetaData) {
			m.RowGroups[0].Columns[everyType().Column("many_string")].MetaData.BloomFilterLength = 1e9
		}},
		{"an index of another", "row group 2, column id: read offset index", func(m *fileMetaData) {
			m.RowGroups[2].Columns[0].OffsetIndexOffset = m.RowGroups[2].Columns[0].ColumnIndexOffset
		}},
		{"bounds of fewer pages", "row group 0, column id: bounds of 2 pages for 3 pages", func(m *fileMetaData) {
			from := m.RowGroups[2].Columns[0]
			m.RowGroups[0].Columns[0].ColumnIndexOffset = from.ColumnIndexOffset
			m.RowGroups[0].Columns[0].ColumnIndexLength = from.ColumnIndexLength
		}},
		{"a missing column chunk", "row group at index 0 does not have enough columns", func(m *fileMetaData) {
			m.RowGroups[0].Columns = m.RowGroups[0].Columns[:3]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			meta := footerOf(t, file)
			c.lie(meta)
			var footer bytes.Buffer
			require.NoError(t, encodeThrift(&footer, meta))
			lying := slices.Concat(body, footer.Bytes(), binary.LittleEndian.AppendUint32(nil, uint32(footer.Len())), []byte(magic))
			_, err := inspect(lying)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "inspect parquet file: ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestInspectRefusesListsThatAreNotThere(t *testing.T) {
	t.Parallel()
	// A schema of two billion elements, for all of which the library would allocate memory.
	footer := []byte{0x15, 0x02, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00}
	file := slices.Concat([]byte(magic), footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte(magic))
	_, err := inspect(file)
	require.ErrorIs(t, err, errThrift)
}

type brokenDisk struct{}

var errDisk = errors.New("input/output error")

func (brokenDisk) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestInspectReadErrors(t *testing.T) {
	t.Parallel()
	_, err := Inspect(brokenDisk{}, 1000)
	require.ErrorIs(t, err, errDisk)
	_, err = Inspect(bytes.NewReader(smallFile(t, 10)), 1<<20)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
