package maintenance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

const (
	planted       = "planted-child"
	plantedNumber = "77001"
	plantedName   = "PLANTEDNAME"
)

// plantedRows returns rows that hold a child in every place where the service may put one: goes are rows of the child,
// and loses are rows of others that mention the child in _extra.
func plantedRows() (goes, loses map[string][]snapshottest.Record) {
	const name = plantedName
	goes = map[string][]snapshottest.Record{
		"students":        {{"student_bid": planted, "student_id": plantedNumber, "last_name": name}},
		"student_details": {{"requested_student_bid": planted, "state_student_id": "S" + plantedNumber, "last_name": name}},
		"student_school_associations": {
			{"student_school_association_bid": "nested", "last_name": name, "_extra": `{"student":{"studentBid":"` + planted + `"}}`},
			{"student_school_association_bid": "number", "last_name": name, "state_student_id": "S" + plantedNumber},
			{"student_school_association_bid": "other number", "last_name": name, "district_student_id": plantedNumber},
		},
		"school_class_students": {
			{"school_class_bid": "c1", "last_name": name, "_extra": `{"id":"` + planted + `"}`},
			{"school_class_bid": "c2", "last_name": name, "_extra": `{"studentId":"` + plantedNumber + `"}`},
			{"school_class_bid": "c3", "last_name": name, "_extra": `{"studentNumber":` + plantedNumber + `}`},
		},
		"test_results": {
			{"test_result_bid": "r1", "student_bid": planted, "_extra": `{"note":"` + name + `"}`},
			{"test_result_bid": "r2", "_extra": `{"student":["` + planted + `","` + name + `"]}`},
		},
		"test_result_norms":               {{"test_result_bid": "r2", "_extra": `{"note":"` + name + `"}`}},
		"test_result_instructional_areas": {{"test_result_bid": "r1", "_extra": `{"note":"` + name + `"}`}},
		"student_school_classes":          {{"requested_student_bid": planted, "school_class_bid": "c1", "class_name": name}},
	}
	loses = make(map[string][]snapshottest.Record)
	extras := []string{
		`{"students":{"studentBid":"` + planted + `","lastName":"` + name + `"}}`, `{"roster":[{"id":"` + planted + `","lastName":"` + name + `"}]}`,
		`{"members":[{"number":"` + plantedNumber + `","lastName":"` + name + `"}]}`,
	}
	for _, table := range schemas.Tables() {
		if table.Column("_extra") < 0 || table.Column("ordinal") >= 0 {
			continue
		}
		for i, extra := range extras {
			r := snapshottest.Record{"_extra": extra}
			for _, key := range table.KeyColumns() {
				r[table.Columns[key].Name] = string(rune('a'+i)) + " " + table.Columns[key].Name
			}
			if table.Column("student_bid") >= 0 {
				r["student_bid"] = "another-child"
			}
			loses[table.Name] = append(loses[table.Name], r)
		}
	}
	return goes, loses
}

