package history

import (
	"context"
	"strconv"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endings holds the reasons why the versions of a dataset's tables end. The reason for a test result is known only
// after the other schools have been read. Until then, a reference is stored instead of the reason.
type endings struct {
	*departures

	fold       *fold
	reasons    []string // the reasons for the lost results, by number
	allCovered bool     // the snapshot is known to cover every school that has versions
}

// reference is the prefix of a reference to the reason for a test result. The number of the result follows it.
const reference = "#"

func (f *fold) newEndings(dataset *schemas.Dataset) (*endings, error) {
	var lost *lostResults
	var err error
	if dataset.Tables[0].Name == resultsTable {
		lost, err = newLostResults(f.report.Date, 0)
	}
	return &endings{departures: newDepartures(lost), fold: f}, err
}

// explain determines why the test results collected so far are gone.
func (e *endings) explain(ctx context.Context) error {
	if e.lost == nil {
		return nil
	}
	today := &day{results: e.results, students: e.fold.side}
	return today.explain(ctx, e.lost.drain(), func(_ *lostResult, reason string) { e.reasons = append(e.reasons, reason) })
}

// results calls use with every result of the day: the snapshot's results, and the open versions of schools that it does
// not cover.
func (e *endings) results(ctx context.Context, use useResult) error {
	f := e.fold
	if err := f.side.results(ctx, nil, use); err != nil || e.allCovered {
		return err
	}
	some := snapshot.SelectColumns(tableOf(resultsTable), lookUpColumns...)
	return newVersions(f.catalog, some, f.before.OpenFiles(resultsTable), nil).each(ctx, func(b *rows.Batch, row int) {
		if !f.side.covers(resultsTable, string(textOf(b, 3, row))) {
			use(textOf(b, 0, row), textOf(b, 1, row), textOf(b, 2, row), 1)
		}
	})
}

// resolve returns the reason itself, or the reason that a reference refers to.
func (e *endings) resolve(because string) string {
	if number, ok := strings.CutPrefix(because, reference); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return e.reasons[n]
		}
	}
	return because
}

// explains sets the function by which a table's fold finds out why a version ends. first is true for the first table of
// the dataset.
func (e *endings) explains(t *tableFold, first bool) {
	if first && e.lost != nil {
		e.lost.setTable(t.table)
		t.ended.reason = e.resolve
	}
	t.because = func(b *rows.Batch, i int, parentStands bool) (string, error) {
		if e.lost != nil && len(e.lost.list) == maxLost {
			if err := e.explain(t.ctx); err != nil {
				return "", err
			}
		}
		reason, result := e.cause(t.merger, b, i, parentStands)
		switch {
		case result == noResult:
			return reason, nil
		case first:
			return reference + strconv.Itoa(result), nil
		}
		return e.reasons[result], nil
	}
}
