package sink

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// record is a row by the names of its columns; those it does not name are null.
type record map[string]string

// The bids of the tests of purges are long enough to be looked for in bytes.
const (
	gone, stays, moved      = "school-that-goes", "school-that-stays", "school-of-both"
	goneDistrict, staysToo  = "district-that-goes", "district-that-stays"
	latestRun, deltaRun     = "run-latest", "run-delta"
	asOfRun, earlierRun     = "run-as-of", "run-earlier"
	earlierDate, pastAsDate = "2026-11-19", "2025-09-01"
)

// purgeWorld are the rows of a run: two schools, results of a student who came
// from one to the other, and classes seen from both districts.
func purgeWorld() map[string][]record {
	at := func(r record, school string) record {
		r = maps.Clone(r)
		r["requested_school_bid"] = school
		return r
	}
	world := map[string][]record{
		"districts": {{"district_bid": goneDistrict}, {"district_bid": staysToo}},
		"schools": {
			{"school_bid": gone, "district_bid": goneDistrict, "name": "Gone"},
			{"school_bid": stays, "district_bid": staysToo, "name": "Stays"},
		},
		"district_schools": {
			{"requested_district_bid": goneDistrict, "school_bid": gone},
			{"requested_district_bid": goneDistrict, "school_bid": stays, "district_bid": staysToo},
			{"requested_district_bid": staysToo, "school_bid": stays},
		},
	}
	for _, school := range []string{stays, gone} {
		world["students"] = append(world["students"], at(record{"student_bid": "a of " + school}, school), at(record{"student_bid": "b of " + school}, school))
		world["test_results"] = append(world["test_results"],
			at(record{"student_bid": "nameless"}, school),
			at(record{"test_result_bid": "1 of " + school, "school_bid": school}, school),
			at(record{"test_result_bid": "2 of " + school, "school_bid": map[string]string{gone: stays, stays: gone}[school]}, school),
			at(record{"test_result_bid": "3 of " + school}, school))
		for _, table := range []string{"test_result_norms", "test_result_instructional_areas"} {
			for _, result := range []string{"1", "2", "2", "3"} {
				world[table] = append(world[table], at(record{"test_result_bid": result + " of " + school}, school))
			}
		}
	}
	world["test_result_norms"] = slices.Insert(world["test_result_norms"], 0, at(record{}, stays))
	for _, district := range []string{goneDistrict, staysToo} {
		seen := at(record{"requested_perspective_bid": district, "academic_year_bid": "y", "perspective_bid": district}, stays)
		world["academic_years"] = append(world["academic_years"], seen)
		world["enrollment_sessions"] = append(world["enrollment_sessions"], at(record{
			"requested_perspective_bid": district, "academic_year_bid": "y", "enrollment_session_bid": "s " + district,
		}, stays))
	}
	world["academic_years"] = append(world["academic_years"],
		at(record{"requested_perspective_bid": staysToo, "academic_year_bid": "z", "perspective_bid": goneDistrict}, stays))
	world["enrollment_sessions"] = append(world["enrollment_sessions"],
		at(record{"requested_perspective_bid": staysToo, "academic_year_bid": "z", "enrollment_session_bid": "of the one above"}, stays))
	return world
}

func batchOf(table *schemas.Table, records []record) *rows.Batch {
	batch := rows.New(table)
	for _, r := range records {
		for i := range batch.Cols {
			v, c := &batch.Cols[i], &table.Columns[i]
			text, ok := r[c.Name]
			switch {
			case ok:
				v.AppendString(text)
			case !v.Required:
				v.AppendNull()
			default:
				v.AppendInt32(int32(batch.N))
			}
		}
		batch.N++
	}
	return batch
}

// purgeDatasets are those of purgeWorld.
func purgeDatasets() []string {
	return []string{"districts", "schools", "district_schools", "students", "test_results", "academic_years"}
}

// worldPlan is the plan of a run of purgeWorld.
func worldPlan(run string, edit ...func(*Plan)) *Plan {
	return newPlan(run, append([]func(*Plan){datasets(purgeDatasets()...), func(p *Plan) {
		p.Schools = []School{
			{Bid: gone, District: goneDistrict, Perspectives: []string{goneDistrict}},
			{Bid: stays, District: staysToo, Perspectives: []string{goneDistrict, staysToo}},
		}
		p.Buckets = []Bucket{{Index: 0, First: 0, End: 2}}
	}}, edit...)...)
}

// stageWorld plans and stages a run of the rows.
func stageWorld(t *testing.T, store Store, run string, world map[string][]record, edit ...func(*Plan)) *Plan {
	t.Helper()
	plan, err := CreatePlan(t.Context(), store, worldPlan(run, edit...))
	require.NoError(t, err)
	for _, unit := range plan.Units() {
		require.NoError(t, stageWorldUnit(t.Context(), store, plan, unit, world))
	}
	return plan
}

func stageWorldUnit(ctx context.Context, store Store, plan *Plan, unit Unit, world map[string][]record) error {
	dataset, _ := schemas.Find(unit.Dataset)
	journal := &Journal{Dataset: unit.Dataset, Bucket: unit.Bucket, Files: make(map[string]File), StagedAt: morning()}
	for _, table := range dataset.Tables {
		file, err := NewTables(store, plan.RunID).Create(ctx, plan.DataPath(table.Name, unit.Bucket), table)
		if err != nil {
			return err
		}
		if err = file.Append(sortedBatch(table, world[table.Name])); err == nil {
			journal.Files[table.Name], err = file.Stage(ctx)
		}
		if err != nil {
			return errors.Join(err, file.Abort())
		}
	}
	asked := []string{""}
	if !dataset.IsLookup() {
		asked = []string{gone, stays}
	}
	for _, school := range asked {
		n := int64(len(world[dataset.Tables[0].Name]))
		if school != "" {
			n = 0
			for _, r := range world[dataset.Tables[0].Name] {
				if r["requested_school_bid"] == school {
					n++
				}
			}
		}
		journal.Ledger = append(journal.Ledger, LedgerRow{
			Dataset: unit.Dataset, SchoolBid: school, Status: StatusOK, Pages: 1, RecordsReceived: n, RowsWritten: n,
		})
	}
	return WriteJournal(ctx, store, plan.RunID, journal)
}

// sortedBatch puts the rows in the order of a file.
func sortedBatch(table *schemas.Table, records []record) *rows.Batch {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b record) int {
		for _, k := range table.KeyColumns() {
			if c := strings.Compare(a[table.Columns[k].Name], b[table.Columns[k].Name]); c != 0 {
				return c
			}
		}
		return 0
	})
	return batchOf(table, records)
}

func publishWorld(t *testing.T, store Store, run string, edit ...func(*Plan)) {
	t.Helper()
	stageWorld(t, store, run, purgeWorld(), edit...)
	publishRun(t, store, run)
}

// purgeSite is a destination of all kinds of snapshots.
func purgeSite(t *testing.T, store Store) {
	t.Helper()
	publishWorld(t, store, earlierRun, onDate(earlierDate))
	publishWorld(t, store, latestRun)
	publishWorld(t, store, asOfRun, func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, pastAsDate })
	publishWorld(t, store, deltaRun, func(p *Plan) { p.Kind = Delta })
}

func purgedRuns() []string { return []string{asOfRun, deltaRun, earlierRun, latestRun} }
