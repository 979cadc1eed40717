package rows_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// table has a column of every type, required and not.
func table() *schemas.Table {
	t := &schemas.Table{Name: "of_every_type"}
	for ty := schemas.String; ty <= schemas.JSON; ty++ {
		t.Columns = append(t.Columns,
			schemas.Column{Name: "optional_" + ty.String(), Type: ty},
			schemas.Column{Name: "required_" + ty.String(), Type: ty, Required: true})
	}
	return t
}

// fill appends n random rows.
func fill(b *rows.Batch, rnd *rand.Rand, n int) {
	for i := range b.Cols {
		v := &b.Cols[i]
		for range n {
			if !v.Required && rnd.IntN(4) == 0 {
				v.AppendNull()
				continue
			}
			switch v.Type {
			case schemas.Int32, schemas.Date:
				v.AppendInt32(int32(rnd.Uint32()))
			case schemas.Int64, schemas.Timestamp:
				v.AppendInt64(int64(rnd.Uint64()))
			case schemas.Double:
				v.AppendDouble(rnd.NormFloat64())
			case schemas.Boolean:
				v.AppendBool(rnd.IntN(2) == 0)
			case schemas.String:
				v.AppendString("ab" + string(make([]byte, rnd.IntN(70))))
			case schemas.JSON:
				v.AppendText(bytes.Repeat([]byte{'j'}, rnd.IntN(3)))
			}
		}
	}
	b.N += n
}

// fillCoded appends n random rows to an empty batch. Its text columns are then coded.
func fillCoded(b *rows.Batch, rnd *rand.Rand, n int) {
	fill(b, rnd, n)
	for i := range b.Cols {
		if b.Cols[i].IsText() {
			b.Cols[i] = coded(&b.Cols[i], rnd)
		}
	}
}

// coded returns a coded vector with the same rows, and also with texts that no row has.
func coded(v *rows.Vector, rnd *rand.Rand) rows.Vector {
	texts := []string{"unused", ""}
	for i := range v.End {
		texts = append(texts, string(v.Text(i)))
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	c := rows.Vector{Type: v.Type, Required: v.Required, Present: v.Present, Coded: true}
	for _, text := range texts {
		c.Data = append(c.Data, text...)
		c.End = append(c.End, uint32(len(c.Data)))
	}
	for i := range v.End {
		c.Code = append(c.Code, int32(slices.Index(texts, string(v.Text(i)))))
	}
	return c
}

// lines returns the rows in order as text.
func lines(b *rows.Batch) []string {
	all := make([]string, 0, b.Len())
	for i := range b.Len() {
		r := b.Row(i)
		line := ""
		for c := range b.Cols {
			v := &b.Cols[c]
			switch {
			case v.Null(r):
				line += "null|"
			case v.IsText():
				line += fmt.Sprintf("%q|", v.Text(r))
			case v.I32 != nil:
				line += fmt.Sprintf("%d|", v.I32[r])
			case v.I64 != nil:
				line += fmt.Sprintf("%d|", v.I64[r])
			case v.F64 != nil:
				line += fmt.Sprintf("%x|", v.F64[r])
			default:
				line += fmt.Sprintf("%d|", v.Bool[r])
			}
		}
		all = append(all, line)
	}
	return all
}

// TestAppendRowsOfDictionaries appends many short ranges of batches whose texts are in a dictionary.
func TestAppendRowsOfDictionaries(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	sources := make([]*rows.Batch, 3)
	for s := range sources {
		sources[s] = rows.New(table())
		fillCoded(sources[s], rnd, 100)
		for i := range sources[s].Cols {
			if v := &sources[s].Cols[i]; v.Coded && s > 0 { // the first one is not identified
				v.Shared, v.Dictionary = true, rows.NewDictionary()
			}
		}
	}
	dst := rows.New(table())
	for range 20 {
		dst.Reset()
		var want []string
		for range 100 {
			src := sources[rnd.IntN(len(sources))]
			i := rnd.IntN(src.N)
			j := i + rnd.IntN(min(20, src.N-i)+1)
			want = append(want, lines(src)[i:j]...)
			dst.AppendRows(src, i, j)
		}
		require.NoError(t, dst.Check())
		require.Equal(t, want, lines(dst))
		for i := range dst.Cols {
			if v := &dst.Cols[i]; v.Coded {
				require.Less(t, len(v.End), dst.N, "texts of a dictionary are appended once")
			}
		}
	}
}

func shuffled(rnd *rand.Rand, n, keep int) []int32 {
	order := make([]int32, 0, keep)
	for _, r := range rnd.Perm(n)[:keep] {
		order = append(order, int32(r))
	}
	return order
}

func TestAppendRows(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		src, dst := rows.New(table()), rows.New(table())
		n := rnd.IntN(200)
		if round%3 == 0 {
			fillCoded(src, rnd, n)
		} else {
			fill(src, rnd, n)
		}
		if round%5 == 0 {
			fillCoded(dst, rnd, rnd.IntN(3))
		} else {
			fill(dst, rnd, rnd.IntN(3))
		}
		if round%2 == 0 {
			src.Order = shuffled(rnd, n, n-rnd.IntN(n+1))
		}
		want := lines(dst)
		for range 3 {
			j := rnd.IntN(src.Len() + 1)
			i := rnd.IntN(j + 1)
			want = append(want, lines(src)[i:j]...)
			dst.AppendRows(src, i, j)
			require.NoError(t, dst.Check())
		}
		require.Equal(t, want, lines(dst))
		require.LessOrEqual(t, 0, dst.Bytes())
	}
}

