package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestPrivacyProfiles reads one world under each profile and two keys with DuckDB.
func TestPrivacyProfiles(t *testing.T) {
	t.Parallel()
	keys := map[string]string{
		"pseudonymous": strings.Repeat("00112233445566778899aabbccddeeff", 2), "minimal": strings.Repeat("00112233445566778899aabbccddeeff", 2), "other": strings.Repeat("ffeeddccbbaa99887766554433221100", 2),
	}
	profiles := map[string]string{"clear": "full", "pseudonymous": "pseudonymous", "minimal": "minimal", "other": "pseudonymous"}
	d := newDuck(t)
	for name, profile := range profiles {
		dest := filepath.Join(t.TempDir(), name)
		execute(t, "env", "GROWTH_EXPORT_PRIVACY_KEY="+keys[name], growthExport, "run", "--simulate", "--simulate-results", "1500",
			"--datasets", "all", "--dest", dest, "--privacy", profile, "--progress", "none")
		d.exec("CREATE SCHEMA " + name)
		for _, table := range allTables() {
			d.exec(fmt.Sprintf("CREATE TABLE %s.%s AS FROM read_parquet(%s)", name, table.Name, literal(dest+"/"+table.Name+"/*/*.parquet")))
		}
		if name != "other" {
			testProfileAnalysis(t, dest, schemas.Profile(profile))
		}
	}
	testProfileColumns(t, d, profiles, keys)
	testProfileJoins(t, d, profiles)
}

// testProfileAnalysis queries the views for analysts and runs the analysts' questions, on a snapshot with its history.
func testProfileAnalysis(t *testing.T, dest string, profile schemas.Profile) {
	t.Helper()
	execute(t, growthExport, "history", "--dest", dest)
	page, err := os.ReadFile(filepath.Join(repository, "examples", "questions", "README.md"))
	require.NoError(t, err)
	for count, args := range map[int][]string{17: nil, 18: {"--history"}} {
		d := newDuck(t)
		d.db.SetMaxOpenConns(1)
		d.exec(execute(t, growthExport, append([]string{"sql", "--dest", dest, "--views", "analysis"}, args...)...))
		views := d.query("SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'analysis_%'")
		require.Len(t, views, count)
		for _, view := range views {
			d.query(fmt.Sprintf("FROM %s LIMIT 1000", view[0]))
		}
		require.NotZero(t, d.one("SELECT count(*) FROM analysis_rosters JOIN analysis_results USING (student_bid)"))
		names := d.one("SELECT count(first_name) + count(last_name) FROM analysis_students")
		require.Equal(t, profile == "full", names != int64(0), profile)
		if args == nil {
			continue
		}
		questions := regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindAllStringSubmatch(theQuestions(t, page), -1)
		require.Len(t, questions, 14)
		answered := 0
		for _, question := range questions {
			if len(d.query(question[1])) > 0 {
				answered++
			}
		}
		require.GreaterOrEqual(t, answered, 6, "one snapshot has neither growth nor changes")
	}
}

