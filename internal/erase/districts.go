package erase

import (
	"context"
	"maps"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// DistrictIndex finds the schools of districts. A school belongs to its own district in the list of schools
// (specification 4.1), which is part of plans and tables. Because schools change districts, the data of a run
// determines the districts for the rows of that run. If that data does not contain the school's district, the school
// belongs to its districts in all other runs and in the history. A school without a district in any run belongs to the
// districts whose school lists contain it (4.3), but only if all of these districts are purged.
type DistrictIndex struct {
	// own holds the districts of schools, by run and school. listed holds, by school, the districts whose school lists
	// contain the school, or through which a run has read its enrollment.
	own    map[string]map[string]Set
	listed map[string]Set
	// everywhere holds, by school, the districts from all runs and from the history.
	everywhere map[string]Set
	// recorded holds the schools that an interrupted purge has already found. The rows in which it found them may be gone.
	recorded Set
	// spans holds, by school, the districts on each day, according to the history.
	spans map[string][]districtSpan
}

// NewDistrictIndex returns an index that contains only the schools recorded by an interrupted purge.
func NewDistrictIndex(recorded []string) *DistrictIndex {
	k := &DistrictIndex{
		own: make(map[string]map[string]Set), listed: make(map[string]Set), everywhere: make(map[string]Set),
		recorded: make(Set),
	}
	for _, school := range recorded {
		k.recorded[school] = true
	}
	return k
}

func (k *DistrictIndex) addOwn(run, school, district string) {
	if k.own[run] == nil {
		k.own[run] = make(map[string]Set)
	}
	Put(k.own[run], school, district)
	Put(k.everywhere, school, district)
}

// AddPlan adds the districts of a plan's schools.
func (k *DistrictIndex) AddPlan(plan *snapshot.Plan) {
	for _, school := range plan.Schools {
		k.addOwn(plan.RunID, school.Bid, school.District)
		for _, perspective := range school.Perspectives {
			Put(k.listed, school.Bid, perspective)
		}
	}
}

// AddTables adds the districts in the lookup tables of a published run.
func (k *DistrictIndex) AddTables(ctx context.Context, catalog snapshot.Catalog, manifest *snapshot.Manifest) error {
	for name, columns := range map[string][]string{
		"schools":          {"school_bid", "district_bid"},
		"district_schools": {"school_bid", "district_bid", "requested_district_bid"},
	} {
		declared, _, ok := schemas.FindTable(name)
		if !ok {
			continue
		}
		for _, file := range manifest.Tables[name].Files {
			err := ReadFile(ctx, catalog, file.Path, declared, SelectText(columns...), func(batch *rows.Batch) error {
				for i := range batch.N {
					school := TextOf(batch, i, "school_bid")
					k.addOwn(manifest.RunID, school, TextOf(batch, i, "district_bid"))
					Put(k.listed, school, TextOf(batch, i, "requested_district_bid"))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// SchoolsOf returns the schools whose rows in a run belong to the districts.
func (k *DistrictIndex) SchoolsOf(run string, districts Set) Set {
	return k.schools(k.own[run], districts)
}

// schools returns the schools that belong to the districts. If a school is in own, its districts from other runs do not
// count.
func (k *DistrictIndex) schools(own map[string]Set, districts Set) Set {
	found := make(Set)
	for school, of := range own {
		if of.overlaps(districts) {
			found[school] = true
		}
	}
	for school, of := range k.everywhere {
		if own[school] == nil && of.overlaps(districts) {
			found[school] = true
		}
	}
	for school, of := range k.listed {
		if k.everywhere[school] == nil && of.Within(districts) {
			found[school] = true
		}
	}
	for school := range k.recorded {
		if own[school] == nil {
			found[school] = true
		}
	}
	return found
}

// AddHistory adds the districts in the history's lookup tables.
func (k *DistrictIndex) AddHistory(ctx context.Context, catalog snapshot.Catalog) error {
	current, err := catalog.ReadHistory(ctx)
	if current == nil || err != nil {
		return err
	}
	k.spans = make(map[string][]districtSpan)
	for _, name := range []string{"schools", "district_schools"} {
		declared, _, _ := schemas.FindTable(name)
		for _, file := range current.Manifest.Tables[name].Files {
			to, err := snapshot.ValidTo(file.Path)
			if err != nil {
				return err
			}
			pick := func(own *schemas.Table) *schemas.Table {
				return snapshot.SelectColumns(own, "school_bid", "district_bid", "requested_district_bid", validFrom)
			}
			err = ReadFile(ctx, catalog, file.Path, declared, pick, func(batch *rows.Batch) error {
				from := batch.Cols[batch.Table.Column(validFrom)].I32
				for i := range batch.N {
					school, district := TextOf(batch, i, "school_bid"), TextOf(batch, i, "district_bid")
					Put(k.listed, school, TextOf(batch, i, "requested_district_bid"))
					Put(k.everywhere, school, district)
					if school != "" && district != "" {
						k.spans[school] = append(k.spans[school], districtSpan{district, from[i], to})
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// validFrom is the name of the column with a version's first day.
const validFrom = "valid_from"

// districtSpan records that a school belongs to a district from the day from until the day before to.
type districtSpan struct {
	district string
	from, to int32
}

// SchoolsAt returns the schools of the districts on a day, according to the history. If the history has no district for
// a school on that day, the other data determines its districts, as in SchoolsOf.
func (k *DistrictIndex) SchoolsAt(day int32, districts Set) Set {
	own := make(map[string]Set)
	for school, spans := range k.spans {
		for _, s := range spans {
			if s.from <= day && day < s.to {
				Put(own, school, s.district)
			}
		}
	}
	return k.schools(own, districts)
}

// Districts returns all districts to which any school belongs in a run or in the history.
func (k *DistrictIndex) Districts() Set {
	all := make(Set)
	for _, districts := range k.everywhere {
		maps.Copy(all, districts)
	}
	return all
}
