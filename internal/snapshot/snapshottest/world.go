package snapshottest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Record maps the names of columns to the values of a row. Columns that are not in the map are null.
type Record map[string]string

// The bids and runs that tests of purges use. The bids are long enough to be searched for in the bytes of files.
const (
	Gone         = "school-that-goes"
	Stays        = "school-that-stays"
	moved        = "school-of-both"
	GoneDistrict = "district-that-goes"
	StaysToo     = "district-that-stays"
	LatestRun    = "run-latest"
	deltaRun     = "run-delta"
	asOfRun      = "run-as-of"
	EarlierRun   = "run-earlier"
	EarlierDate  = "2026-11-19"
	pastAsDate   = "2025-09-01"
)

// PurgeWorld returns the rows of a run: two schools, results of a student who moved from one to the other, and classes
// that both districts list.
func PurgeWorld() map[string][]Record {
	at := func(r Record, school string) Record {
		r = maps.Clone(r)
		r["requested_school_bid"] = school
		return r
	}
	world := map[string][]Record{
		"districts": {{"district_bid": GoneDistrict}, {"district_bid": StaysToo}},
		"schools": {
			{"school_bid": Gone, "district_bid": GoneDistrict, "name": "Gone"},
			{"school_bid": Stays, "district_bid": StaysToo, "name": "Stays"},
		},
		"district_schools": {
			{"requested_district_bid": GoneDistrict, "school_bid": Gone},
			{"requested_district_bid": GoneDistrict, "school_bid": Stays, "district_bid": StaysToo},
			{"requested_district_bid": StaysToo, "school_bid": Stays},
		},
	}
	for _, school := range []string{Stays, Gone} {
		world["students"] = append(world["students"], at(Record{"student_bid": "a of " + school}, school), at(Record{"student_bid": "b of " + school}, school))
		world["test_results"] = append(world["test_results"],
			at(Record{"student_bid": "nameless"}, school),
			at(Record{"test_result_bid": "1 of " + school, "school_bid": school}, school),
			at(Record{"test_result_bid": "2 of " + school, "school_bid": map[string]string{Gone: Stays, Stays: Gone}[school]}, school),
			at(Record{"test_result_bid": "3 of " + school}, school))
		for _, table := range []string{"test_result_norms", "test_result_instructional_areas"} {
			for _, result := range []string{"1", "2", "2", "3"} {
				world[table] = append(world[table], at(Record{"test_result_bid": result + " of " + school}, school))
			}
		}
	}
	world["test_result_norms"] = slices.Insert(world["test_result_norms"], 0, at(Record{}, Stays))
	for _, district := range []string{GoneDistrict, StaysToo} {
		seen := at(Record{"requested_perspective_bid": district, "academic_year_bid": "y", "perspective_bid": district}, Stays)
		world["academic_years"] = append(world["academic_years"], seen)
		world["enrollment_sessions"] = append(world["enrollment_sessions"], at(Record{
			"requested_perspective_bid": district, "academic_year_bid": "y", "enrollment_session_bid": "s " + district,
		}, Stays))
	}
	world["academic_years"] = append(world["academic_years"],
		at(Record{"requested_perspective_bid": StaysToo, "academic_year_bid": "z", "perspective_bid": GoneDistrict}, Stays))
	world["enrollment_sessions"] = append(world["enrollment_sessions"],
		at(Record{"requested_perspective_bid": StaysToo, "academic_year_bid": "z", "enrollment_session_bid": "of the one above"}, Stays))
	return world
}

