package parquetfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{
		{},
		{PageRows: 1, RowGroupRows: 3},
		{PageRows: 7, RowGroupRows: 20},
		{PageRows: 64, RowGroupRows: 64},
		{PageRows: 500, RowGroupRows: 100},
		{PageBytes: 5000, RowGroupBytes: 100_000},
	} {
		for _, n := range []int{0, 1, 2, 7, 8, 20, 21, 64, 65, 2500} {
			if n > 100 && opts.PageRows > 0 && opts.PageRows < 100 {
				continue // many small files in one, and slow
			}
			t.Run(fmt.Sprintf("%d rows, %+v", n, opts), func(t *testing.T) {
				t.Parallel()
				table := everyType()
				want := randomRows(rand.New(rand.NewPCG(uint64(n), 1)), table, n)
				requireRows(t, want, read(t, table, write(t, table, want, opts)))
			})
		}
	}
}

// The bytes depend only on the rows: not on how they are batched, on rows that an order leaves out, or on what the
// writer did before.
func TestBytesDependOnRowsAlone(t *testing.T) {
	t.Parallel()
	table := everyType()
	opts := Options{PageRows: 100, RowGroupRows: 700, PageBytes: 20_000, RowGroupBytes: 60_000}
	inBackground := opts
	inBackground.Background = true
	r := rand.New(rand.NewPCG(3, 3))
	for _, pool := range slices.Repeat([]*Pool{NewPool(opts), NewPool(inBackground)}, 4) {
		all := randomRows(r, table, 1+r.IntN(1500))
		want := write(t, table, all, opts)

		var out bytes.Buffer
		w := pool.Get(&out, table)
		for i := 0; i < len(all); {
			n := min(r.IntN(400), len(all)-i)
			b := batchOf(t, table, all[i:i+n])
			if r.IntN(2) == 0 {
				b = shuffled(t, r, table, all[i:i+n])
			}
			if r.IntN(2) == 0 {
				code(r, b)
			}
			require.NoError(t, w.Append(b))
			i += n
		}
		_, err := w.Close()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, out.Bytes()))

		// An abandoned file of another table leaves nothing behind.
		w.Reset(&out, schemas.Tables()[0])
		other := rows.New(schemas.Tables()[0])
		for i := range other.Cols {
			other.Cols[i].AppendNull()
		}
		other.N = 1
		require.NoError(t, w.Append(other))
		pool.Put(w)
	}
}

// code makes some columns of texts coded. Their rows stay the same.
func code(r *rand.Rand, b *rows.Batch) {
	for i := range b.Cols {
		v := &b.Cols[i]
		if !v.IsText() || r.IntN(3) == 0 {
			continue
		}
		c := rows.Vector{Type: v.Type, Required: v.Required, Present: v.Present, Coded: true}
		codes := map[string]int32{"unused": 0}
		c.Data, c.End = append(c.Data, "unused"...), append(c.End, uint32(len("unused")))
		for row := range b.N {
			text := string(v.Text(row))
			code, ok := codes[text]
			if !ok || r.IntN(10) == 0 { // texts may repeat
				code = int32(len(c.End))
				codes[text] = code
				c.Data = append(c.Data, text...)
				c.End = append(c.End, uint32(len(c.Data)))
			}
			c.Code = append(c.Code, code)
		}
		*v = c
	}
}

// shuffled returns a batch whose Order names the rows among others that do not count.
func shuffled(t *testing.T, r *rand.Rand, table *schemas.Table, all []row) *rows.Batch {
	t.Helper()
	mixed := make([]row, 0, 2*len(all))
	place := r.Perm(2 * len(all))
	junk := randomRows(r, table, 2*len(all))
	mixed = append(mixed, junk...)
	order := make([]int32, len(all))
	for i := range all {
		mixed[place[i]] = all[i]
		order[i] = int32(place[i])
	}
	b := batchOf(t, table, mixed)
	b.Order = order
	return b
}

func TestUnsortedRowsAreAnError(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{
		{Name: "id", Type: schemas.String, Key: true},
		{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true},
		{Name: "ordinal", Type: schemas.Int32, Key: true, Required: true},
	}}
	for _, c := range []struct {
		name string
		rows []row
		ok   bool
	}{
		{"equal rows", []row{{"x", "a", int32(1)}, {"x", "a", int32(1)}}, true},
		{"school first", []row{{"x", "a", int32(1)}, {"w", "b", int32(0)}}, true},
		{"nulls first", []row{{nil, "a", int32(7)}, {nil, "a", int32(7)}, {"", "a", int32(1)}}, true},
		{"a longer text", []row{{"x", "a", int32(1)}, {"x\x00", "a", int32(0)}}, true},
		{"bytes, not letters", []row{{"Z", "a", int32(1)}, {"a", "a", int32(0)}, {"é", "a", int32(0)}}, true},
		{"negative numbers", []row{{"x", "a", int32(-1)}, {"x", "a", int32(0)}}, true},
		{"school", []row{{"x", "b", int32(1)}, {"x", "a", int32(1)}}, false},
		{"id", []row{{"x", "a", int32(1)}, {"w", "a", int32(1)}}, false},
		{"ordinal", []row{{"x", "a", int32(1)}, {"x", "a", int32(0)}}, false},
		{"null after a value", []row{{"", "a", int32(1)}, {nil, "a", int32(2)}}, false},
	} {
		for _, pageRows := range []int{1, 2, 100} {
			t.Run(fmt.Sprintf("%s, %d rows a page", c.name, pageRows), func(t *testing.T) {
				t.Parallel()
				w := NewWriter(new(bytes.Buffer), table, Options{PageRows: pageRows})
				var err error
				for _, x := range c.rows {
					if err = w.Append(batchOf(t, table, []row{x})); err != nil {
						break
					}
				}
				if c.ok {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "append rows to table t: row 1 sorts before the row that precedes it")
				require.Error(t, w.Append(rows.New(table)), "the error stays")
				_, err = w.Close()
				require.Error(t, err)

				// The rejected row does not affect the next file.
				w.Reset(new(bytes.Buffer), table)
				require.NoError(t, w.Append(batchOf(t, table, c.rows[1:])))
				_, err = w.Close()
				require.NoError(t, err)
			})
		}
	}
}

