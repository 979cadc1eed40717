package history

import (
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
)

// tally is the visitor that counts the outcomes.
type tally struct {
	merger *merger
	counts *snapshot.TableComparison // the counts to which the outcomes are added
	table  int                       // position in the dataset
	gone   *departures
	// turnover, if not nil, receives the added test results and both versions of the changed ones.
	turnover *turnover
}

func (t *tally) same(_ *rows.Batch, _ int, _ *rows.Batch, _, n int) error {
	t.counts.Same += int64(n)
	return nil
}

func (t *tally) added(to *rows.Batch, j int) error {
	t.counts.Added++
	if t.turnover != nil {
		t.turnover.add(to, to.Row(j), 1)
	}
	return nil
}

func (t *tally) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	t.counts.Changed++
	i, j = from.Row(i), to.Row(j)
	if t.turnover != nil {
		t.turnover.add(from, i, -1)
		t.turnover.add(to, j, 1)
	}
	for column := range from.Cols {
		if rows.Compare(&from.Cols[column], i, &to.Cols[column], j) != 0 {
			t.counts.ChangedColumns[from.Table.Columns[column].Name]++
		}
	}
	return nil
}

func (t *tally) removed(from *rows.Batch, i int, parentStands bool) error {
	t.counts.Removed++
	if reason, result := t.gone.cause(t.merger, from, i, parentStands); result == noResult {
		t.counts.Because[reason]++
	} else {
		t.gone.lost.at(result).rows[t.table]++
	}
	return nil
}
