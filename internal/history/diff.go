package history

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Difference is what differs between two snapshots.
type Difference struct {
	snapshot.Comparison
	// Units holds the counts by the school or district that a row was read for, and by table.
	Units map[Unit]map[string]*snapshot.TableComparison
	// Districts are the districts of the schools, as the later snapshot has them.
	Districts map[string]string
}

// ByDistrict adds up the counts by district. The district of the lookup tables districts and schools is empty.
func (d *Difference) ByDistrict() snapshot.DistrictComparisons {
	sums := make(snapshot.DistrictComparisons)
	for unit, tables := range d.Units {
		for table, counts := range tables {
			sums.Of(cmp.Or(unit.District, d.Districts[unit.School]), table).Add(counts)
		}
	}
	return sums
}

// Unit is a school, or a district in the table district_schools. The lookup tables districts and schools have neither.
type Unit struct{ School, District string }

// Diff compares two published snapshots: what became of the rows of from in to.
func Diff(ctx context.Context, catalog snapshot.Catalog, from, to *snapshot.Manifest) (*Difference, error) {
	earlier, err := openSide(ctx, catalog, from)
	if err != nil {
		return nil, err
	}
	later, err := openSide(ctx, catalog, to)
	if err != nil {
		return nil, err
	}
	d := &differ{earlier: earlier, later: later, found: &Difference{
		Units: make(map[Unit]map[string]*snapshot.TableComparison), Districts: make(map[string]string),
	}}
	if d.unexplained, err = newUnexplained(to.SnapshotDate); err != nil {
		return nil, err
	}
	for _, dataset := range schemas.Datasets() {
		if !slices.Contains(from.Parameters.Datasets, dataset.Name) || !slices.Contains(to.Parameters.Datasets, dataset.Name) {
			continue
		}
		if err := d.dataset(ctx, dataset); err != nil {
			return nil, err
		}
	}
	if err := d.unexplained.explain(ctx, d.later); err != nil {
		return nil, err
	}
	d.total()
	return d.found, nil
}

// differ compares two snapshots.
type differ struct {
	earlier, later *side
	unexplained    *unexplained
	found          *Difference
}

// tableDiff compares one table.
type tableDiff struct {
	earlier, later *reader
	merger         *merger
	tally          tally
}

// dataset compares the tables of a dataset in every unit that is complete on both sides.
func (d *differ) dataset(ctx context.Context, dataset *schemas.Dataset) (err error) {
	tables := make([]*tableDiff, len(dataset.Tables))
	for i, table := range dataset.Tables {
		tables[i] = &tableDiff{earlier: d.earlier.reader(table), later: d.later.reader(table)}
	}
	defer func() {
		for _, t := range tables {
			err = errors.Join(err, t.earlier.close(), t.later.close())
		}
	}()
	for _, unit := range d.later.units(dataset) {
		bid := unit.School + unit.District
		if !d.earlier.covers(dataset.Name, bid) || !d.later.covers(dataset.Name, bid) {
			continue
		}
		gone := &removals{byKey: make(map[string]*candidate)}
		if dataset.Tables[0].Name == resultsTable {
			gone.unexplained = d.unexplained
		}
		for _, t := range tables {
			t.tally = tally{counts: d.counts(unit, t.later.table.Name), unit: bid, gone: gone}
			if err := t.unit(ctx, d.earlier.bucket(unit), d.later.bucket(unit), bid); err != nil {
				return err
			}
		}
		if len(d.unexplained.list) >= maxUnexplained {
			if err := d.unexplained.explain(ctx, d.later); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket returns the bucket whose files hold the rows of a unit.
func (s *side) bucket(unit Unit) int {
	return s.buckets[unit.School] // the lookups are numbered like the first
}

// unit compares the rows of a unit.
func (t *tableDiff) unit(ctx context.Context, fromBucket, toBucket int, bid string) error {
	from, err := t.earlier.unit(ctx, fromBucket, bid)
	if err != nil {
		return err
	}
	to, err := t.later.unit(ctx, toBucket, bid)
	if err != nil {
		return err
	}
	lacking := slices.Concat(t.earlier.lacking, t.later.lacking)
	t.merger = t.merger.lackingColumns(t.later.table, lacking, &t.tally)
	t.tally.merger = t.merger
	return t.merger.unit(from, to, []byte(bid))
}

// counts returns the counts of a table in a unit.
func (d *differ) counts(unit Unit, table string) *snapshot.TableComparison {
	tables := d.found.Units[unit]
	if tables == nil {
		tables = make(map[string]*snapshot.TableComparison)
		d.found.Units[unit] = tables
	}
	if tables[table] == nil {
		tables[table] = snapshot.NewTableComparison()
	}
	return tables[table]
}

// total adds up the tables and the schools.
func (d *differ) total() {
	found := &d.found.Comparison
	found.With, found.SnapshotDate = d.earlier.manifest.RunID, d.earlier.manifest.SnapshotDate
	found.Warnings = []string{}
	found.Tables = make(map[string]*snapshot.TableComparison)
	for name := range d.later.manifest.Tables {
		if _, both := d.earlier.manifest.Tables[name]; both {
			found.Tables[name] = snapshot.NewTableComparison()
		}
	}
	for _, tables := range d.found.Units {
		for name, counts := range tables {
			found.Tables[name].Add(counts)
		}
	}
	for i := range d.earlier.plan.Schools {
		school := &d.earlier.plan.Schools[i]
		d.found.Districts[school.Bid] = school.District
		if _, both := d.later.buckets[school.Bid]; !both {
			found.SchoolsNotCompared++
		}
	}
	for i := range d.later.plan.Schools {
		school := &d.later.plan.Schools[i]
		d.found.Districts[school.Bid] = school.District
		if d.compared(school.Bid) {
			found.SchoolsCompared++
		} else {
			found.SchoolsNotCompared++
		}
	}
}

// compared reports whether every per-school dataset that either snapshot holds was compared for a school.
func (d *differ) compared(school string) bool {
	held := slices.Concat(d.earlier.manifest.Parameters.Datasets, d.later.manifest.Parameters.Datasets)
	for _, dataset := range schemas.Datasets() {
		if dataset.IsLookup() || !slices.Contains(held, dataset.Name) {
			continue
		}
		if !d.earlier.covers(dataset.Name, school) || !d.later.covers(dataset.Name, school) {
			return false
		}
	}
	return true
}