func TestBadBatchesAreErrors(t *testing.T) {
	t.Parallel()
	table, other := everyType(), everyType()
	w := NewWriter(new(bytes.Buffer), table, Options{})
	require.ErrorContains(t, w.Append(rows.New(other)), "the batch is of table every_type")
	uneven := batchOf(t, table, randomRows(rand.New(rand.NewPCG(1, 1)), table, 3))
	uneven.Cols[4].Truncate(2)
	require.ErrorContains(t, w.Append(uneven), "2 slots for 3 rows")
	n, err := w.Close()
	require.NoError(t, err, "a batch refused whole leaves the file as it was")
	require.Zero(t, n)
	require.Error(t, w.Append(rows.New(table)), "after Close")
	_, err = w.Close()
	require.Error(t, err)
}

// A null that has a text would shift the texts after it.
func TestNullWithText(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "s", Type: schemas.String}}}
	b := batchOf(t, table, []row{{"a"}, {"b"}})
	b.Cols[0].Present[0] = 0
	w := NewWriter(new(bytes.Buffer), table, Options{})
	require.NoError(t, w.Append(b))
	_, err := w.Close()
	require.ErrorContains(t, err, "table t, column s: a null value has text")
}

type failing struct{ room int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	table := everyType()
	all := randomRows(rand.New(rand.NewPCG(1, 1)), table, 200)
	opts := Options{PageRows: 20, RowGroupRows: 50}
	size := len(write(t, table, all, opts))
	w := NewWriter(new(bytes.Buffer), table, opts)
	for room := 0; room < size; room += size/40 + 1 {
		w.Reset(&failing{room}, table)
		err := w.Append(batchOf(t, table, all))
		if err == nil {
			_, err = w.Close()
		}
		require.ErrorIs(t, err, errFull, "room for %d of %d bytes", room, size)
		_, err = w.Close()
		require.ErrorIs(t, err, errFull)
	}
}

func TestHugeText(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{
		{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true},
		{Name: "_extra", Type: schemas.JSON},
	}}
	huge := strings.Repeat(`{"a":"0123456789"}`, 32<<20/18)
	all := []row{{"a", "{}"}, {"a", huge}, {"a", nil}, {"b", huge}, {"b", "{}"}}
	file := write(t, table, all, Options{})
	requireRows(t, all, read(t, table, file))
	info, err := Inspect(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.EqualValues(t, 5, info.Rows)
	require.Less(t, len(file), 1<<20, "bounds are cut and the text compressed")
}

// The bytes of a file of this format never change. If a new version of a library changes them, CreatedBy is to name a
// new format.
func TestFormatIsPinned(t *testing.T) {
	t.Parallel()
	table := everyType()
	all := randomRows(rand.New(rand.NewPCG(1, 2)), table, 3000)
	file := write(t, table, all, Options{PageRows: 1200, RowGroupRows: 2500})
	require.Equal(t, "848476ff2147a54399fec49631923cead18e1480e1f862f1e5627a4c7b56f74e", fmt.Sprintf("%x", sha256.Sum256(file)), CreatedBy)
}

// TestLean writes few rows in less space, and many as always.
func TestLean(t *testing.T) {
	t.Parallel()
	table := everyType()
	all := randomRows(rand.New(rand.NewPCG(3, 4)), table, 3000)
	for _, n := range []int{1, 40, 1023, 1024, 3000} {
		plain, lean := write(t, table, all[:n], Options{}), write(t, table, all[:n], Options{LeanRows: 1024})
		if n >= 1024 {
			require.Equal(t, plain, lean, n)
			lean = write(t, table, all[:n], Options{LeanRows: math.MaxInt})
		}
		requireRows(t, all[:n], read(t, table, lean))
		require.Less(t, len(lean), len(plain)-50*len(table.Columns), n)
		info, err := Inspect(bytes.NewReader(lean), int64(len(lean)))
		require.NoError(t, err, n)
		require.EqualValues(t, n, info.Rows)
	}
	for _, several := range []Options{{RowGroupRows: 2500}, {PageRows: 2500}} {
		lean := several
		lean.LeanRows = math.MaxInt
		require.Equal(t, write(t, table, all, several), write(t, table, all, lean), "more than a page")
	}
}
