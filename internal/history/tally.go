package history

import (
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// resultsTable is the table whose removed rows are explained.
const resultsTable = "test_results"

// tally is the visitor that counts. It keeps the removed test results until they can be explained.
type tally struct {
	merger *merger
	counts *snapshot.TableComparison // of the unit's school, district or table
	unit   string
	// gone are the removed rows of the dataset's first table in this unit, by key.
	gone *removals
}

// removals are the rows of a dataset's first table that are gone from a unit: their children are gone for the same
// reason.
type removals struct {
	unexplained *unexplained // of test_results; nil for other datasets
	byKey       map[string]*candidate
}

// candidate is a removed row of a dataset's first table.
type candidate struct {
	removedResult

	// rows are the counts that the reason is added to: the row's own, and its children's.
	rows map[*snapshot.TableComparison]int64
}

// removedResult is what the reason depends on for which a test result is gone.
type removedResult struct {
	unit, bid, student, subject string
	hasBid, hasPair             bool
	agedOut                     bool
}

func (t *tally) same(_ *rows.Batch, _ int, _ *rows.Batch, _, n int) error {
	t.counts.Same += int64(n)
	return nil
}

func (t *tally) added(*rows.Batch, int) error {
	t.counts.Added++
	return nil
}

func (t *tally) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	t.counts.Changed++
	i, j = from.Row(i), to.Row(j)
	for column := range from.Cols {
		if rows.Compare(&from.Cols[column], i, &to.Cols[column], j) != 0 {
			t.counts.ChangedColumns[from.Table.Columns[column].Name]++
		}
	}
	return nil
}

func (t *tally) removed(from *rows.Batch, i int, parentStands bool) error {
	t.counts.Removed++
	row := from.Row(i)
	complete := t.merger.complete(from, row)
	key := t.merger.key(from, row)
	if t.merger.child {
		switch parent := t.gone.byKey[key]; {
		case !complete || parent != nil && t.gone.unexplained == nil:
			t.counts.Because[snapshot.Removed]++
		case parent != nil && !parentStands:
			parent.rows[t.counts]++
		default:
			t.counts.Because[snapshot.ElementsChanged]++
		}
		return nil
	}
	gone := &candidate{removedResult: removedResult{unit: t.unit}}
	if complete {
		t.gone.byKey[key] = gone
	}
	if t.gone.unexplained == nil {
		t.counts.Because[snapshot.Removed]++
		return nil
	}
	gone.rows = map[*snapshot.TableComparison]int64{t.counts: 1}
	t.gone.unexplained.add(gone, from, row)
	return nil
}

// key returns the values of a row's key, without unit and ordinal, as one text.
func (m *merger) key(b *rows.Batch, row int) string {
	var key strings.Builder
	for _, column := range m.group {
		text, _ := value(b, column, row)
		key.WriteString(text)
		key.WriteByte(0)
	}
	return key.String()
}

// tableOf returns the declaration of a table.
func tableOf(name string) *schemas.Table {
	table, _, _ := schemas.FindTable(name)
	return table
}
