package maintenance_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// The students that tests of purges use. Two of the listed students have rows.
const (
	goneStudent  = "student-that-goes"
	goneToo      = "student-that-goes-too"
	staysStudent = "student-that-stays"
	noStudent    = "student-of-no-row"
)

func listedStudents() []string { return []string{goneToo, noStudent, goneStudent, goneStudent} }

// studentDatasets returns the datasets of studentWorld: all with a student in some column, and the lists that they need.
func studentDatasets() []string {
	return []string{
		"schools", "students", "student_details", "test_results", "student_school_associations", "school_classes",
		"school_class_details", "student_school_classes",
	}
}

// studentWorld returns rows about the students in every table that can hold them. write returns the form in which rows
// hold a bid.
func studentWorld(night int, write func(string) string) map[string][]snapshottest.Record {
	world := map[string][]snapshottest.Record{"schools": snapshottest.PurgeWorld()["schools"]}
	add := func(table string, r snapshottest.Record) {
		if slices.ContainsFunc(mustTable(table).Columns, func(c schemas.Column) bool { return c.Name == "requested_perspective_bid" }) {
			r["requested_perspective_bid"] = snapshottest.StaysToo
		}
		r["requested_school_bid"] = snapshottest.Stays
		world[table] = append(world[table], r)
	}
	for _, student := range []string{goneStudent, goneToo, staysStudent, ""} {
		bid := snapshottest.Record{"student_bid": write(student)}
		name := student
		if student == "" {
			bid, name = snapshottest.Record{}, "nobody"
		}
		add("students", maps.Clone(bid))
		add("student_school_associations", with(bid, "student_school_association_bid", "association of "+name[len(name)-4:]))
		result := "result " + name[len(name)-4:]
		add("test_results", with(bid, "test_result_bid", result))
		add("school_class_students", with(bid, "school_class_bid", "class"))
		for _, table := range []string{"test_result_norms", "test_result_instructional_areas"} {
			add(table, snapshottest.Record{"test_result_bid": result})
			add(table, snapshottest.Record{"test_result_bid": result})
		}
		if student != "" {
			add("student_details", snapshottest.Record{"requested_student_bid": write(student)})
			add("student_school_classes", snapshottest.Record{"requested_student_bid": write(student), "school_class_bid": "class"})
		}
	}
	add("school_classes", snapshottest.Record{"school_class_bid": "class"})
	add("school_class_educators", snapshottest.Record{"school_class_bid": "class", "educator_bid": "educator"})
	for class, extra := range map[string]string{
		"roster":  fmt.Sprintf(`{"students":[{"studentBid":%q,"seat":%d},{"studentBid":%q}]}`, goneStudent, night, staysStudent),
		"nested":  fmt.Sprintf(`{"groups":{%q:[%d]}}`, goneToo, night/2),
		"others":  fmt.Sprintf(`{"students":[{"studentBid":%q,"seat":%d}]}`, staysStudent, night),
		"no more": map[bool]string{true: fmt.Sprintf(`{"students":[%q]}`, goneStudent), false: ""}[night == 0],
	} {
		r := snapshottest.Record{"requested_school_class_bid": class, "class_name": "name of " + class, "_extra": extra}
		if extra == "" || write(goneStudent) != goneStudent {
			delete(r, "_extra") // no profile keeps it
		}
		add("school_class_details", r)
	}
	return world
}

func with(r snapshottest.Record, column, value string) snapshottest.Record {
	r = maps.Clone(r)
	r[column] = value
	return r
}

func mustTable(name string) *schemas.Table {
	table, _, ok := schemas.FindTable(name)
	if !ok {
		panic(name)
	}
	return table
}

