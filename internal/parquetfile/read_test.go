package parquetfile

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// readAll returns the rows of a file as a Reader reads them, and the number of calls of Read.
func readAll(t *testing.T, table *schemas.Table, file []byte) (*rows.Batch, int) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), table)
	require.NoError(t, err)
	return readOn(t, r)
}

// readOn returns the rows that a Reader reads, and the number of calls of Read.
func readOn(t *testing.T, r *Reader) (*rows.Batch, int) {
	t.Helper()
	table := r.table
	batch := rows.New(table)
	for n := 0; ; n++ {
		err := r.Read(batch)
		if errors.Is(err, io.EOF) {
			require.ErrorIs(t, r.Read(batch), io.EOF, "it stays at its end")
			return batch, n
		}
		require.NoError(t, err)
		require.NoError(t, batch.Check())
	}
}

// TestReaderRoundTrip writes the rows read from a file again, and expects the same bytes: every value is read back
// unchanged, including nulls and the bits of doubles.
func TestReaderRoundTrip(t *testing.T) {
	t.Parallel()
	table := everyType()
	opts := Options{PageRows: 300, RowGroupRows: 1000, PageBytes: 8 << 10}
	for seed := range uint64(8) {
		n := []int{0, 1, 299, 300, 1000, 1001, 2500, 4000}[seed]
		want := randomRows(rand.New(rand.NewPCG(seed, 3)), table, n)
		file := write(t, table, want, opts)
		batch, pages := readAll(t, table, file)
		require.Equal(t, n, batch.N)
		require.GreaterOrEqual(t, pages, n/300)

		var again bytes.Buffer
		w := NewWriter(&again, table, opts)
		require.NoError(t, w.Append(batch))
		_, err := w.Close()
		require.NoError(t, err)
		require.Equal(t, file, again.Bytes(), "%d rows", n)
		requireRows(t, want, read(t, table, again.Bytes()))

		r, err := NewReader(bytes.NewReader(file), int64(len(file)), table)
		require.NoError(t, err)
		r.CodeTexts()
		if seed%2 == 0 {
			r.FetchAhead()
		}
		coded, _ := readOn(t, r)
		again.Reset()
		w.Reset(&again, table)
		require.NoError(t, w.Append(coded))
		_, err = w.Close()
		require.NoError(t, err)
		require.Equal(t, file, again.Bytes(), "%d rows with coded texts", n)
	}
}

// TestReaderAfterOtherRows reads pages behind a few rows of the page before, as the comparison of snapshots does, with a
// Reader that reuses the memory of others.
func TestReaderAfterOtherRows(t *testing.T) {
	t.Parallel()
	table := everyType()
	r := rand.New(rand.NewPCG(7, 7))
	var before *Reader
	for range 20 {
		opts := Options{PageRows: 150, RowGroupRows: 600}
		file := write(t, table, randomRows(r, table, 1+r.IntN(2000)), opts)
		reader, err := NewReader(bytes.NewReader(file), int64(len(file)), table)
		require.NoError(t, err)
		reader.CodeTexts()
		if r.IntN(3) > 0 {
			reader.FetchAhead()
		}
		reader.Reuse(before)
		before = reader
		batch, rest, all := rows.New(table), rows.New(table), rows.New(table)
		for {
			err := reader.Read(batch)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.NoError(t, batch.Check())
			rest.Reset()
			keep := batch.N - min(batch.N, r.IntN(30))
			all.AppendRows(batch, 0, keep)
			rest.AppendRows(batch, keep, batch.N)
			batch.Reset()
			batch.AppendRows(rest, 0, rest.N)
		}
		all.AppendRows(batch, 0, batch.N)
		var again bytes.Buffer
		w := NewWriter(&again, table, opts)
		require.NoError(t, w.Append(all))
		_, err = w.Close()
		require.NoError(t, err)
		require.Equal(t, file, again.Bytes())
	}
}

// TestReaderOfSomeColumns reads columns by name, in another order than in the file.
func TestReaderOfSomeColumns(t *testing.T) {
	t.Parallel()
	table := everyType()
	want := randomRows(rand.New(rand.NewPCG(1, 2)), table, 700)
	file := write(t, table, want, Options{PageRows: 100})
	some := &schemas.Table{Name: table.Name}
	var from []int
	for _, name := range []string{"few_json", "requested_school_bid", "must_double"} {
		at := table.Column(name)
		from = append(from, at)
		some.Columns = append(some.Columns, table.Columns[at])
	}
	batch, _ := readAll(t, some, file)
	require.Equal(t, len(want), batch.N)
	for r := range want {
		for c, at := range from {
			v := &batch.Cols[c]
			if want[r][at] == nil {
				require.True(t, v.Null(r))
			} else if v.IsText() {
				require.Equal(t, want[r][at], string(v.Text(r)))
			}
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	table := everyType()
	file := write(t, table, randomRows(rand.New(rand.NewPCG(1, 2)), table, 50), Options{})
	other := func(c schemas.Column) *schemas.Table {
		return &schemas.Table{Name: "every_type", Columns: []schemas.Column{c}}
	}
	for _, c := range []schemas.Column{
		{Name: "few_int32", Type: schemas.Int64},
		{Name: "few_int32", Type: schemas.Date},
		{Name: "few_string", Type: schemas.Timestamp},
		{Name: "few_string", Type: schemas.String, Required: true},
		{Name: "absent", Type: schemas.String},
	} {
		_, err := NewReader(bytes.NewReader(file), int64(len(file)), other(c))
		require.ErrorContains(t, err, c.Name)
	}
	_, err := NewReader(bytes.NewReader(file[:len(file)-1]), int64(len(file)-1), table)
	require.Error(t, err)
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), table)
	require.NoError(t, err)
	require.Error(t, r.Read(rows.New(everyType())), "a batch of another table")
}

// TestReaderDamage changes bytes of pages, and expects an error or other rows, but never a panic.
func TestReaderDamage(t *testing.T) {
	t.Parallel()
	table := everyType()
	file := write(t, table, randomRows(rand.New(rand.NewPCG(1, 2)), table, 200), Options{PageRows: 50})
	random := rand.New(rand.NewPCG(5, 5))
	failed := 0
	for range 300 {
		damaged := bytes.Clone(file)
		damaged[4+random.IntN(len(file)/2)] ^= byte(1 + random.IntN(255))
		r, err := NewReader(bytes.NewReader(damaged), int64(len(damaged)), table)
		if err != nil {
			continue
		}
		if random.IntN(2) == 0 {
			r.FetchAhead()
		}
		batch := rows.New(table)
		for err == nil {
			err = r.Read(batch)
		}
		if !errors.Is(err, io.EOF) {
			failed++
		}
	}
	require.Positive(t, failed)
}
