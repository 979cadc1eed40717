package history

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endings knows why the versions of a dataset's tables end. Of a test result that is gone this is known only once the
// other schools have been read; until then a reference to it stands for the reason.
type endings struct {
	fold *fold
	// gone are the reasons of the rows of the dataset's first table that are gone: their children are gone for the same
	// reason.
	gone map[record]string
	unit string // of the next rows

	// Of test results.
	unexplained *unexplained
	reasons     []string // by number
	allCovered  bool     // the snapshot is known to cover all schools that have versions
}

// record names a row of a dataset's first table by its unit and the rest of its key.
type record struct{ unit, key string }

// reference begins a text that stands for the reason of a test result: its number follows.
const reference = "#"

func (f *fold) newEndings(dataset *schemas.Dataset) (*endings, error) {
	e := &endings{fold: f, gone: make(map[record]string)}
	var err error
	if dataset.Tables[0].Name == resultsTable {
		e.unexplained, err = newUnexplained(f.report.Date)
	}
	return e, err
}

// explain finds out why the test results collected so far are gone.
func (e *endings) explain(ctx context.Context) error {
	if e.unexplained == nil {
		return nil
	}
	return e.unexplained.resolve(ctx, e.fold.side, e.scan, func(_ *candidate, reason string) { e.reasons = append(e.reasons, reason) })
}

// scan passes all results of the day to use: the snapshot's, and the versions of schools that it does not cover.
func (e *endings) scan(
	ctx context.Context, results *schemas.Table, use func(b *rows.Batch, row int), columns ...string,
) (err error) {
	f := e.fold
	if err := f.side.scan(ctx, results, use, columns...); err != nil || e.allCovered {
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

// resolve returns the reason that a reason or a reference stands for.
func (e *endings) resolve(because string) string {
	if number, ok := strings.CutPrefix(because, reference); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return e.reasons[n]
		}
	}
	return because
}

// explains lets a table ask why its versions end.
func (e *endings) explains(t *tableFold, first bool) {
	if first && e.unexplained != nil {
		e.unexplained.setTable(t.table)
		t.ended.reason = e.resolve
	}
	t.because = func(b *rows.Batch, i int, parentStands bool) (string, error) {
		row, m := b.Row(i), t.merger
		complete, key := m.complete(b, row), record{e.unit, m.key(b, row)}
		if m.child {
			switch reason, gone := e.gone[key]; {
			case !complete, gone && e.unexplained == nil:
				return snapshot.Removed, nil
			case gone && !parentStands:
				return e.resolve(reason), nil
			}
			return snapshot.ElementsChanged, nil
		}
		reason := snapshot.Removed
		if first && e.unexplained != nil {
			var err error
			if reason, err = e.collect(t.ctx, b, row); err != nil {
				return "", err
			}
		}
		if complete {
			e.gone[key] = reason
		}
		return reason, nil
	}
}

// collect adds a test result that is gone, and returns a reference to its reason.
func (e *endings) collect(ctx context.Context, b *rows.Batch, row int) (string, error) {
	if len(e.unexplained.list) == maxUnexplained {
		if err := e.explain(ctx); err != nil {
			return "", err
		}
	}
	number := len(e.reasons) + len(e.unexplained.list)
	e.unexplained.add(&candidate{removedResult: removedResult{unit: e.unit}}, b, row)
	return reference + strconv.Itoa(number), nil
}