// TestPlantedChildren purges a child from every place where the service may put one: by bid, which also finds the
// numbers. No byte is left in snapshots, a cohort, an as-of run, a delta run, the history, Delta logs, or in files left
// by a staged run, a held run and a late process of a published run. Nothing else is lost.
func TestPlantedChildren(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	goes, loses := plantedRows()
	world := make(map[string][]snapshottest.Record)
	others := 0
	for _, table := range schemas.Tables() {
		for _, list := range [][]snapshottest.Record{goes[table.Name], loses[table.Name]} {
			for _, r := range list {
				for _, column := range []string{"requested_school_bid", "requested_perspective_bid"} {
					if table.Column(column) >= 0 {
						r[column] = snapshottest.Stays
					}
				}
				world[table.Name] = append(world[table.Name], r)
			}
		}
		others += len(loses[table.Name])
	}
	var datasets []string
	for _, dataset := range schemas.Datasets() {
		datasets = append(datasets, dataset.Name)
	}
	stage := func(run string, edit ...func(*snapshot.Plan)) {
		snapshottest.StageWorld(t, store, run, world, append(edit, snapshottest.Datasets(datasets...))...)
	}
	publish := func(run string, edit ...func(*snapshot.Plan)) {
		stage(run, edit...)
		snapshottest.PublishRun(t, store, run)
	}
	leaveTurnover := func(run string) {
		_, err := snapshot.At(store).WriteTurnover(t.Context(), run, snapshot.Task{Dataset: "test_results"}, []byte(planted))
		require.NoError(t, err)
	}
	updateLogs := func() {
		_, err := deltalake.Reconcile(t.Context(), snapshot.At(store), deltalake.Options{Create: true, Now: snapshottest.PublishedAt})
		require.NoError(t, err)
	}
	publish("night", snapshottest.OnDate("2026-11-20"))
	leaveTurnover("night")
	require.NoError(t, foldHistory(t, false)(t.Context(), store))
	publish("as-of", func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-09-01" })
	publish("delta", func(p *snapshot.Plan) { p.Kind = snapshot.Delta })
	publish("cohort", snapshottest.OnDate("2026-11-18"), func(p *snapshot.Plan) { p.Scope.Students = &snapshot.Students{Listed: 2, Digest: "d"} })
	updateLogs()
	stage("staged", snapshottest.OnDate("2026-11-21"))
	stage("held", snapshottest.OnDate("2026-11-22"))
	leaveTurnover("held")
	require.NoError(t, snapshot.At(store).Hold(t.Context(), "held", snapshot.Held{}))

	options := studentOptions(nil)
	options.Students = []string{planted}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, maintenance.PurgeDone, report.State, report.Verification)
	require.Equal(t, []string{"held", "staged"}, report.DroppedRuns)
	requireNoBytes(t, root, planted, plantedNumber, plantedName)
	updateLogs()
	requireNoBytes(t, root, planted, plantedNumber, plantedName)
	logs, err := deltalake.Verify(t.Context(), snapshot.At(store))
	require.NoError(t, err)
	require.Empty(t, logs.Problems)
	require.Greater(t, len(logs.Tables), len(schemas.Tables()), "of the snapshots and of the history")
	for _, run := range []string{"night", "as-of", "delta", "cohort"} {
		left := 0
		for _, list := range readWorld(t, store, run) {
			left += len(list)
		}
		require.Equal(t, others, left, run)
	}
}

// TestPurgeStudentNumbers erases a child without a bid by number, and leaves the rows of a child with a bid.
func TestPurgeStudentNumbers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row   snapshottest.Record
		state string
	}{
		"only without a bid": {snapshottest.Record{"student_bid": "x", "student_id": "1", "_extra": `{"sibling":"` + plantedNumber + `"}`}, maintenance.PurgeDone},
		"also with a bid":    {snapshottest.Record{"student_bid": "x", "student_id": plantedNumber}, maintenance.PurgeIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			child := snapshottest.Record{"student_id": plantedNumber, "last_name": plantedName}
			for _, r := range []snapshottest.Record{child, test.row} {
				r["requested_school_bid"] = snapshottest.Stays
			}
			world := map[string][]snapshottest.Record{"students": {child, test.row}}
			snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("students"))
			snapshottest.PublishRun(t, store, "night")
			options := studentOptions(nil)
			options.Students, options.StudentNumbers = nil, []string{plantedNumber}
			options.DryRun = true
			would, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			options.DryRun = false
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Equal(t, would.Left(), report.Left(), "a dry run says what will be left")
			require.Equal(t, test.state, report.State)
			require.Equal(t, map[string]int64{"students": 1}, report.RowsRemoved)
			left := readWorld(t, store, "night")["students"]
			require.Len(t, left, 1)
			require.Equal(t, "x", left[0]["student_bid"])
			require.NotContains(t, left[0], "_extra")
			if test.state == maintenance.PurgeIncomplete {
				require.Equal(t, map[string]int64{"students.student_id": 1}, report.Verification.RowsMentioning)
				_, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
				var hasBid *maintenance.HasBidError
				require.ErrorAs(t, err, &hasBid, "only rows with a bid are left")
			}
		})
	}
}

// TestPurgeNumberWithBid expects a refusal to erase by number, in either list, if only rows with a bid hold the number.
// Nothing changes, not even the suppression list, and the error does not contain the number.
func TestPurgeNumberWithBid(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	world := map[string][]snapshottest.Record{"students": {
		{"student_bid": "x", "student_id": plantedNumber, "requested_school_bid": snapshottest.Stays},
		{"student_bid": "y", "student_id": "y", "requested_school_bid": snapshottest.Stays},
		{"student_id": "88002", "requested_school_bid": snapshottest.Stays},
	}}
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("students"))
	snapshottest.PublishRun(t, store, "night")
	before := snapshottest.Tree(t, root)
	options := studentOptions(testKey(t, "a7c3"))
	for _, lists := range [][2][]string{{{"y", plantedNumber}, nil}, {nil, {"88002", plantedNumber}}} {
		for _, dryRun := range []bool{true, false} {
			options.Students, options.StudentNumbers, options.DryRun, options.AllowUnknown = lists[0], lists[1], dryRun, true
			_, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			var hasBid *maintenance.HasBidError
			require.ErrorAs(t, err, &hasBid)
			require.Equal(t, []string{plantedNumber}, hasBid.Numbers)
			require.NotContains(t, err.Error(), plantedNumber)
			require.Equal(t, before, snapshottest.Tree(t, root))
		}
	}
}

