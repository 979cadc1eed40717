package oracle

import (
	"cmp"
	"slices"
	"strings"

	"example.org/growthexport/internal/simulator"
)

// AllDatasets returns the name of every dataset.
func AllDatasets() []string {
	var names []string
	for _, op := range simulator.Operations() {
		names = append(names, op.Name)
	}
	return names
}

// Rows returns the expected rows by table; see [Expect].
func Rows(w *simulator.World, options Options) map[string][]Row { return Expect(w, options).Rows }

// Expect returns the rows and reports of a correct export.
func Expect(w *simulator.World, options Options) *Expected {
	h := newExporter(w, &options)
	expected := &Expected{Rows: map[string][]Row{}}
	drift := map[Drift]int64{}
	for _, op := range h.operations {
		if options.Datasets == nil && op.About != 0 || options.Datasets != nil && !slices.Contains(options.Datasets, op.Name) {
			continue
		}
		for _, t := range op.Tables {
			expected.Rows[t.Name] = []Row{}
		}
		for _, s := range h.scopes(op) {
			ledger := LedgerRow{Dataset: op.Name, School: w.SchoolBid(s.school), District: w.DistrictBid(s.district)}
			if s.school >= 0 && w.Denied(s.school) {
				ledger.Denied = true
				expected.Ledger = append(expected.Ledger, ledger)
				continue
			}
			var calls []*simulator.Call
			calls, ledger.Unavailable = h.calls(op, s)
			for _, c := range calls {
				chained := readList(h.world, c)
				ledger.Received += chained.received
				ledger.Duplicates += chained.dropped
				for name, rows := range chained.rows {
					expected.Rows[name] = append(expected.Rows[name], rows...)
				}
				for fact, n := range chained.drift {
					drift[fact] += n
				}
			}
			ledger.Rows = ledger.Received - ledger.Duplicates
			expected.Ledger = append(expected.Ledger, ledger)
		}
		for i := range op.Tables {
			SortRows(&op.Tables[i], expected.Rows[op.Tables[i].Name])
		}
	}
	for fact, n := range drift {
		fact.Count = n
		expected.Drift = append(expected.Drift, fact)
	}
	slices.SortFunc(expected.Drift, func(a, b Drift) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Field, b.Field), strings.Compare(a.Kind, b.Kind))
	})
	slices.SortFunc(expected.Ledger, func(a, b LedgerRow) int {
		return cmp.Or(strings.Compare(a.Dataset, b.Dataset), strings.Compare(a.School, b.School), strings.Compare(a.District, b.District))
	})
	expected.Checks = h.checks(expected)
	return expected
}

// SortRows sorts rows by requested_school_bid, then by the other key columns in their order. Nulls come first, and text
// is ordered by its bytes. Rows with equal keys keep their order.
func SortRows(t *simulator.Table, rows []Row) {
	var keys []string
	for _, col := range t.Columns {
		switch {
		case col.Name == "requested_school_bid":
			keys = append([]string{col.Name}, keys...)
		case col.Key:
			keys = append(keys, col.Name)
		}
	}
	type keyed struct {
		row    Row
		values []any
	}
	sorted := make([]keyed, len(rows))
	for i, row := range rows {
		sorted[i] = keyed{row, make([]any, len(keys))}
		for k, key := range keys {
			sorted[i].values[k] = row[key]
		}
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int { return slices.CompareFunc(a.values, b.values, compare) })
	for i := range sorted {
		rows[i] = sorted[i].row
	}
}

// compare orders the values of a key column: text or integers.
func compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	if x, ok := a.(int64); ok {
		y, _ := b.(int64)
		return cmp.Compare(x, y)
	}
	x, _ := a.(string)
	y, _ := b.(string)
	return strings.Compare(x, y)
}
