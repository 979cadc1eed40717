package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestViewsOfUnreadSchools checks the views for analysts, and questions, after a night on which a school was denied: the
// rows of schools that were read equal the snapshot's, and no student is counted twice.
func TestViewsOfUnreadSchools(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	for _, night := range []string{"2026-02-13", "2026-05-23"} { // a school is denied on the second
		execute(t, growthExport, "run", "--simulate", "--simulate-results", "6000", "--simulate-date", night, "--snapshot-date", night, "--backdate", "--history",
			"--progress", "none", "--dest", dest)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--views", "analysis", "--schema", "snapshot"))
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--views", "analysis", "--schema", "history", "--history"))

	for _, view := range []string{"students", "classes", "class_educators", "rosters", "results"} {
		ofSnapshot, ofHistory := "FROM snapshot.analysis_"+view, "FROM history.analysis_"+view+" WHERE school_read"
		if view == "students" { // who may also be on the last known roster of another school
			ofSnapshot, ofHistory = "SELECT * EXCLUDE schools "+ofSnapshot, "SELECT * EXCLUDE schools "+ofHistory
		}
		require.NotZero(t, d.one("SELECT count(*) FROM history.analysis_"+view+" WHERE NOT school_read"), view)
		require.Zero(t, d.one("SELECT count(*) FROM snapshot.analysis_"+view+" WHERE school_read IS NOT true"), view)
		require.Empty(t, d.query(ofSnapshot+" EXCEPT ALL "+ofHistory), view)
		require.Empty(t, d.query(ofHistory+" EXCEPT ALL "+ofSnapshot), view)
	}
	twice := "SELECT student_bid, subject_area FROM %s GROUP BY ALL HAVING count(*) > 1"
	require.NotEmpty(t, d.query(strings.Replace(twice, "%s", "history.test_results_current", 1)), "a student left the denied school")
	require.Empty(t, d.query(strings.Replace(twice, "%s", "history.analysis_results", 1)))

	page, err := os.ReadFile(filepath.Join(repository, "examples", "questions", "README.md"))
	require.NoError(t, err)
	questions := regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindAllStringSubmatch(theQuestions(t, page), -1)
	for _, number := range []int{2, 3, 4, 7, 8} {
		query := questions[number-1][1]
		d.exec("USE history")
		got := d.query(query)
		d.exec("USE snapshot")
		query = regexp.MustCompile(`\n[^\n]*coverage_current[^\n]*`).ReplaceAllString(query, "")
		require.Equal(t, d.query(query), got, "question %d", number)
	}
	d.exec("USE history")
	members := strings.Replace(questions[3][1], "classes.school_name,\n", "classes.school_name, max(classes.students) AS members,\n", 1)
	require.Zero(t, d.one("SELECT count(*) FROM ("+members+") WHERE students <> members"))
}

// TestResultsOfUnreadSchools checks which of the last known results of schools that were not read are in the view of
// results, also after a night without results.
func TestResultsOfUnreadSchools(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]string{"newest night": never, "night without results": day3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkUnreadResults(t, until)
		})
	}
}

// checkUnreadResults checks the results of schools whose coverage lasts until a day, on which all become absent.
func checkUnreadResults(t *testing.T, until string) {
	t.Helper()
	dest := filepath.ToSlash(t.TempDir())
	var results, coverage []version
	for _, r := range []version{
		result("read", "r1", "moved", "fall", "2026-08-20", 200),
		result("denied", "r2", "moved", "fall", "2026-08-25", 201), // though it is newer
		result("denied", "r3", "stayed", "fall", "2026-08-20", 202),
		result("denied", "r4", "between denied schools", "fall", "2026-08-20", 203),
		result("also denied", "r5", "between denied schools", "fall", "2026-08-21", 204),
		result("denied", "r6", nil, "fall", "2026-08-20", 205),
		result("denied", "r7", nil, "fall", "2026-08-20", 206),
		result("denied", "r8", "in both", "fall", "2026-08-20", 207).of(day1, never, "", "school_bid", "denied"),
		result("read", "r8", "in both", "fall", "2026-08-20", 208).of(day1, never, "", "school_bid", "denied"),
		result("also denied", "r9", "in both denied", "fall", "2026-08-20", 209).of(day1, never, "", "school_bid", "denied"),
		result("denied", "r9", "in both denied", "fall", "2026-08-20", 210).of(day1, never, "", "school_bid", "denied"),
		result("read", "r10", "twice in a school", "fall", "2026-08-20", 211),
		result("read", "r11", "twice in a school", "fall", "2026-08-21", 212),
	} {
		results = append(results, r.of(day1, never, ""))
	}
	for school, status := range map[string]string{"read": "ok", "denied": "denied", "also denied": "denied"} {
		covered := func(status, from, to string) {
			coverage = append(coverage, version{"dataset": "test_results", "requested_school_bid": school, "status": status}.of(from, to, ""))
		}
		covered("ok", day1, day2)
		covered(status, day2, until)
		if until != never {
			covered("absent", until, never)
		}
	}
	writeHistory(t, dest, map[string][]version{"test_results": results, "coverage": coverage})
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis"))
	require.Equal(t, [][]any{
		{int64(200), true},
		{int64(202), false},
		{int64(204), false},
		{int64(205), false},
		{int64(206), false},
		{int64(208), true},
		{int64(210), false},
		{int64(211), true},
		{int64(212), true},
	}, d.query("SELECT rit, school_read FROM analysis_results ORDER BY ALL"))
}
