package history

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// run stages the files of the history after the fold. If it fails, no files stay staged.
func (f *fold) run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.files.abort(context.WithoutCancel(ctx)))
		}
	}()
	if err := f.catalog.Sweep(ctx, f.files.id); err != nil { // leftovers of a killed fold
		return err
	}
	for _, dataset := range schemas.Datasets() {
		if !slices.Contains(f.side.manifest.Parameters.Datasets, dataset.Name) {
			continue
		}
		if err := f.dataset(ctx, dataset); err != nil {
			return err
		}
	}
	return f.coverage(ctx)
}

// dataset folds the tables of a dataset in order, because the first table determines which records are gone.
func (f *fold) dataset(ctx context.Context, dataset *schemas.Dataset) error {
	units := f.units(dataset)
	if len(units) == 0 {
		return nil
	}
	e, err := f.newEndings(dataset)
	if err != nil {
		return err
	}
	for i, declared := range dataset.Tables {
		table, err := f.heldTable(ctx, declared)
		if err != nil {
			return err
		}
		if err := f.foldTable(ctx, table, !dataset.IsLookup(), units, e, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) foldTable(ctx context.Context, table *schemas.Table, cuts bool, units []Unit, e *endings, first bool) (err error) {
	t, r := f.table(ctx, table, cuts), f.side.wholeReader(table)
	defer func() { err = errors.Join(err, t.source.close(), t.ended.close(), r.close()) }()
	e.explains(t, first)
	if f.side.isScattered(units) {
		if err := r.gather(ctx, f.files, units); err != nil {
			return err
		}
	}
	for _, unit := range units {
		name := unit.School + unit.District
		e.start(name, "")
		to, err := r.unit(ctx, f.side.bucket(unit), name)
		if err != nil {
			return err
		}
		if err := t.unit(name, to); err != nil {
			return err
		}
	}
	if first {
		if err := t.passOver("", true); err != nil {
			return err
		}
		e.allCovered = !t.passedOver
		if err := e.explain(ctx); err != nil {
			return err
		}
	}
	return f.finish(t)
}

// units lists the units of a dataset that the snapshot covers, in the order of the history's files.
func (f *fold) units(dataset *schemas.Dataset) []Unit {
	units := f.side.units(dataset)
	units = slices.DeleteFunc(units, func(u Unit) bool { return !f.side.covers(dataset.Name, u.School+u.District) })
	slices.SortFunc(units, func(a, b Unit) int {
		return cmp.Or(strings.Compare(a.School, b.School), strings.Compare(a.District, b.District))
	})
	return slices.Compact(units)
}
