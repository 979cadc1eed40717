package parquetfile

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// row is one row as plain values: nil, string, bool, float64, int32, int64.
type row []any

// everyType returns a table of columns of all types, required and not, with a composite key of which one part may be
// null.
func everyType() *schemas.Table {
	t := &schemas.Table{Name: "every_type", Columns: []schemas.Column{
		{Name: "id", Type: schemas.String, Key: true},
		{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true},
		{Name: "ordinal", Type: schemas.Int32, Key: true, Required: true},
	}}
	for _, kind := range []schemas.Type{
		schemas.String, schemas.Int32, schemas.Int64, schemas.Double,
		schemas.Boolean, schemas.Date, schemas.Timestamp, schemas.JSON,
	} {
		t.Columns = append(t.Columns,
			schemas.Column{Name: "few_" + kind.String(), Type: kind},
			schemas.Column{Name: "many_" + kind.String(), Type: kind, Class: schemas.ID},
			schemas.Column{Name: "must_" + kind.String(), Type: kind, Required: true},
			schemas.Column{Name: "null_" + kind.String(), Type: kind, Class: schemas.ID})
	}
	return t
}

// randomRows returns sorted rows of everyType. Columns named few_ repeat some values, many_ and must_ hardly any; null_
// is always null.
func randomRows(r *rand.Rand, table *schemas.Table, n int) []row {
	all := make([]row, n)
	for i := range all {
		x := make(row, len(table.Columns))
		for j, c := range table.Columns {
			name, _, _ := strings.Cut(c.Name, "_")
			switch {
			case c.Name == "requested_school_bid":
				x[j] = "school " + string(rune('a'+r.IntN(4)))
			case name == "null", name == "few" && r.IntN(3) == 0, name == "many" && r.IntN(20) == 0, name == "id" && r.IntN(9) == 0:
			case name == "few", name == "ordinal":
				x[j] = someValue(rand.New(rand.NewPCG(uint64(r.IntN(12)), 7)), c.Type)
			default:
				x[j] = someValue(r, c.Type)
			}
		}
		all[i] = x
	}
	slices.SortStableFunc(all, func(a, b row) int {
		for _, k := range []int{1, 0, 2} {
			if d := compareValues(a[k], b[k]); d != 0 {
				return d
			}
		}
		return 0
	})
	return all
}

func someValue(r *rand.Rand, t schemas.Type) any {
	switch t {
	case schemas.Int32, schemas.Date:
		return []int32{0, -1, math.MaxInt32, math.MinInt32, r.Int32(), r.Int32N(1000)}[r.IntN(6)]
	case schemas.Int64, schemas.Timestamp:
		return []int64{0, -1, math.MaxInt64, math.MinInt64, r.Int64(), 17e14 + r.Int64N(1e14)}[r.IntN(6)]
	case schemas.Double:
		return []float64{0, math.Copysign(0, -1), -1.5, math.MaxFloat64, r.NormFloat64(), float64(r.IntN(900)) / 10}[r.IntN(6)]
	case schemas.Boolean:
		return r.IntN(2) == 0
	case schemas.JSON:
		return `{"a": "` + someValue(r, schemas.String).(string) + `"}`
	default:
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = "0123456789abcdef"[r.IntN(16)]
		}
		return []string{"", string(b), "Żółć " + string(b), strings.Repeat("é", r.IntN(60)) + "x"}[r.IntN(4)]
	}
}

// compareValues orders values of one column, nulls first.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(rank(a), rank(b))
	}
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case int32:
		return cmp.Compare(a, b.(int32))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case bool:
		return cmp.Compare(rank(a), rank(b))
	}
	panic("no value of a column")
}

// rank returns 0 for null, 1 for false and 2 for everything else.
func rank(v any) int {
	switch v {
	case nil:
		return 0
	case false:
		return 1
	}
	return 2
}

func batchOf(t *testing.T, table *schemas.Table, all []row) *rows.Batch {
	t.Helper()
	b := rows.New(table)
	for _, x := range all {
		for j := range b.Cols {
			v := &b.Cols[j]
			switch x := x[j].(type) {
			case nil:
				v.AppendNull()
			case string:
				v.AppendString(x)
			case bool:
				v.AppendBool(x)
			case float64:
				v.AppendDouble(x)
			case int64:
				v.AppendInt64(x)
			case int32:
				v.AppendInt32(x)
			default:
				t.Fatalf("value %T", x)
			}
		}
		b.N++
	}
	require.NoError(t, b.Check())
	return b
}

// write returns the file of the rows.
func write(t *testing.T, table *schemas.Table, all []row, opts Options) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, table, opts)
	require.NoError(t, w.Append(batchOf(t, table, all)))
	n, err := w.Close()
	require.NoError(t, err)
	require.EqualValues(t, len(all), n)
	return out.Bytes()
}

// read returns the rows of a file as parquet-go reads them, page by page.
func read(t *testing.T, table *schemas.Table, file []byte) []row {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	all := make([]row, 0, f.NumRows())
	for _, group := range f.RowGroups() {
		first := len(all)
		for range group.NumRows() {
			all = append(all, make(row, len(table.Columns)))
		}
		for j, chunk := range group.ColumnChunks() {
			at := first
			pages := chunk.Pages()
			for {
				page, err := pages.ReadPage()
				if err != nil {
					break
				}
				values := make([]parquet.Value, page.NumValues())
				n, _ := page.Values().ReadValues(values)
				require.Len(t, values, n)
				for _, v := range values {
					all[at][j] = valueOf(v, table.Columns[j].Type)
					at++
				}
			}
			require.NoError(t, pages.Close())
			require.Equal(t, len(all), at, table.Columns[j].Name)
		}
	}
	return all
}

func valueOf(v parquet.Value, t schemas.Type) any {
	if v.IsNull() {
		return nil
	}
	switch t {
	case schemas.Int32, schemas.Date:
		return v.Int32()
	case schemas.Int64, schemas.Timestamp:
		return v.Int64()
	case schemas.Double:
		return v.Double()
	case schemas.Boolean:
		return v.Boolean()
	default:
		return string(v.ByteArray())
	}
}

// requireRows compares doubles by their bits.
func requireRows(t *testing.T, want, got []row) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		for j := range want[i] {
			a, b := want[i][j], got[i][j]
			if x, ok := a.(float64); ok {
				a = math.Float64bits(x)
				if y, ok := b.(float64); ok {
					b = math.Float64bits(y)
				}
			}
			if a != b {
				require.Equal(t, a, b, "row %d, column %d", i, j)
			}
		}
	}
}
