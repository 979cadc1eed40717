package e2e

import (
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

var linkageFlag = flag.Int("linkage-results", 600, "number of test results of the world in which records of two recipients are matched")

// TestLinkage measures the share of students who can be matched between two recipients of the same profile with
// different keys, by the values in one of their results or in all of them. docs/PRIVACY.md and `plan --privacy` have
// the figures of `make measure-linkage`.
func TestLinkage(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	matched := make(map[schemas.Profile][]float64)
	columns := []string{
		"administration_start_date_time", "requested_school_bid, subject_area, rit, administration_start_date_time",
		"requested_school_bid, subject_area, rit", "requested_school_bid, grade, subject_area, rit", "duration",
	}
	for _, profile := range schemas.Profiles() {
		for i, key := range []string{"00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"} {
			dest := filepath.Join(t.TempDir(), fmt.Sprintf("%s-%d", profile, i))
			execute(t, "env", "GROWTH_EXPORT_PRIVACY_KEY="+strings.Repeat(key, 2), growthExport, "run", "--simulate", "--progress", "none",
				"--simulate-results", strconv.Itoa(*linkageFlag), "--simulate-schools", "30", "--simulate-date", "2026-11-23", "--snapshot-date", "2026-11-23",
				"--backdate", "--datasets", "students,student_details,test_results", "--privacy", string(profile), "--dest", dest)
			for _, table := range []string{"test_results", "student_details"} {
				d.exec(fmt.Sprintf("CREATE TABLE %s_%s_%d AS FROM read_parquet(%s)", table, profile, i, literal(dest+"/"+table+"/*/*.parquet")))
			}
		}
		students := d.number("SELECT count(DISTINCT student_bid) FROM test_results_" + string(profile) + "_0")
		for _, by := range columns {
			for _, known := range []struct{ of, values, group string }{
				{"one result", "row(%s)", ""}, {"all results", "list_sort(list(row(%s)))", "GROUP BY student_bid"},
			} {
				// These values belong to only one student, in both exports.
				unique := func(i int) string {
					return fmt.Sprintf("(SELECT any_value(student_bid) AS s, k FROM (SELECT student_bid, %s AS k FROM test_results_%s_%d %s) GROUP BY k HAVING count(DISTINCT student_bid) = 1)",
						fmt.Sprintf(known.values, by), profile, i, known.group)
				}
				share := 100 * d.number("SELECT count(DISTINCT a.s) FROM "+unique(0)+" a JOIN "+unique(1)+" b ON a.k = b.k") / students
				matched[profile] = append(matched[profile], share)
				t.Logf("%-12s %5.1f %% of %.0f students by %s of %s", profile, share, students, by, known.of)
			}
		}
		if profile.NeedsKey() {
			require.Zero(t, d.number(fmt.Sprintf("SELECT count(*) FROM test_results_%[1]s_0 a JOIN test_results_%[1]s_1 b USING (student_bid)", profile)))
		}
	}
	cells := "(SELECT count(*) AS n FROM student_details_minimal_0 GROUP BY requested_school_bid, grade)"
	t.Logf("%.1f %% of %.0f cells of a school and grade have fewer than 5 students", 100*d.number("SELECT avg((n < 5)::INT) FROM "+cells), d.number("SELECT count(*) FROM "+cells))
	for i := range columns[:2] { // of one result
		require.Greater(t, matched[schemas.Full][2*i], 99.0, "times to the second single out a student")
		require.Less(t, matched[schemas.Minimal][2*i], matched[schemas.Full][2*i])
	}
}

// number returns the only value of a query.
func (d *duck) number(query string) float64 {
	d.t.Helper()
	switch v := d.one(query).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	default:
		d.t.Fatalf("%s: %v is not a number", query, v)
		return 0
	}
}