func TestAppendRowCopiesEveryType(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	src, dst := rows.New(table()), rows.New(table())
	fillCoded(src, rnd, 40)
	for r := range src.N {
		for c := range src.Cols {
			dst.Cols[c].AppendRow(&src.Cols[c], r)
		}
		dst.N++
	}
	require.NoError(t, dst.Check())
	require.Equal(t, lines(src), lines(dst))
}

func TestTruncateLeavesNothingOver(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	b := rows.New(table())
	fillCoded(b, rnd, 100)
	want := lines(b)
	b.Order = shuffled(rnd, 100, 50)
	b.Truncate(30)
	require.NoError(t, b.Check())
	require.Nil(t, b.Order)
	require.Equal(t, want[:30], lines(b))

	b.Reset()
	require.NoError(t, b.Check())
	require.Zero(t, b.Len())
	fresh := rows.New(table())
	fill(fresh, rand.New(rand.NewPCG(7, 8)), 20)
	fill(b, rand.New(rand.NewPCG(7, 8)), 20)
	require.Equal(t, lines(fresh), lines(b))
}

func TestCheckFindsUnevenColumns(t *testing.T) {
	t.Parallel()
	for c := range table().Columns {
		b := rows.New(table())
		fill(b, rand.New(rand.NewPCG(9, 10)), 5)
		require.NoError(t, b.Check())
		b.Cols[c].Truncate(4)
		require.ErrorContains(t, b.Check(), b.Table.Columns[c].Name)
	}
}

// TestCompare checks that the order depends only on the values, not on the form of the column.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind schemas.Type
		fill func(*rows.Vector) // in order
	}{
		{schemas.String, func(v *rows.Vector) {
			for _, text := range []string{"", "a", "a\x00", "aa", "b", "\uffff"} {
				v.AppendString(text)
			}
		}},
		{schemas.Int32, func(v *rows.Vector) { v.AppendInt32(math.MinInt32); v.AppendInt32(-1); v.AppendInt32(math.MaxInt32) }},
		{schemas.Timestamp, func(v *rows.Vector) { v.AppendInt64(math.MinInt64); v.AppendInt64(0); v.AppendInt64(math.MaxInt64) }},
		{schemas.Double, func(v *rows.Vector) { v.AppendDouble(0); v.AppendDouble(1); v.AppendDouble(math.Copysign(0, -1)) }},
		{schemas.Boolean, func(v *rows.Vector) { v.AppendBool(false); v.AppendBool(true) }},
	} {
		a, b := &rows.Vector{Type: test.kind}, &rows.Vector{Type: test.kind}
		a.AppendNull()
		test.fill(a)
		b.AppendNull()
		test.fill(b)
		require.Greater(t, len(a.Present), 2)
		for i := range a.Present {
			for j := range b.Present {
				require.Equal(t, cmp.Compare(i, j), rows.Compare(a, i, b, j), "%s: %d and %d", test.kind, i, j)
			}
		}
	}
}

func TestBytesGrowsWithContent(t *testing.T) {
	t.Parallel()
	b := rows.New(table())
	require.Zero(t, b.Bytes())
	fill(b, rand.New(rand.NewPCG(11, 12)), 1000)
	require.Greater(t, b.Bytes(), 1000*35)
	held := b.Bytes()
	b.Reset()
	require.Equal(t, held, b.Bytes(), "the memory is kept")
}

