package history

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
)

// absent is the status of a school that was in an earlier snapshot but is not in this one, or whose dataset is not in
// this snapshot.
const absent snapshot.Status = "absent"

// coverage folds the coverage table, which records since when each dataset of a school has had its status.
func (f *fold) coverage(ctx context.Context) (err error) {
	table := snapshot.CoverageTable()
	t := f.table(ctx, table, false)
	defer func() { err = errors.Join(err, t.source.close()) }()
	t.because = func(*rows.Batch, int, bool) (string, error) {
		return "", errors.New("a version of the coverage ended, but no other one began")
	}
	all := maps.Clone(f.status)
	err = f.openCoverage(ctx, func(of coverage) {
		if _, ok := all[of]; !ok {
			all[of] = absent
		}
	})
	if err != nil {
		return err
	}
	pairs := slices.SortedFunc(maps.Keys(all), func(a, b coverage) int {
		return cmp.Or(strings.Compare(a.unit, b.unit), strings.Compare(a.dataset, b.dataset))
	})
	left := pairs
	to := newCursor(table, func(batch *rows.Batch) (*rows.Batch, error) {
		if len(left) == 0 {
			return nil, io.EOF
		}
		n := min(len(left), maxPendingRows)
		for _, of := range left[:n] {
			batch.Cols[0].AppendString(of.dataset)
			batch.Cols[1].AppendString(of.unit)
			batch.Cols[2].AppendString(string(all[of]))
		}
		batch.N += n
		left = left[n:]
		return batch, nil
	})
	for i, of := range pairs {
		if i > 0 && pairs[i-1].unit == of.unit {
			continue
		}
		if err := t.unit(of.unit, to); err != nil {
			return err
		}
	}
	return f.finish(t)
}

// openCoverage passes the dataset and school of every open version of the coverage table to use.
func (f *fold) openCoverage(ctx context.Context, use func(coverage)) error {
	table := snapshot.SelectColumns(snapshot.CoverageTable(), "dataset", "requested_school_bid")
	open := newVersions(f.catalog, table, f.before.OpenFiles(snapshot.CoverageTable().Name), nil)
	return open.each(ctx, func(b *rows.Batch, row int) { use(coverage{string(b.Cols[0].Text(row)), string(b.Cols[1].Text(row))}) })
}