// withoutStudents returns the rows that are left after a purge.
func withoutStudents(world map[string][]snapshottest.Record, gone ...string) map[string][]snapshottest.Record {
	left := make(map[string][]snapshottest.Record)
	results := make(map[string]bool)
	goes := func(r snapshottest.Record) bool {
		return slices.Contains(gone, r["student_bid"]) || slices.Contains(gone, r["requested_student_bid"])
	}
	for _, r := range world["test_results"] {
		results[r["test_result_bid"]] = goes(r)
	}
	for table, records := range world {
		for _, r := range records {
			switch {
			case goes(r) || strings.HasPrefix(table, "test_result_") && results[r["test_result_bid"]]:
				continue
			case table == "school_class_details" && slices.ContainsFunc(gone, func(bid string) bool { return strings.Contains(r["_extra"], `"`+bid+`"`) }):
				r = maps.Clone(r)
				delete(r, "_extra")
			}
			left[table] = append(left[table], r)
		}
	}
	return left
}

// studentSite publishes three nights, of which the history is folded, an as-of run and a delta run.
func studentSite(t *testing.T, store sink.Store, write func(string) string, edit ...func(*snapshot.Plan)) {
	t.Helper()
	publish := func(run string, night int, more ...func(*snapshot.Plan)) {
		more = append(slices.Clone(edit), append(more, func(p *snapshot.Plan) { p.Scope.Datasets = slices.Clone(p.Scope.Datasets) })...)
		snapshottest.StageWorld(t, store, run, studentWorld(night, write), append([]func(*snapshot.Plan){snapshottest.Datasets(studentDatasets()...)}, more...)...)
		snapshottest.PublishRun(t, store, run)
	}
	for night, date := range []string{"2026-11-18", "2026-11-19", "2026-11-20"} {
		publish(fmt.Sprintf("night-%d", night), night, snapshottest.OnDate(date))
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
	}
	publish("as-of", 1, func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-09-01" })
	publish("delta", 1, func(p *snapshot.Plan) { p.Kind = snapshot.Delta })
}

func studentOptions(key *privacy.Key) maintenance.PurgeOptions {
	return maintenance.PurgeOptions{Students: listedStudents(), Key: key, Now: snapshottest.PublishedAt, ToolVersion: "1.0.0", Workspace: workspace}
}

func testKey(t *testing.T, text string) *privacy.Key {
	t.Helper()
	key, err := privacy.ParseKey(strings.Repeat(text+"00112233445566778899aabb", 3))
	require.NoError(t, err)
	return key
}

func asWritten(bid string) string { return bid }

// TestPurgeStudents expects a purge to remove exactly the rows about the students, from every kind of run and the
// history, and to write nothing that identifies them.
func TestPurgeStudents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"without pseudonyms", "under a key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			write, edit, key := asWritten, func(*snapshot.Plan) {}, (*privacy.Key)(nil)
			if name == "under a key" {
				key = testKey(t, "a7c3")
				write = func(bid string) string { return key.Pseudonym("student", bid) }
				edit = func(p *snapshot.Plan) { p.Scope.PrivacyKey = key.Fingerprint() }
			}
			studentSite(t, store, write, edit)
			before := snapshottest.Tree(t, root)
			if key != nil {
				var needed *maintenance.KeyNeededError
				for _, other := range []*privacy.Key{nil, testKey(t, "b8d4")} {
					_, err := maintenance.Purge(t.Context(), snapshot.At(store), studentOptions(other))
					require.ErrorAs(t, err, &needed)
					require.Equal(t, []string{key.Fingerprint()}, needed.Fingerprints)
				}
				require.Equal(t, before, snapshottest.Tree(t, root))
			}
			options := studentOptions(key)
			options.DryRun = true
			would, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Equal(t, before, snapshottest.Tree(t, root), "a dry run changes nothing")
			options.DryRun = false
			report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Equal(t, would.RowsRemoved, report.RowsRemoved)
			require.Equal(t, would.ExtraRemoved, report.ExtraRemoved)
			require.Equal(t, would.History.RowsRemoved, report.History.RowsRemoved)
			require.Equal(t, would.History.ExtraRemoved, report.History.ExtraRemoved)
			require.Equal(t, 3, report.Asked.Students.Listed)
			require.Equal(t, 2, *report.Asked.Students.Matched)
			require.Empty(t, report.Unknown)
			require.Zero(t, report.Verification.RowsFound)
			require.Empty(t, report.Verification.RowsMentioning)
			if key == nil {
				require.Equal(t, map[string]int64{"school_class_details": 2 + 2 + 2 + 1 + 2 + 2}, report.ExtraRemoved)
			}

			for run, night := range map[string]int{"night-0": 0, "night-1": 1, "night-2": 2, "as-of": 1, "delta": 1} {
				snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: run})
				want, got := withoutStudents(studentWorld(night, write), write(goneStudent), write(goneToo)), readWorld(t, store, run)
				for _, table := range slices.Sorted(maps.Keys(want)) {
					require.ElementsMatch(t, want[table], got[table], "%s of %s", table, run)
				}
				require.Len(t, got, len(want))
			}
			requireNoBytes(t, root, goneStudent, goneToo, noStudent, write(goneStudent), write(goneToo))
			for path, text := range snapshottest.Tree(t, root) {
				require.NotContains(t, text, "student-that-goes", path) // the proof included
			}
			if name == "without pseudonyms" {
				requireRewrittenLikeNew(t, store, "night-2")
			}

			got := versions(t, store)
			after := snapshottest.Tree(t, root)
			again, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			if key == nil { // Without a digest, the proof is not recognized as a proof of this list.
				require.Empty(t, would.Asked.Students.Digest)
				require.Empty(t, report.Asked.Students.Digest)
				var unknown *maintenance.UnknownBidsError
				require.ErrorAs(t, err, &unknown)
			} else {
				require.NoError(t, err)
				require.True(t, again.Nothing())
				require.Equal(t, report.ID, again.Earlier.ID)
			}
			require.Equal(t, after, snapshottest.Tree(t, root))
			require.NoError(t, foldHistory(t, true)(t.Context(), store))
			require.Equal(t, versions(t, store), got, "a rebuilt history has the same rows")
		})
	}
}

