package history_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// night is the state of the service on a date, and the outcome of that date's run.
type night struct {
	date, run string
	datasets  []string
	schools   []string
	status    map[[2]string]snapshot.Status // by dataset and school, if not ok
	world     map[string][]record
	lacks     []string // columns that the snapshot's files lack
	only      []string // the value of --schools
	removed   bool     // the value of --include-removed
}

func (n *night) covers(dataset, school string) bool {
	_, bad := n.status[[2]string{dataset, school}]
	return !bad && slices.Contains(n.datasets, dataset) && (school == "" || slices.Contains(n.schools, school))
}

// rows returns the rows of a table that the snapshot holds.
func (n *night) rows(table string) []record {
	_, dataset, _ := schemas.FindTable(table)
	var held []record
	for _, r := range n.world[table] {
		if n.covers(dataset.Name, r["requested_school_bid"]) {
			held = append(held, r)
		}
	}
	return held
}

// publish stages and publishes the night's run.
func (n *night) publish(ctx context.Context, store sink.Store) error {
	catalog := snapshot.At(store)
	plan := snapshottest.NewPlan(n.run, snapshottest.Datasets(n.datasets...), snapshottest.OnDate(n.date), func(p *snapshot.Plan) {
		p.Schools, p.Buckets, p.Replace = nil, nil, true
		p.Scope.Schools, p.Scope.IncludeRemoved = n.only, n.removed
		for i, bid := range n.schools {
			p.Schools = append(p.Schools, snapshot.School{Bid: bid, District: "d"})
			if i%3 == 0 {
				p.Buckets = append(p.Buckets, snapshot.Bucket{Index: i / 3, First: i})
			}
			p.Buckets[i/3].End = i + 1
		}
	})
	if _, err := catalog.CreatePlan(ctx, plan); err != nil {
		return err
	}
	for _, task := range plan.Tasks() {
		if err := n.stage(ctx, store, plan, task); err != nil {
			return err
		}
	}
	staged, err := catalog.Collect(ctx, plan)
	if err != nil {
		return err
	}
	_, err = catalog.Publish(ctx, staged, snapshottest.Options())
	return err
}

func (n *night) stage(ctx context.Context, store sink.Store, plan *snapshot.Plan, task snapshot.Task) error {
	dataset, _ := schemas.Find(task.Dataset)
	checkpoint := &snapshot.Checkpoint{Dataset: task.Dataset, Bucket: task.Bucket, Files: make(map[string]sink.File), StagedAt: snapshottest.Morning()}
	asked := []string{""}
	if !dataset.IsLookup() {
		bucket := plan.Buckets[task.Bucket]
		asked = n.schools[bucket.First:bucket.End]
	}
	count := make(map[string]int64)
	for i, table := range dataset.Tables {
		var held []record
		for _, r := range n.rows(table.Name) {
			if school := r["requested_school_bid"]; slices.Contains(asked, school) {
				held = append(held, r)
				if i == 0 {
					count[school]++
				}
			}
		}
		some := *table
		some.Columns = slices.DeleteFunc(slices.Clone(table.Columns), func(c schemas.Column) bool { return slices.Contains(n.lacks, c.Name) })
		file, err := snapshot.NewTables(snapshot.At(store), plan.RunID).Create(ctx, plan.DataPath(table.Name, task.Bucket), &some)
		if err != nil {
			return err
		}
		if err = file.Append(snapshottest.SortedBatch(&some, held)); err == nil {
			checkpoint.Files[table.Name], err = file.Stage(ctx)
		}
		if err != nil {
			return errors.Join(err, file.Abort())
		}
	}
	for _, school := range asked {
		row := snapshot.LedgerRow{Dataset: task.Dataset, SchoolBid: school, Status: snapshot.StatusOK, Pages: 1}
		if status, bad := n.status[[2]string{task.Dataset, school}]; bad {
			row.Status, row.Pages = status, 0
		} else {
			row.RecordsReceived, row.RowsWritten = count[school], count[school]
		}
		checkpoint.Ledger = append(checkpoint.Ledger, row)
	}
	return snapshot.At(store).WriteCheckpoint(ctx, plan.RunID, checkpoint)
}