// TestPurgeWrongColumn expects lists that were made from the wrong column, such as last names or the bids of schools,
// to be refused as a whole, because rows without a bid mention these values. Ids of students without a bid, and
// mentions in _extra, are erased.
func TestPurgeWrongColumn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	world := map[string][]snapshottest.Record{"students": {
		{"student_bid": "x", "last_name": "Moore"},
		{"student_id": "88002", "last_name": "Moore"},
		{"student_id": "88003", "last_name": "Stone", "_extra": `{"id":"mentioned","teacher":{"firstName":"Only","lastName":"Moore"},"nickName":"Extra","lastName":"Name"}`},
		{"student_bid": "y", "first_name": "Only", "last_name": "mentioned"},
	}}
	for _, r := range world["students"] {
		r["requested_school_bid"] = snapshottest.Stays
	}
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("students"))
	snapshottest.PublishRun(t, store, "night")
	require.NoError(t, foldHistory(t, false)(t.Context(), store))
	before := snapshottest.Tree(t, root)
	for name, test := range map[string]struct {
		bids, numbers, wrong, columns []string
	}{
		"a last name":                {bids: []string{"Moore"}, wrong: []string{"Moore"}, columns: []string{"students.last_name"}},
		"a last name among bids":     {bids: []string{"x", "Moore", "nobody"}, wrong: []string{"Moore"}, columns: []string{"students.last_name"}},
		"only rows with a bid":       {bids: []string{"Only"}, wrong: []string{"Only"}, columns: []string{"students.first_name"}},
		"the bid of a school":        {bids: []string{snapshottest.Stays}, wrong: []string{snapshottest.Stays}, columns: []string{"coverage.requested_school_bid", "students.requested_school_bid"}},
		"a last name among numbers":  {numbers: []string{"88002", "Moore"}, wrong: []string{"Moore"}, columns: []string{"students.last_name"}},
		"a bid among numbers":        {numbers: []string{"88002", "x"}, wrong: []string{"x"}, columns: []string{"students.student_bid"}},
		"numbers":                    {numbers: []string{"88002", "mentioned"}},
		"only in _extra":             {bids: []string{"mentioned", "Extra", "Name"}},
		"a bid, a number, a mention": {bids: []string{"x", "88003", "mentioned"}},
	} {
		for _, dryRun := range []bool{true, false} {
			if !dryRun && test.wrong == nil {
				continue // it would change the destination for the others
			}
			for _, key := range []*privacy.Key{nil, testKey(t, "a7c3")} {
				options := studentOptions(key)
				options.Students, options.StudentNumbers, options.DryRun, options.AllowUnknown = test.bids, test.numbers, dryRun, true
				_, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
				if test.wrong == nil {
					require.NoError(t, err, name)
				} else {
					var notID *maintenance.NotIDError
					require.ErrorAs(t, err, &notID, name)
					require.Equal(t, test.wrong, notID.Listed, name)
					require.Equal(t, test.columns, notID.Columns, name)
					require.NotContains(t, err.Error(), test.wrong[0], name)
				}
				require.Equal(t, before, snapshottest.Tree(t, root), name)
			}
		}
	}
}