// TestPurgeUnknownStudents checks that nothing is done if none of the students occurs, and that the error does not
// identify any of them.
func TestPurgeUnknownStudents(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Planned(time.Hour))
	before := snapshottest.Tree(t, root)
	var unknown *maintenance.UnknownBidsError
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), studentOptions(nil))
	require.ErrorAs(t, err, &unknown)
	require.ErrorContains(t, err, "no listed student (3 listed)")
	require.Equal(t, before, snapshottest.Tree(t, root))

	options := studentOptions(nil)
	options.AllowUnknown = true
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, []string{"staged"}, report.DroppedRuns, "the contents of its staged files are unknown")
	require.Empty(t, report.Runs)
	require.Zero(t, *report.Asked.Students.Matched)
}

// TestPurgeStudentsOfTwoKeys checks that the runs with the given key are purged, and that the report says which runs
// are left.
func TestPurgeStudentsOfTwoKeys(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	old, current := testKey(t, "a7c3"), testKey(t, "b8d4")
	for run, key := range map[string]*privacy.Key{snapshottest.EarlierRun: old, snapshottest.LatestRun: current} {
		world := studentWorld(0, func(bid string) string { return key.Pseudonym("student", bid) })
		edit := []func(*snapshot.Plan){snapshottest.Datasets("schools", "students"), func(p *snapshot.Plan) { p.Scope.PrivacyKey = key.Fingerprint() }}
		if key == old {
			edit = append(edit, snapshottest.OnDate(snapshottest.EarlierDate))
		}
		snapshottest.StageWorld(t, store, run, world, edit...)
		snapshottest.PublishRun(t, store, run)
	}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), studentOptions(current))
	require.NoError(t, err)
	require.Len(t, report.Runs, 1)
	require.Contains(t, strings.Join(report.NotReached, "\n"), "fingerprint "+old.Fingerprint()+": purge with that key too, unless you already have")
	report, err = maintenance.Purge(t.Context(), snapshot.At(store), studentOptions(old))
	require.NoError(t, err)
	require.Len(t, report.Runs, 1)
	for run, key := range map[string]*privacy.Key{snapshottest.EarlierRun: old, snapshottest.LatestRun: current} {
		require.Len(t, readWorld(t, store, run)["students"], 2, key.Fingerprint())
	}
}

