package maintenance

import (
	"context"
	"maps"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// districtIndex finds the district of a school. A school belongs to the district of its own that the list of schools
// names (specification 4.1), as plans and tables keep it. Schools change districts, so what a run itself says of a
// school counts for that run; where it says nothing, what any other run says. A school that none gives a district
// belongs to those whose lists name it (4.3), if all of them are purged.
type districtIndex struct {
	// own are the districts of schools by run, and listed the districts that name a school, by school.
	own    map[string]map[string]set
	listed map[string]set
	// everywhere are the districts of schools over all runs.
	everywhere map[string]set
	// recorded holds the schools that an interrupted purge had resolved; the rows it resolved them from may be gone.
	recorded set
	// spans are the districts of schools by day, as the history has them.
	spans map[string][]districtSpan
}

type set map[string]bool

func newDistrictIndex(recorded []string) *districtIndex {
	k := &districtIndex{
		own: make(map[string]map[string]set), listed: make(map[string]set), everywhere: make(map[string]set),
		recorded: make(set),
	}
	for _, school := range recorded {
		k.recorded[school] = true
	}
	return k
}

func put(m map[string]set, key, value string) {
	if key == "" || value == "" {
		return
	}
	if m[key] == nil {
		m[key] = make(set)
	}
	m[key][value] = true
}

func (k *districtIndex) addOwn(run, school, district string) {
	if k.own[run] == nil {
		k.own[run] = make(map[string]set)
	}
	put(k.own[run], school, district)
	put(k.everywhere, school, district)
}

// addPlan adds what a plan says.
func (k *districtIndex) addPlan(plan *snapshot.Plan) {
	for _, school := range plan.Schools {
		k.addOwn(plan.RunID, school.Bid, school.District)
		for _, perspective := range school.Perspectives {
			put(k.listed, school.Bid, perspective)
		}
	}
}

// addTables adds what the lookup tables of a published run say.
func (k *districtIndex) addTables(ctx context.Context, catalog snapshot.Catalog, manifest *snapshot.Manifest) error {
	for name, columns := range map[string][]string{
		"schools":          {"school_bid", "district_bid"},
		"district_schools": {"school_bid", "district_bid", "requested_district_bid"},
	} {
		declared, _, ok := schemas.FindTable(name)
		if !ok {
			continue
		}
		for _, file := range manifest.Tables[name].Files {
			err := readFile(ctx, catalog, file.Path, declared, selectText(columns), func(batch *rows.Batch) error {
				for i := range batch.N {
					school := textOf(batch, i, "school_bid")
					k.addOwn(manifest.RunID, school, textOf(batch, i, "district_bid"))
					put(k.listed, school, textOf(batch, i, "requested_district_bid"))
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

// textOf returns the text of a column that the batch may have.
func textOf(batch *rows.Batch, i int, column string) string {
	c := batch.Table.Column(column)
	if c < 0 || batch.Cols[c].Null(i) {
		return ""
	}
	return string(batch.Cols[c].Text(i))
}

// schoolsOf returns the schools of the districts, for the rows of a run.
func (k *districtIndex) schoolsOf(run string, districts set) set {
	return k.schools(k.own[run], districts)
}

// schools returns the schools of the districts where own says to which of them schools belong.
func (k *districtIndex) schools(own map[string]set, districts set) set {
	found := make(set)
	for school, of := range own {
		if overlap(of, districts) {
			found[school] = true
		}
	}
	for school, of := range k.everywhere {
		if own[school] == nil && overlap(of, districts) {
			found[school] = true
		}
	}
	for school, of := range k.listed {
		if k.everywhere[school] == nil && within(of, districts) {
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

func overlap(a, b set) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}

func within(a, b set) bool {
	for x := range a {
		if !b[x] {
			return false
		}
	}
	return true
}

// named reports whether the plan names one of the bids.
func (b *bids) named(plan *snapshot.Plan) bool {
	for _, school := range plan.Schools {
		if b.schools[school.Bid] || b.districts[school.District] ||
			slices.ContainsFunc(school.Perspectives, func(p string) bool { return b.districts[p] }) {
			return true
		}
	}
	return slices.ContainsFunc(plan.Districts, func(d string) bool { return b.districts[d] })
}

// readPlans reads the plans of all runs, those that cannot be read left out: what such a run has staged is dropped all
// the same.
func readPlans(ctx context.Context, catalog snapshot.Catalog, entries []sink.Entry) (map[string]*snapshot.Plan, error) {
	plans := make(map[string]*snapshot.Plan)
	for _, run := range snapshot.RunFoldersWith(entries, snapshot.PlanName) {
		plan, err := snapshot.ReadIfSound[snapshot.Plan](ctx, catalog, snapshot.DocumentPath(run, snapshot.PlanName))
		if err != nil {
			return nil, err
		}
		if plan != nil {
			plans[run] = plan
		}
	}
	return plans, nil
}

// sorted returns the members in order.
func (s set) sorted() []string { return append([]string{}, slices.Sorted(maps.Keys(s))...) }