// TestPurgeSharedNumber expects a count of the rows without a bid that a purge finds only by a number, in snapshots and
// in the history, and of the students who have the number. A row that mentions the bid is not found only by a number.
func TestPurgeSharedNumber(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bid      string
		rows     int64
		students int
	}{
		"a placeholder": {"x", 2 * 2, 3}, "an own number": {"own", 1 * 2, 0}, "no rows without a bid": {"alone", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			world := map[string][]snapshottest.Record{"student_school_associations": {
				{"student_bid": "x", "district_student_id": "12"},
				{"student_bid": "y", "district_student_id": "12"},
				{"student_bid": "z", "state_student_id": "12"},
				{"state_student_id": "12", "last_name": "One"},
				{"district_student_id": "12", "last_name": "Two"},
				{"state_student_id": "12", "_extra": `{"id":"x"}`},
				{"student_bid": "own", "state_student_id": "7001"},
				{"state_student_id": "7001"},
				{"student_bid": "alone", "state_student_id": "7002"},
			}}
			for i, r := range world["student_school_associations"] {
				r["requested_school_bid"], r["requested_perspective_bid"] = snapshottest.Stays, snapshottest.Stays
				r["student_school_association_bid"] = string(rune('a' + i))
			}
			snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("student_school_associations"))
			snapshottest.PublishRun(t, store, "night")
			require.NoError(t, foldHistory(t, false)(t.Context(), store))
			options := studentOptions(nil)
			options.Students = []string{test.bid}
			for _, dryRun := range []bool{true, false} {
				options.DryRun = dryRun
				report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
				require.NoError(t, err)
				require.Equal(t, test.rows, report.RowsByNumber)
				require.Equal(t, test.students, report.NumberStudents)
				require.Equal(t, 1, report.FilesRewritten, "a file that is rewritten twice counts once")
				require.Equal(t, 1, report.Runs[0].FilesRewritten())
				if !dryRun {
					proof, _, err := snapshot.ReadDocument[maintenance.PurgeReport](t.Context(), snapshot.At(store), maintenance.PurgePath(report.ID))
					require.NoError(t, err)
					require.Equal(t, test.rows, proof.RowsByNumber)
				}
			}
		})
	}
}

// TestPurgeTrimsStudents erases students whose lines in the list end with a space, unless their bids end with it too.
func TestPurgeTrimsStudents(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	world := map[string][]snapshottest.Record{"students": {
		{"student_bid": "x"}, {"student_bid": "y"}, {"student_bid": "y "}, {"student_bid": "z"},
	}}
	for _, r := range world["students"] {
		r["requested_school_bid"] = snapshottest.Stays
	}
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("students"))
	snapshottest.PublishRun(t, store, "night")
	options := studentOptions(testKey(t, "a7c3"))
	options.Students = []string{"\ufeffx\t", "y ", "nobody "}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, 2, *report.Asked.Students.Matched)
	require.Equal(t, []string{"nobody"}, report.Unmatched)
	var left []string
	for _, r := range readWorld(t, store, "night")["students"] {
		left = append(left, r["student_bid"])
	}
	require.ElementsMatch(t, []string{"y", "z"}, left)
	trimmed := []string{"x\u00a0", "y ", " nobody\r"}
	found, err := maintenance.Unsuppress(t.Context(), snapshot.At(store), options.Key, trimmed, false, true)
	require.NoError(t, err)
	require.Equal(t, 3, found.Students)
	require.Zero(t, found.NotFound)
}

// TestPurgeOtherNumbers erases rows with another number of the child, if a row without a bid holds both in columns for numbers.
// The number of a child who only mentions the first one is not searched for.
func TestPurgeOtherNumbers(t *testing.T) {
	t.Parallel()
	const state, sibling = "S-4400", "88002"
	world := map[string][]snapshottest.Record{"student_school_associations": {
		{"district_student_id": plantedNumber, "state_student_id": state, "last_name": plantedName},
		{"state_student_id": state, "last_name": plantedName},
		{"_extra": `{"number":"` + state + `"}`, "last_name": plantedName},
		{"district_student_id": sibling, "_extra": `{"sibling":"` + state + `"}`, "last_name": plantedName},
		{"district_student_id": sibling},
		{"district_student_id": sibling, "state_student_id": "0"},
		{"state_student_id": "0"},
	}}
	for i, r := range world["student_school_associations"] {
		r["requested_school_bid"], r["requested_perspective_bid"] = snapshottest.Stays, snapshottest.Stays
		r["student_school_association_bid"] = string(rune('a' + i))
	}
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("student_school_associations"))
	snapshottest.PublishRun(t, store, "night")
	options := studentOptions(nil)
	options.Students, options.StudentNumbers = nil, []string{plantedNumber}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, maintenance.PurgeDone, report.State)
	require.Equal(t, 1, *report.Asked.Students.Matched)
	require.ElementsMatch(t, world["student_school_associations"][4:], readWorld(t, store, "night")["student_school_associations"])
}