// testProfileColumns compares every column with the full profile's. Rows are compared without the columns that a profile
// changes.
func testProfileColumns(t *testing.T, d *duck, profiles, keys map[string]string) {
	t.Helper()
	pseudonyms := make(map[string]string) // to the key
	for name, profile := range profiles {
		if name == "clear" {
			continue
		}
		raw, err := hex.DecodeString(keys[name])
		require.NoError(t, err)
		for _, table := range allTables() {
			var kept []string
			for i := range table.Columns {
				c := &table.Columns[i]
				in := func(schema string) string { return fmt.Sprintf("%s.%s", schema, table.Name) }
				switch c.Under(schemas.Profile(profile)) {
				case schemas.Keep:
					kept = append(kept, c.Name)
				case schemas.Withhold:
					require.EqualValues(t, 0, d.one(fmt.Sprintf("SELECT count(%s) FROM %s", c.Name, in(name))), "%s.%s", in(name), c.Name)
				case schemas.YearOnly:
					count := "SELECT year(%[1]s), count(*) FROM %[2]s GROUP BY ALL ORDER BY ALL"
					require.Equal(t, d.query(fmt.Sprintf(count, c.Name, in("clear"))), d.query(fmt.Sprintf(count, c.Name, in(name))))
					require.EqualValues(t, 0, d.one(fmt.Sprintf("SELECT count(*) FROM %s WHERE strftime(%s, '%%m-%%d') <> '01-01'", in(name), c.Name)))
				case schemas.MonthOnly, schemas.DayOnly:
					part := map[schemas.Treatment]string{schemas.MonthOnly: "month", schemas.DayOnly: "day"}[c.Under(schemas.Profile(profile))]
					count := "SELECT %[1]s, count(*) FROM %[2]s GROUP BY ALL ORDER BY ALL"
					truncated := fmt.Sprintf("date_trunc('%s', %s)", part, inUTC(c))
					require.Equal(t, d.query(fmt.Sprintf(count, truncated, in("clear"))), d.query(fmt.Sprintf(count, inUTC(c), in(name))))
				case schemas.Pseudonymize:
					values := "SELECT DISTINCT %[1]s FROM %[2]s WHERE %[1]s IS NOT NULL"
					want, got := make(map[string]bool), make(map[string]bool)
					for _, row := range d.query(fmt.Sprintf(values, c.Name, in("clear"))) {
						mac := hmac.New(sha256.New, raw)
						fmt.Fprintf(mac, "%s\x00%s", c.PseudonymKind(), row[0])
						want[hex.EncodeToString(mac.Sum(nil)[:16])] = true
					}
					for _, row := range d.query(fmt.Sprintf(values, c.Name, in(name))) {
						value, ok := row[0].(string)
						require.True(t, ok)
						got[value] = true
						require.Contains(t, []string{"", keys[name]}, pseudonyms[value], "two keys have this pseudonym")
						pseudonyms[value] = keys[name]
					}
					require.Equal(t, want, got, "%s.%s", in(name), c.Name)
				}
			}
			columns := strings.Join(kept, ", ")
			for _, pair := range [][2]string{{name, "clear"}, {"clear", name}} {
				require.EqualValues(t, 0, d.one(fmt.Sprintf("SELECT count(*) FROM (SELECT %[1]s FROM %[2]s.%[4]s EXCEPT ALL SELECT %[1]s FROM %[3]s.%[4]s)",
					columns, pair[0], pair[1], table.Name)), "%s of %s is not in %s", table.Name, pair[0], pair[1])
			}
		}
	}
	require.Greater(t, len(pseudonyms), 5000)
}

// inUTC returns a date or timestamp as a timestamp without a zone.
func inUTC(c *schemas.Column) string {
	if c.Type == schemas.Date {
		return c.Name + "::TIMESTAMP"
	}
	return "(" + c.Name + " AT TIME ZONE 'UTC')"
}

// testProfileJoins counts the rows of every join that the data dictionary lists, and of the numbers of students, which
// the state and the district may share.
func testProfileJoins(t *testing.T, d *duck, profiles map[string]string) {
	t.Helper()
	dictionary, err := os.ReadFile(filepath.Join(repository, "schemas", "generated", "data-dictionary.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(dictionary), "## Join map")
	require.True(t, found)
	var joins []string
	for _, line := range regexp.MustCompile("(?m)^\\| (\\w+) \\| (\\w+) \\| (`.*`) \\| [^|]+ \\| [^|]*\\|$").FindAllStringSubmatch(text, -1) {
		var on []string
		for pair := range strings.SplitSeq(strings.ReplaceAll(line[3], "`", ""), ", ") {
			left, right, differ := strings.Cut(pair, " = ")
			if !differ {
				right = left
			}
			on = append(on, "a."+left+" = b."+right)
		}
		joins = append(joins, fmt.Sprintf("%%[1]s.%s a JOIN %%[1]s.%s b ON %s", line[1], line[2], strings.Join(on, " AND ")))
	}
	require.Greater(t, len(joins), 15)
	joins = append(joins,
		"%[1]s.students a JOIN %[1]s.student_school_associations b ON a.student_id = b.state_student_id",
		"%[1]s.student_details a JOIN %[1]s.student_school_associations b ON a.state_student_id = b.district_student_id")
	empty := 0
	for _, join := range joins {
		count := func(name string) any { return d.one("SELECT count(*) FROM " + fmt.Sprintf(join, name)) }
		for name := range profiles {
			require.Equal(t, count("clear"), count(name), "%s: %s", name, join)
		}
		if count("clear") == int64(0) {
			empty++
		}
	}
	require.LessOrEqual(t, empty, 2)
}
