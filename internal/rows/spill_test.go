package rows_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

func TestSpillRoundTrip(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(21, 22))
	var file bytes.Buffer
	var want []*rows.Batch
	for _, n := range []int{0, 1, 7, 5000, 100} {
		b := rows.New(table())
		if n%2 == 0 {
			fillCoded(b, rnd, n)
		} else {
			fill(b, rnd, n)
		}
		switch n {
		case 0:
			b.Order = []int32{}
		case 100:
		default:
			b.Order = shuffled(rnd, n, n/2)
		}
		before := file.Len()
		written, err := b.WriteTo(&file)
		require.NoError(t, err)
		require.EqualValues(t, file.Len()-before, written)
		want = append(want, b)
	}

	got := rows.New(table()) // reused from batch to batch
	all := int64(file.Len())
	r := iotest.HalfReader(&file)
	for _, b := range want {
		n, err := got.ReadFrom(r)
		require.NoError(t, err)
		all -= n
		require.NoError(t, got.Check())
		require.Equal(t, b.N, got.N)
		require.Equal(t, b.Order, got.Order)
		require.Equal(t, lines(b), lines(got))
		b.Order, got.Order = nil, nil
		require.Equal(t, lines(b), lines(got), "rows that do not count come back too")
	}
	require.Zero(t, all, "nothing is left over")
}

func TestReadFromRefusesWhatWriteToDidNotWrite(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(23, 24))
	src := rows.New(table())
	fillCoded(src, rnd, 20)
	src.Order = shuffled(rnd, 20, 10)
	var file bytes.Buffer
	_, err := src.WriteTo(&file)
	require.NoError(t, err)

	got := rows.New(table())
	empty := func() {
		t.Helper()
		require.Zero(t, got.N)
		require.Nil(t, got.Order)
		require.NoError(t, got.Check())
	}
	for cut := range file.Len() {
		_, err := got.ReadFrom(bytes.NewReader(file.Bytes()[:cut]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		empty()
	}
	for range 2000 {
		bad := bytes.Clone(file.Bytes())
		for range 1 + rnd.IntN(4) {
			bad[rnd.IntN(len(bad))] ^= byte(1 << rnd.IntN(8))
		}
		if _, err := got.ReadFrom(bytes.NewReader(bad)); err != nil {
			empty()
			continue
		}
		require.NoError(t, got.Check())
		_ = lines(got) // does not read beyond the data
	}
}

func TestWriteToReportsTheWritersError(t *testing.T) {
	t.Parallel()
	b := rows.New(&schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}})
	b.Cols[0].AppendString("x")
	b.N = 1
	full := errors.New("no space left")
	_, err := b.WriteTo(writerFunc(func([]byte) (int, error) { return 0, full }))
	require.ErrorIs(t, err, full)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
