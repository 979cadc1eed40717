package history

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endings knows why the versions of a dataset's tables end. Why a test result is gone is known only once the other
// schools have been read; until then a reference takes the place of the reason.
type endings struct {
	fold *fold
	// gone are, by unit, the rows of the dataset's first table that are gone: their children are gone for the same reason.
	// As there may be many, they are lists of keys and reasons, each after its length, of which one at a time is a map.
	gone map[string][]byte
	unit string            // of the next rows
	here map[string]string // the reasons by key in this unit, once one was asked for

	// For test results only.
	unexplained *unexplained
	reasons     []string // by number
	allCovered  bool     // the snapshot is known to cover all schools that have versions
}

// reference begins a text that stands for the reason of a test result: its number follows.
const reference = "#"

func (f *fold) newEndings(dataset *schemas.Dataset) (*endings, error) {
	e := &endings{fold: f, gone: make(map[string][]byte)}
	var err error
	if dataset.Tables[0].Name == resultsTable {
		e.unexplained, err = newUnexplained(f.report.Date)
	}
	return e, err
}

// startUnit says of which unit the next rows are.
func (e *endings) startUnit(unit string) { e.unit, e.here = unit, nil }

// addGone adds a row of the first table that is gone from the unit.
func (e *endings) addGone(key, reason string) {
	list := e.gone[e.unit]
	for _, text := range []string{key, reason} {
		list = append(binary.AppendUvarint(list, uint64(len(text))), text...)
	}
	e.gone[e.unit] = list
}

// reasonOf returns why a row of the first table is gone from the unit, and whether it is.
func (e *endings) reasonOf(key string) (reason string, gone bool) {
	if e.here == nil {
		e.here = make(map[string]string)
		list := e.gone[e.unit]
		cut := func() string {
			n, size := binary.Uvarint(list)
			text := list[size:][:n]
			list = list[size:][n:]
			return string(text)
		}
		for len(list) > 0 {
			of := cut()
			e.here[of] = cut()
		}
	}
	reason, gone = e.here[key]
	return reason, gone
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
	source := newVersions(f.catalog, some, f.before.OpenFiles(resultsTable), nil)
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
		complete, key := m.complete(b, row), m.key(b, row)
		if m.child {
			switch reason, gone := e.reasonOf(key); {
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
			e.addGone(key, reason)
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
