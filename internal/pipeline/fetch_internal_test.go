package pipeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// A school with huge records must not bring a batch beyond what one can hold:
// texts there would silently be cut and mixed up.
func TestCopiedRowsGoToSeveralBatches(t *testing.T) {
	t.Parallel()
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{
		{Name: "short", Type: schemas.String}, {Name: "long", Type: schemas.String},
	}}
	r := &result{tables: [][]*rows.Batch{{rows.New(table)}}}
	sizes := []int{copiedText + 1, 1, copiedText / 2, copiedText / 2, 0, copiedText - 1, 1}
	for i, size := range sizes {
		b := rows.New(table)
		b.Cols[0].AppendString(string(rune('a' + i)))
		b.Cols[1].AppendString(strings.Repeat("x", size))
		b.N = 1
		r.copyRows(transform.Result{Tables: []*rows.Batch{b}, Records: 1})
	}
	require.EqualValues(t, len(sizes), r.ledger.RowsWritten)

	var batches, got []int
	var names []string
	for _, b := range r.tables[0] {
		require.NoError(t, b.Check())
		batches = append(batches, b.Len())
		for i := range b.N {
			names = append(names, string(b.Cols[0].Text(i)))
			got = append(got, len(b.Cols[1].Text(i)))
		}
	}
	require.Equal(t, []int{1, 2, 2, 2}, batches)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, names)
	require.Equal(t, sizes, got)
}