// TestPurgeRefusesWhileOthersWork expects a refusal while a process works on any shard of any run, even a run without
// purged rows.
func TestPurgeRefusesWhileOthersWork(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.PublishWorld(t, store, snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate), snapshottest.Datasets("schools"))
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun)
	_, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.NewPlan("only-planned", snapshottest.Few))
	require.NoError(t, err)
	before := snapshottest.Tree(t, root)
	students := studentOptions(nil)
	students.Students = []string{"a of " + snapshottest.Gone}
	for _, options := range []maintenance.PurgeOptions{students, purgeOptions([]string{snapshottest.Gone}, nil)} {
		for _, run := range []string{"only-planned", snapshottest.EarlierRun, snapshottest.LatestRun} {
			for _, shard := range [][2]int{{0, 1}, {100, 256}} {
				release, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunShared(t.Context(), run, shard[0], shard[1])
				require.NoError(t, err)
				_, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
				var refused *snapshot.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Reason, "run "+run+" is held by process")
				require.NoError(t, release())
				require.Equal(t, before, snapshottest.Tree(t, root))
			}
		}
	}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), students)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"students": 1}, report.RowsRemoved)
	require.NoDirExists(t, root+"/_staging")
}

// goneNumber is the number of a child without a bid, which is in both nights of studentNights.
const goneNumber = "number-that-goes"

// studentNights publishes and folds two nights, and leaves a run staged.
func studentNights(t *testing.T, store sink.Store) {
	t.Helper()
	for night, date := range []string{snapshottest.EarlierDate, snapshottest.Today} {
		world := studentWorld(night, asWritten)
		world["test_results"] = append(world["test_results"], snapshottest.Record{
			"requested_school_bid": snapshottest.Stays, "test_result_bid": "result by number", "_extra": fmt.Sprintf(`{"studentNumber":%q,"night":%d}`, goneNumber, night),
		})
		world["school_class_details"] = append(world["school_class_details"], snapshottest.Record{
			"requested_school_bid": snapshottest.Stays, "requested_perspective_bid": snapshottest.StaysToo, "requested_school_class_bid": "by number",
			"_extra": fmt.Sprintf(`{"students":[%q,%q]}`, goneNumber, staysStudent),
		})
		snapshottest.StageWorld(t, store, "run-"+date, world, snapshottest.Datasets("schools", "test_results", "school_class_details"), snapshottest.OnDate(date))
		snapshottest.PublishRun(t, store, "run-"+date)
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
	}
	snapshottest.StageWorld(t, store, "staged", studentWorld(0, asWritten), snapshottest.Datasets("schools"), snapshottest.Planned(time.Hour))
}

// listedPurges returns purges of the students of studentNights, by bid and by number.
func listedPurges(t *testing.T) map[string]maintenance.PurgeOptions {
	t.Helper()
	byBid := studentOptions(testKey(t, "a7c3")) // the digest in the proof is the same each time
	byNumber := byBid
	byNumber.Students, byNumber.StudentNumbers = nil, []string{goneNumber}
	return map[string]maintenance.PurgeOptions{"purge of students": byBid, "purge of student numbers": byNumber}
}

// studentKills kills purges of students.
func studentKills(t *testing.T) []killTest {
	t.Helper()
	var tests []killTest
	for name, options := range listedPurges(t) {
		purge := func(ctx context.Context, store sink.Store) error {
			report, err := maintenance.Purge(ctx, snapshot.At(store), options)
			if err == nil && report.Verification != nil && report.State != maintenance.PurgeDone {
				err = fmt.Errorf("the purge is %s", report.State)
			}
			return err
		}
		tests = append(tests, killTest{name, studentNights, purge, []command{purge, snapshottest.FinishAll, pruneTo(100)}, true})
	}
	return tests
}