// schoolNames returns names of schools, some of which begin a part.
func schoolNames() []string {
	var names []string
	begin := 0
	for i := 0; begin < 2; i++ {
		name := fmt.Sprintf("school-%03d", i)
		if history.BeginsPart(name) {
			begin++
			names = append(names, name, name+"-b")
		} else if len(names) < 2 {
			names = append(names, name)
		}
	}
	return names
}

// dateOf returns the date of the i-th night. Some dates are skipped.
func dateOf(i int) string {
	return time.Date(2026, 2, 25, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i+i/3).Format(time.DateOnly)
}

// randomNights returns nights with small changes from one to the next.
func randomNights(random *rand.Rand, n int) []*night {
	all := schoolNames()
	world := map[string][]record{
		"districts": {{"district_bid": "d"}},
		"schools":   {{"school_bid": "x"}},
	}
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	times := func() string {
		at := time.Date(2025, 2, 25, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.IntN(12)-3) * 12 * time.Hour)
		return strconv.FormatInt(at.UnixMicro(), 10)
	}
	for _, school := range all {
		for i := range 4 {
			world["students"] = append(world["students"], record{"requested_school_bid": school, "student_bid": fmt.Sprintf("student %d of %s", i, school)})
		}
	}
	students := func(school string) string { return fmt.Sprintf("student %d of %s", random.IntN(4), school) }
	next := 0
	addResult := func() {
		school := pick(all)
		r := record{"requested_school_bid": school, "student_bid": students(pick([]string{school, school, all[0]})), "rit": strconv.Itoa(random.IntN(3))}
		if random.IntN(3) > 0 {
			r["subject_area"] = pick([]string{"math", "reading"})
		}
		if random.IntN(5) > 0 {
			next++
			r["test_result_bid"] = fmt.Sprintf("result %d", next)
		}
		if random.IntN(2) == 0 {
			r["administration_start_date_time"] = times()
		}
		if random.IntN(4) == 0 {
			r["administration_end_date_time"] = times()
		}
		world["test_results"] = append(world["test_results"], r)
		for i := range random.IntN(4) {
			norm := record{"requested_school_bid": school, "ordinal": strconv.Itoa(i), "percentile": strconv.Itoa(random.IntN(2))}
			if bid, ok := r["test_result_bid"]; ok {
				norm["test_result_bid"] = bid
			}
			world["test_result_norms"] = append(world["test_result_norms"], norm)
		}
	}
	for range 25 {
		addResult()
	}
	var nights []*night
	for i := range n {
		for range random.IntN(4) {
			addResult()
		}
		mutate(random, world, all)
		tonight := &night{
			date: dateOf(i), run: fmt.Sprintf("run-%d", i), datasets: []string{"districts", "schools", "students", "test_results"},
			status: make(map[[2]string]snapshot.Status), world: make(map[string][]record),
		}
		if random.IntN(4) == 0 {
			tonight.datasets = slices.DeleteFunc(tonight.datasets, func(d string) bool { return d == pick([]string{"students", "test_results", "schools"}) })
		}
		for _, school := range all {
			if random.IntN(5) > 0 || len(tonight.schools) == 0 {
				tonight.schools = append(tonight.schools, school)
			}
			for _, dataset := range []string{"students", "test_results"} {
				if random.IntN(6) == 0 {
					tonight.status[[2]string{dataset, school}] = []snapshot.Status{snapshot.StatusFailed, snapshot.StatusDenied}[random.IntN(2)]
				}
			}
		}
		if random.IntN(2) == 0 { // as if the snapshot were partitioned by district
			slices.SortStableFunc(tonight.schools, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		}
		for name, list := range world {
			for _, r := range list {
				tonight.world[name] = append(tonight.world[name], maps.Clone(r))
			}
		}
		nights = append(nights, tonight)
	}
	return nights
}

