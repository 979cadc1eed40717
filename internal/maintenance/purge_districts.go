package maintenance

import (
	"context"

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

// addHistory adds what the history's lookup tables say of schools.
func (k *districtIndex) addHistory(ctx context.Context, catalog snapshot.Catalog) error {
	current, err := catalog.ReadHistory(ctx)
	if current == nil || err != nil {
		return err
	}
	h := &purgedHistory{manifest: current.Manifest}
	if err := h.addTables(); err != nil {
		return err
	}
	k.spans = make(map[string][]districtSpan)
	for _, t := range h.tables {
		if t.table.Name != "schools" && t.table.Name != "district_schools" {
			continue
		}
		for i := range t.files {
			to := t.files[i].to
			pick := func(own *schemas.Table) *schemas.Table {
				return snapshot.SelectColumns(own, "school_bid", "district_bid", "requested_district_bid", validFrom)
			}
			err := readFile(ctx, catalog, t.files[i].Path, t.table, pick, func(batch *rows.Batch) error {
				from := batch.Cols[batch.Table.Column(validFrom)].I32
				for i := range batch.N {
					school, district := textOf(batch, i, "school_bid"), textOf(batch, i, "district_bid")
					put(k.listed, school, textOf(batch, i, "requested_district_bid"))
					put(k.everywhere, school, district)
					if school != "" && district != "" {
						k.spans[school] = append(k.spans[school], districtSpan{district, span{from[i], to}})
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

// districtSpan is the district of a school on some days.
type districtSpan struct {
	district string
	span
}

// schoolsAt returns the schools of the districts on a day, by what the history says.
func (k *districtIndex) schoolsAt(day int32, districts set) set {
	own := make(map[string]set)
	for school, spans := range k.spans {
		for _, s := range spans {
			if s.from <= day && day < s.to {
				put(own, school, s.district)
			}
		}
	}
	return k.schools(own, districts)
}