func batchOf(table *schemas.Table, records []Record) *rows.Batch {
	batch := rows.New(table)
	for _, r := range records {
		for i := range batch.Cols {
			v, c := &batch.Cols[i], &table.Columns[i]
			text, ok := r[c.Name]
			switch {
			case ok && v.IsText():
				v.AppendString(text)
			case ok && (c.Type == schemas.Int32 || c.Type == schemas.Date):
				v.AppendInt32(int32(number(text)))
			case ok && c.Type == schemas.Double:
				v.AppendDouble(float64(number(text)))
			case ok:
				v.AppendInt64(number(text))
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

// number parses the value of a column of numbers or times.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// purgeDatasets returns the datasets of PurgeWorld.
func purgeDatasets() []string {
	return []string{"districts", "schools", "district_schools", "students", "test_results", "academic_years"}
}

// WorldPlan returns the plan of a run of PurgeWorld.
func WorldPlan(run string, edit ...func(*snapshot.Plan)) *snapshot.Plan {
	return NewPlan(run, append([]func(*snapshot.Plan){Datasets(purgeDatasets()...), func(p *snapshot.Plan) {
		p.Schools = []snapshot.School{
			{Bid: Gone, District: GoneDistrict, Perspectives: []string{GoneDistrict}},
			{Bid: Stays, District: StaysToo, Perspectives: []string{GoneDistrict, StaysToo}},
		}
		p.Buckets = []snapshot.Bucket{{Index: 0, First: 0, End: 2}}
	}}, edit...)...)
}

// StageWorld plans a run and stages the rows of world.
func StageWorld(t *testing.T, store sink.Store, run string, world map[string][]Record, edit ...func(*snapshot.Plan)) *snapshot.Plan {
	t.Helper()
	plan, err := snapshot.At(store).CreatePlan(t.Context(), WorldPlan(run, edit...))
	require.NoError(t, err)
	for _, task := range plan.Tasks() {
		require.NoError(t, StageWorldTask(t.Context(), store, plan, task, world))
	}
	return plan
}

// StageWorldTask stages the rows of one task.
func StageWorldTask(ctx context.Context, store sink.Store, plan *snapshot.Plan, task snapshot.Task, world map[string][]Record) error {
	dataset, _ := schemas.Find(task.Dataset)
	checkpoint := &snapshot.Checkpoint{Dataset: task.Dataset, Bucket: task.Bucket, Files: make(map[string]sink.File), StagedAt: Morning()}
	for _, table := range dataset.Tables {
		file, err := snapshot.NewTables(snapshot.At(store), plan.RunID).Create(ctx, plan.DataPath(table.Name, task.Bucket), table)
		if err != nil {
			return err
		}
		if err = file.Append(SortedBatch(table, world[table.Name])); err == nil {
			checkpoint.Files[table.Name], err = file.Stage(ctx)
		}
		if err != nil {
			return errors.Join(err, file.Abort())
		}
	}
	asked := []string{""}
	if !dataset.IsLookup() {
		asked = nil
		for i := range plan.Schools {
			asked = append(asked, plan.Schools[i].Bid)
		}
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
		checkpoint.Ledger = append(checkpoint.Ledger, snapshot.LedgerRow{
			Dataset: task.Dataset, SchoolBid: school, Status: snapshot.StatusOK, Pages: 1, RecordsReceived: n, RowsWritten: n,
		})
	}
	return snapshot.At(store).WriteCheckpoint(ctx, plan.RunID, checkpoint)
}

// SortedBatch returns the rows in the order in which files store them.
func SortedBatch(table *schemas.Table, records []Record) *rows.Batch {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b Record) int {
		for _, k := range table.KeyColumns() {
			if c := strings.Compare(a[table.Columns[k].Name], b[table.Columns[k].Name]); c != 0 {
				return c
			}
		}
		return 0
	})
	return batchOf(table, records)
}

// PublishWorld stages and publishes a run of PurgeWorld.
func PublishWorld(t *testing.T, store sink.Store, run string, edit ...func(*snapshot.Plan)) {
	t.Helper()
	StageWorld(t, store, run, PurgeWorld(), edit...)
	PublishRun(t, store, run)
}

// PurgeSite publishes runs of all kinds with the rows of PurgeWorld.
func PurgeSite(t *testing.T, store sink.Store) {
	t.Helper()
	PublishWorld(t, store, EarlierRun, OnDate(EarlierDate))
	PublishWorld(t, store, LatestRun)
	PublishWorld(t, store, asOfRun, func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, pastAsDate })
	PublishWorld(t, store, deltaRun, func(p *snapshot.Plan) { p.Kind = snapshot.Delta })
}

// PurgedRuns returns the runs of PurgeSite, sorted.
func PurgedRuns() []string { return []string{asOfRun, deltaRun, EarlierRun, LatestRun} }