// mutate changes, moves, removes and reorders some rows.
func mutate(random *rand.Rand, world map[string][]record, schools []string) {
	results := world["test_results"]
	for range 3 {
		results[random.IntN(len(results))]["rit"] = strconv.Itoa(random.IntN(3))
	}
	gone := make(map[string]bool)
	moved := make(map[string]string)
	for range random.IntN(4) {
		r := results[random.IntN(len(results))]
		bid, ok := r["test_result_bid"]
		switch {
		case random.IntN(3) == 0 && ok:
			moved[bid] = schools[random.IntN(len(schools))]
		case ok:
			gone[bid] = true
		default:
			r["rit"] = "99"
		}
	}
	for _, table := range []string{"test_results", "test_result_norms"} {
		world[table] = slices.DeleteFunc(world[table], func(r record) bool {
			return gone[r["test_result_bid"]] || r["rit"] == "99"
		})
		for _, r := range world[table] {
			if to, ok := moved[r["test_result_bid"]]; ok {
				r["requested_school_bid"] = to
			}
		}
	}
	norms := world["test_result_norms"]
	for range min(4, len(norms)) {
		r := norms[random.IntN(len(norms))]
		r["percentile"] = strconv.Itoa(random.IntN(2))
		r["ordinal"] = strconv.Itoa(random.IntN(4))
	}
	students := world["students"]
	world["students"] = slices.DeleteFunc(students, func(record) bool { return random.IntN(15) == 0 })
}

// version is a row of the history.
type version struct {
	table, school, row string // the row without ordinal
	bid, student       string
	validFrom, validTo string
	because            string
}

// readHistory reads all versions, and requires files to be sorted and to match the manifest.
func readHistory(t *testing.T, store sink.Store) ([]version, *snapshot.HistoryManifest) {
	t.Helper()
	h, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.NotNil(t, h)
	var all []version
	for name, held := range h.Manifest.Tables {
		table, ok := snapshot.FindHistoryTable(name)
		require.True(t, ok)
		table = snapshot.HistoryTable(table)
		for _, file := range held.Files {
			_, validTo, _ := strings.Cut(file.Path, "/valid_to=")
			validTo, _, _ = strings.Cut(validTo, "/")
			object, err := store.Open(t.Context(), file.Path)
			require.NoError(t, err)
			stored, err := parquetfile.TableOf(object, file.Bytes)
			require.NoError(t, err)
			var columns []string
			for i := range stored.Columns {
				columns = append(columns, stored.Columns[i].Name)
			}
			require.NoError(t, snapshot.ReadRows(object, file.Bytes, snapshot.SelectColumns(table, columns...), func(b *rows.Batch) error {
				for i := range b.N {
					all = append(all, versionOf(table, b, i, validTo))
				}
				return nil
			}))
			require.NoError(t, object.Close())
		}
	}
	return all, h.Manifest
}

// versionOf returns a row of a file, which may lack columns of the table.
func versionOf(table *schemas.Table, b *rows.Batch, i int, validTo string) version {
	v := version{table: b.Table.Name, validTo: validTo}
	var row []string
	for c := range table.Columns {
		at := b.Table.Column(table.Columns[c].Name)
		text := "null"
		if at >= 0 && !b.Cols[at].Null(i) {
			column := &b.Cols[at]
			switch column.Type {
			case schemas.Int32:
				text = strconv.Itoa(int(column.I32[i]))
			case schemas.Date:
				text = time.Unix(int64(column.I32[i])*24*60*60, 0).UTC().Format(time.DateOnly)
			case schemas.Timestamp, schemas.Int64:
				text = strconv.FormatInt(column.I64[i], 10)
			case schemas.String, schemas.JSON:
				text = string(column.Text(i))
			case schemas.Double, schemas.Boolean:
				text = "?"
			}
		}
		switch name := table.Columns[c].Name; name {
		case "valid_from":
			v.validFrom = text
			continue
		case "ended_because":
			v.because = text
			continue
		case "ordinal":
			continue
		case "requested_school_bid":
			v.school = text
		case "test_result_bid":
			v.bid = text
		case "student_bid":
			v.student = text
		}
		row = append(row, text)
	}
	v.row = strings.Join(row, "|")
	return v
}

// text returns a record in the form of version.row.
func text(table *schemas.Table, r record) string {
	var row []string
	for _, c := range table.Columns {
		value, ok := r[c.Name]
		if c.Name == "ordinal" {
			continue
		}
		if !ok {
			value = "null"
		}
		row = append(row, value)
	}
	return strings.Join(row, "|")
}
