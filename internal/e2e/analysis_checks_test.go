package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChecksOfUnreadSchools checks that the view of checks leaves out the rows that a history keeps of schools that were
// not read for the newest snapshot: of their results, and of the rosters and terms that the results are compared with.
func TestChecksOfUnreadSchools(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	versions := map[string][]version{"students": nil, "enrollment_sessions": nil}
	unread := map[string]string{"results denied": "test_results", "roster denied": "students", "terms denied": "academic_years"}
	for _, school := range []string{"read", "results denied", "roster denied", "terms denied"} {
		versions["test_results"] = append(versions["test_results"], result(school, school, "nobody", "fall", "2024-08-20", 200).of(day1, never, ""))
		for _, dataset := range []string{"students", "test_results", "academic_years"} {
			covered := version{"dataset": dataset, "requested_school_bid": school, "status": "ok"}
			if unread[school] == dataset {
				versions["coverage"] = append(versions["coverage"], covered.of(day1, day2, "changed"), covered.of(day2, never, "", "status", "denied"))
			} else {
				versions["coverage"] = append(versions["coverage"], covered.of(day1, never, ""))
			}
		}
	}
	writeHistory(t, dest, versions)
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis"))
	require.Equal(t, [][]any{
		{"older_than_a_year", "read"},
		{"older_than_a_year", "roster denied"},
		{"older_than_a_year", "terms denied"},
		{"unknown_student", "read"},
		{"unknown_student", "terms denied"},
		{"unknown_term", "read"},
		{"unknown_term", "roster denied"},
	}, d.query("SELECT check_name, school_bid FROM analysis_checks ORDER BY ALL"))
}

// TestChecksOfARun compares the view of checks with the checks of a run that finds all of them.
func TestChecksOfARun(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	execute(t, growthExport, "run", "--simulate", "--simulate-break", "all", "--simulate-date", "2026-11-27", "--snapshot-date", "2026-11-27", "--backdate", "--dest", dest, "--history", "--progress", "none")
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	want := d.query(`SELECT c."check", c.count FROM (SELECT unnest(checks) AS c FROM read_json(` + literal(dest+"/_runs/*/manifest.json") + `))
		WHERE c."check" <> 'page_size' ORDER BY ALL`)
	require.Len(t, want, 6)
	for schema, flags := range map[string][]string{"snapshot": {}, "history": {"--history"}} {
		d.exec(execute(t, growthExport, append([]string{"sql", "--dest", dest, "--views", "analysis", "--schema", schema}, flags...)...))
		require.Equal(t, want, d.query("SELECT check_name, CAST(sum(found) AS BIGINT) FROM "+schema+".analysis_checks GROUP BY ALL ORDER BY ALL"), schema)
	}
}
