package history

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Difference lists the differences between two snapshots.
type Difference struct {
	snapshot.Comparison
	// Units holds the counts by the school or district that a row was read for, and by table.
	Units map[Unit]map[string]*snapshot.TableComparison
	// Districts holds the district of each school: in the later snapshot, or in the earlier one if the later one lacks
	// the school.
	Districts map[string]string
	// NotCompared lists the schools with the most rows among those that were compared only in part or not at all.
	NotCompared []*NotCompared
}

// ByDistrict adds up the counts by district. The lookup tables districts and schools have the empty district.
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

// Diff returns the differences between two published snapshots, of which from is the earlier one.
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
	results, _ := schemas.Find(resultsTable)
	if d.lost, err = newLostResults(to.SnapshotDate, len(results.Tables)); err != nil {
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
	if err := d.explain(ctx); err != nil {
		return nil, err
	}
	d.total()
	return d.found, d.notCompared(ctx)
}

// differ compares two snapshots.
type differ struct {
	earlier, later *side
	lost           *lostResults
	found          *Difference
}

// tableDiff compares one table of two snapshots.
type tableDiff struct {
	earlier, later *reader
	merger         *merger
	tally          tally
}

// dataset compares the tables of a dataset in every unit that is complete on both sides.
func (d *differ) dataset(ctx context.Context, dataset *schemas.Dataset) (err error) {
	tables := make([]*tableDiff, len(dataset.Tables))
	for i, table := range dataset.Tables {
		t := &tableDiff{earlier: d.earlier.wholeReader(table), later: d.later.wholeReader(table)}
		t.merger = newMerger(table, &t.tally)
		tables[i] = t
	}
	defer func() {
		for _, t := range tables {
			err = errors.Join(err, t.earlier.close(), t.later.close())
		}
	}()
	gone := newDepartures(nil)
	if dataset.Tables[0].Name == resultsTable {
		gone.lost = d.lost
	}
	for _, unit := range d.later.units(dataset) {
		bid := unit.School + unit.District
		if !d.earlier.covers(dataset.Name, bid) || !d.later.covers(dataset.Name, bid) {
			continue
		}
		gone.start(bid, "")
		for i, t := range tables {
			t.tally = tally{counts: d.counts(unit, t.later.table.Name), table: i, gone: gone}
			if err := t.unit(ctx, d.earlier.bucket(unit), d.later.bucket(unit), bid); err != nil {
				return err
			}
		}
		gone.forget()
		if len(d.lost.list) >= maxLost {
			if err := d.explain(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// explain adds the reasons for the removed test results collected so far.
func (d *differ) explain(ctx context.Context) error {
	today := &day{results: d.results, students: d.later}
	dataset, _ := schemas.Find(resultsTable)
	return today.explain(ctx, d.lost.drain(), func(lost *lostResult, reason string) {
		for i, n := range lost.rows {
			if n > 0 {
				d.counts(Unit{School: lost.school}, dataset.Tables[i].Name).Because[reason] += n
			}
		}
	})
}

// results passes all results of the later day to use. For schools that the later snapshot does not cover, these are the
// earlier snapshot's results, which have not ended.
func (d *differ) results(ctx context.Context, use useResult) error {
	if err := d.later.results(ctx, nil, use); err != nil {
		return err
	}
	uncovered := func(school string) bool { return !d.later.covers(resultsTable, school) }
	for of := range d.earlier.complete {
		if of.dataset == resultsTable && uncovered(of.unit) {
			return d.earlier.results(ctx, uncovered, use)
		}
	}
	return nil
}

// bucket returns the bucket whose files hold the rows of a unit.
func (s *side) bucket(unit Unit) int {
	return s.buckets[unit.School] // 0, the first bucket, for units without a school
}

// unit compares the rows of a unit in the two snapshots.
func (t *tableDiff) unit(ctx context.Context, fromBucket, toBucket int, bid string) error {
	from, err := t.earlier.unit(ctx, fromBucket, bid)
	if err != nil {
		return err
	}
	to, err := t.later.unit(ctx, toBucket, bid)
	if err != nil {
		return err
	}
	t.tally.merger = t.merger
	return t.merger.unit(from, to, []byte(bid))
}

// counts returns the counts of a table in a unit, which it creates if necessary.
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

// total adds up the counts of each table, and counts the schools that were compared and those that were not.
func (d *differ) total() {
	found := &d.found.Comparison
	found.With, found.SnapshotDate = d.earlier.manifest.RunID, d.earlier.manifest.SnapshotDate
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

// compared reports whether every per-school dataset that both snapshots hold was compared for a school. It returns
// false if there is no such dataset.
func (d *differ) compared(school string) bool {
	both := schemas.SharedBySchool(d.earlier.manifest.Parameters.Datasets, d.later.manifest.Parameters.Datasets)
	for _, name := range both {
		if !d.earlier.covers(name, school) || !d.later.covers(name, school) {
			return false
		}
	}
	return len(both) > 0
}
