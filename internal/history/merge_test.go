package history

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// visits is a visitor that records the outcomes of a merge, row by row, as text.
type visits struct {
	equal, fresh, gone []string
	pairs              [][2]string
}

func text(b *rows.Batch, i int) string {
	row, out := b.Row(i), ""
	for c := range b.Cols {
		v := &b.Cols[c]
		switch {
		case b.Table.Columns[c].Source == schemas.SourceOrdinal:
			continue
		case v.Null(row):
			out += "|-"
		case v.IsText():
			out += "|" + string(v.Text(row))
		default:
			out += fmt.Sprintf("|%d", v.I32[row])
		}
	}
	return out
}

func (v *visits) same(from *rows.Batch, i int, to *rows.Batch, j, n int) error {
	for k := range n {
		if a, b := text(from, i+k), text(to, j+k); a != b {
			return fmt.Errorf("%s is not %s", a, b)
		}
		v.equal = append(v.equal, text(from, i+k))
	}
	return nil
}

func (v *visits) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	v.pairs = append(v.pairs, [2]string{text(from, i), text(to, j)})
	return nil
}

func (v *visits) removed(from *rows.Batch, i int, _ bool) error {
	v.gone = append(v.gone, text(from, i))
	return nil
}

func (v *visits) added(to *rows.Batch, j int) error {
	v.fresh = append(v.fresh, text(to, j))
	return nil
}

// randomRows makes rows of a table with few distinct values, sorted, some with an order.
func randomRows(random *rand.Rand, table *schemas.Table, units, n int) *rows.Batch {
	b := rows.New(table)
	for range n {
		for c := range b.Cols {
			v, column := &b.Cols[c], table.Columns[c]
			switch {
			case c == unitColumn(table):
				v.AppendString(fmt.Sprintf("unit%d", random.IntN(units)))
			case column.Source == schemas.SourceOrdinal:
				v.AppendInt32(int32(b.N))
			case !column.Required && random.IntN(6) == 0:
				v.AppendNull()
			case v.IsText():
				v.AppendString([]string{"", "a", "b", "c", "d", "e"}[random.IntN(6)])
			default:
				v.AppendInt32(int32(random.IntN(2)))
			}
		}
		b.N++
	}
	order := make([]int32, b.N)
	for i := range order {
		order[i] = int32(i)
	}
	sort.SliceStable(order, func(x, y int) bool {
		for _, c := range table.KeyColumns() {
			if o := rows.Compare(&b.Cols[c], int(order[x]), &b.Cols[c], int(order[y])); o != 0 {
				return o < 0
			}
		}
		return false
	})
	b.Order = order
	if random.IntN(2) == 0 {
		plain := rows.New(table)
		plain.AppendRows(b, 0, b.Len())
		return plain
	}
	return b
}

// inBatches returns a source of the rows in batches of random size.
func inBatches(random *rand.Rand, b *rows.Batch) source {
	at := 0
	return func(to *rows.Batch) (*rows.Batch, error) {
		if at == b.Len() {
			return nil, io.EOF
		}
		if to.N == 0 && at == 0 && random.IntN(4) == 0 {
			at = b.Len()
			return b, nil
		}
		n := min(1+random.IntN(9), b.Len()-at)
		to.AppendRows(b, at, at+n)
		at += n
		return to, nil
	}
}

func TestMergeIsTheDifferenceOfMultisets(t *testing.T) {
	t.Parallel()
	tables := []*schemas.Table{
		{Name: "identified", Columns: []schemas.Column{
			{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true},
			{Name: "bid", Type: schemas.String, Key: true},
			{Name: "value", Type: schemas.Int32},
		}},
		{Name: "children", Columns: []schemas.Column{
			{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true},
			{Name: "bid", Type: schemas.String, Key: true},
			{Name: "ordinal", Type: schemas.Int32, Key: true, Required: true, Source: schemas.SourceOrdinal},
			{Name: "value", Type: schemas.Int32},
		}},
		{Name: "lookup", Columns: []schemas.Column{
			{Name: "bid", Type: schemas.String, Key: true}, {Name: "value", Type: schemas.Int32},
		}},
	}
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		table := tables[seed%3]
		from, to := randomRows(random, table, 4, random.IntN(60)), randomRows(random, table, 4, random.IntN(60))
		if random.IntN(3) == 0 {
			to = from
		}
		var got visits
		merger := newMerger(table, &got)
		a, b := newCursor(table, inBatches(random, from)), newCursor(table, inBatches(random, to))
		covered := func(string) bool { return true }
		if table.Name == "lookup" {
			require.NoError(t, merger.unit(a, b, nil))
		} else {
			skipped := fmt.Sprintf("|unit%d|", random.IntN(5))
			covered = func(row string) bool { return !bytes.HasPrefix([]byte(row), []byte(skipped)) }
			for unit := range 5 {
				if name := fmt.Sprintf("unit%d", unit); covered("|" + name + "|") {
					require.NoError(t, merger.unit(a, b, []byte(name)))
				}
			}
		}
		left := map[string]int{}
		for i := range from.Len() {
			if covered(text(from, i)) {
				left[text(from, i)]++
			}
		}
		var added []string
		same := 0
		for j := range to.Len() {
			row := text(to, j)
			switch {
			case !covered(row):
			case left[row] > 0:
				left[row]--
				same++
			default:
				added = append(added, row)
			}
		}
		var removed []string
		for row, n := range left {
			for range n {
				removed = append(removed, row)
			}
		}
		require.Len(t, got.equal, same, "seed %d", seed)
		for _, pair := range got.pairs {
			require.NotEqual(t, "children", table.Name)
			key := func(s string) string { return s[:bytes.LastIndexByte([]byte(s), '|')] }
			require.Equal(t, key(pair[0]), key(pair[1]), "the versions of one identity have one key")
			got.gone, got.fresh = append(got.gone, pair[0]), append(got.fresh, pair[1])
		}
		require.ElementsMatch(t, removed, got.gone, "seed %d", seed)
		require.ElementsMatch(t, added, got.fresh, "seed %d", seed)
	}
}