func BenchmarkAppendRows(b *testing.B) {
	t := &schemas.Table{Name: "texts"}
	for range 10 {
		t.Columns = append(t.Columns, schemas.Column{Name: "text", Type: schemas.String})
	}
	src, dst := rows.New(t), rows.New(t)
	const n = 1000
	for i := range src.Cols {
		for range n {
			src.Cols[i].AppendString("7f9c24e5-3c1b-4a3e-9a3b-0d3a5c6b7e8f"[:36-i*3])
		}
	}
	src.N = n
	src.Order = shuffled(rand.New(rand.NewPCG(1, 1)), n, n)
	for b.Loop() {
		dst.Reset()
		dst.AppendRows(src, 0, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/10, "ns/text")
}

// TestMatcher compares random rows, one by one and many at once, in every form that a column can have.
func TestMatcher(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{
		{Name: "text", Type: schemas.String},
		{Name: "must", Type: schemas.String, Required: true},
		{Name: "n", Type: schemas.Int32},
		{Name: "long", Type: schemas.Int64},
		{Name: "real", Type: schemas.Double},
		{Name: "yes", Type: schemas.Boolean},
		{Name: "null", Type: schemas.Int32},
		{Name: "full", Type: schemas.Int64},
		{Name: "word", Type: schemas.String},
	}}
	random := rand.New(rand.NewPCG(1, 2))
	reals := []float64{0, math.Copysign(0, -1), math.NaN(), 1.5}
	fill := func(n int) *rows.Batch {
		b := rows.New(table)
		for range n {
			for i := range b.Cols {
				v := &b.Cols[i]
				value := min(random.IntN(12), 3) // mostly 3
				switch {
				case i == 6, i != 7 && !v.Required && random.IntN(20) == 0:
					v.AppendNull()
				case v.IsText():
					v.AppendString([]string{"", "a", "ab", "abc"}[max(value, i-7)]) // the last column has no empty text
				case v.Type == schemas.Int32:
					v.AppendInt32(int32(value))
				case v.Type == schemas.Int64:
					v.AppendInt64(int64(value))
				case v.Type == schemas.Double:
					v.AppendDouble(reals[value])
				default:
					v.AppendBool(value == 3)
				}
			}
			b.N++
		}
		return b
	}
	forms := map[string]func(*rows.Batch){
		"plain": func(*rows.Batch) {},
		"ordered": func(b *rows.Batch) {
			for _, r := range random.Perm(b.N) {
				b.Order = append(b.Order, int32(r))
			}
		},
		"coded": func(b *rows.Batch) {
			for i := range b.Cols {
				if v := &b.Cols[i]; v.IsText() {
					coded := rows.Vector{Type: v.Type, Required: v.Required, Coded: true, Present: v.Present, Data: []byte("abcaba"), End: []uint32{3, 5, 6, 6}}
					for row := range b.N {
						coded.Code = append(coded.Code, int32(3-len(v.Text(row))))
					}
					*v = coded
				}
			}
		},
	}
	var m rows.Matcher
	for left, formLeft := range forms {
		a := fill(300)
		formLeft(a)
		first := true
		for right, formRight := range forms {
			b := fill(300)
			formRight(b)
			m.Reset(first)
			first = false
			for range 300 {
				column, i, j := random.IntN(len(a.Cols)), random.IntN(300), random.IntN(300)
				n, want := min(300-i, 300-j), 0
				for want < n && rows.Compare(&a.Cols[column], a.Row(i+want), &b.Cols[column], b.Row(j+want)) == 0 {
					want++
				}
				require.Equal(t, want, m.EqualPrefix(a, b, column, i, j, n), "%s, %s, column %s", left, right, table.Columns[column].Name)
				v, values := &a.Cols[column], 0
				for k := i; k < i+n; k++ {
					if row := a.Row(k); !v.Null(row) && (!v.IsText() || len(v.Text(row)) > 0) {
						values++
					}
				}
				require.EqualValues(t, values, m.CountValues(a, column, i, n), "%s, column %s", left, table.Columns[column].Name)
				w, row, other := &b.Cols[column], a.Row(i), b.Row(j)
				require.Equal(t, rows.Compare(v, row, w, other) == 0, rows.Equal(v, row, w, other), "%s, %s, column %s", left, right, table.Columns[column].Name)
			}
		}
	}
}
