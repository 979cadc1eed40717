package history

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endings knows why the versions of a dataset's tables end. Of test results that is known only once the other schools
// have been read, so removed results are looked for, in a few columns, before the fold comes to them.
type endings struct {
	fold *fold
	// gone are the reasons of the rows of the dataset's first table that are gone from the unit, by key: their children
	// are gone for the same reason.
	gone map[string]string

	// Of test results.
	unexplained *unexplained
	full        resultColumns
	reasons     map[removedResult]string
	narrow      *schemas.Table
	columns     resultColumns // of narrow
	source      *versions
	from        *cursor
	to          *reader
	merger      *merger
	unit        string
}

func (f *fold) newEndings(ctx context.Context, dataset *schemas.Dataset) (*endings, error) {
	e := &endings{fold: f, gone: make(map[string]string)}
	table := dataset.Tables[0]
	if table.Name != resultsTable {
		return e, nil
	}
	var err error
	if e.unexplained, err = newUnexplained(f.report.Date); err != nil {
		return nil, err
	}
	e.full = e.unexplained.resultColumns
	e.narrow = snapshot.SelectColumns(table, "requested_school_bid", "test_result_bid", "student_bid", "subject_area",
		"administration_start_date_time", "administration_end_date_time")
	e.columns = columnsOf(e.narrow, e.full.aged)
	e.source = newVersions(f.catalog, e.narrow, f.before.OpenFiles(table.Name), false)
	e.from, e.to = e.source.cursor(ctx), f.side.reader(e.narrow)
	return e, nil
}

// scan passes all results of the day to use: the snapshot's, and the versions of schools that it does not cover.
func (e *endings) scan(
	ctx context.Context, results *schemas.Table, use func(b *rows.Batch, row int), columns ...string,
) (err error) {
	f := e.fold
	if err := f.side.scan(ctx, results, use, columns...); err != nil {
		return err
	}
	some := snapshot.SelectColumns(results, append(columns, "requested_school_bid")...)
	source := newVersions(f.catalog, some, f.before.OpenFiles(resultsTable), false)
	defer func() { err = errors.Join(err, source.close()) }()
	for batch := rows.New(some); ; {
		batch.Reset()
		if err := source.next(ctx, batch); err != nil {
			return ignoreEnd(err)
		}
		for row := range batch.N {
			if school, _ := value(batch, len(columns), row); !f.side.covers(resultsTable, school) {
				use(batch, row)
			}
		}
	}
}

// explain finds out why the results of the next units are gone, and returns how many units these are.
func (e *endings) explain(ctx context.Context, units []Unit) (int, error) {
	if e.unexplained == nil {
		return len(units), nil
	}
	n := 0
	for n < len(units) && len(e.unexplained.list) < maxUnexplained {
		unit := units[n]
		n++
		to, err := e.to.unit(ctx, e.fold.side.bucket(unit), unit.School)
		if err != nil {
			return 0, err
		}
		if e.merger == nil || !slices.Equal(e.merger.lacking, e.to.lacking) {
			e.merger = newMerger(e.narrow, e.to.lacking, e)
		}
		e.unit = unit.School
		if err := e.merger.unit(e.from, to, []byte(unit.School)); err != nil {
			return 0, err
		}
	}
	e.reasons = make(map[removedResult]string, len(e.unexplained.list))
	err := e.unexplained.resolve(ctx, e.fold.side, e.scan, func(c *candidate, reason string) { e.reasons[c.removedResult] = reason })
	e.unexplained.list = nil
	return n, err
}

// same collects the versions without a complete key, which sort first: only all columns tell whether they are gone.
func (e *endings) same(from *rows.Batch, i int, _ *rows.Batch, _, n int) error {
	for k := i; k < i+n && !e.merger.complete(from, from.Row(k)); k++ {
		e.collect(from, k)
	}
	return nil
}

func (e *endings) changed(*rows.Batch, int, *rows.Batch, int) error { return nil }

func (e *endings) removed(from *rows.Batch, i int, _ bool) error {
	e.collect(from, i)
	return nil
}

func (e *endings) added(*rows.Batch, int) error { return nil }

func (e *endings) collect(from *rows.Batch, i int) {
	c := &candidate{removedResult: removedResult{unit: e.unit}}
	e.columns.describe(&c.removedResult, from, from.Row(i))
	e.unexplained.list = append(e.unexplained.list, c)
}

// startUnit says of which unit the next rows are.
func (e *endings) startUnit(name string) {
	e.unit = name
	clear(e.gone)
}

// of returns the function that says why a version of a table ends.
func (e *endings) of(t *tableFold) func(b *rows.Batch, i int, parentStands bool) (string, error) {
	return func(b *rows.Batch, i int, parentStands bool) (string, error) {
		row, m := b.Row(i), t.merger
		complete, key := m.complete(b, row), m.key(b, row)
		if m.child {
			switch reason, gone := e.gone[key]; {
			case !complete, gone && e.unexplained == nil:
				return snapshot.Removed, nil
			case gone && !parentStands:
				return reason, nil
			}
			return snapshot.ElementsChanged, nil
		}
		reason := snapshot.Removed
		if e.unexplained != nil {
			c := removedResult{unit: e.unit}
			e.full.describe(&c, b, row)
			reason = cmp.Or(e.reasons[c], snapshot.Unexplained)
		}
		if complete {
			e.gone[key] = reason
		}
		return reason, nil
	}
}

func (e *endings) close() error {
	if e.source == nil {
		return nil
	}
	return errors.Join(e.source.close(), e.to.close())
}
