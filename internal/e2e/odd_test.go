package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestOddWorld checks that tables of odd data can be read completely: DuckDB reads every value, every _extra is valid
// JSON, and districts match even if they are long or have characters that paths cannot have.
func TestOddWorld(t *testing.T) {
	t.Parallel()
	s := runExport(t, export{byDistrict: true, args: []string{
		"--simulate-quirks", "--datasets", "all", "--partition-by", "district",
		"--simulate-districts", "26", "--simulate-schools", "26", "--simulate-results", "1000", "--simulate-sizes", "0,1,40",
	}})
	d := newDuck(t)
	replaced, cut := false, false
	for _, table := range schemas.Tables() {
		rows := s.manifest.Tables[table.Name].Rows
		require.Positive(t, rows, table.Name)
		require.Len(t, d.query("SELECT * FROM "+s.files(table)), int(rows), table.Name)
		require.Zero(t, d.one("SELECT count(*) FROM "+s.files(table)+" WHERE NOT json_valid(_extra)"), table.Name)
		replaced = replaced || d.one("SELECT bool_or(contains(_extra, chr(65533))) FROM "+s.files(table)) == true
		if !s.hasDistricts(table) {
			continue
		}
		// A bid too long for a folder name is truncated and ends in its hash.
		const hashed = `'~[0-9a-f]{32}$'`
		require.Zero(t, d.one("SELECT count(*) FROM "+s.files(table)+" AS f JOIN "+s.named("schools")+" AS s ON f.requested_school_bid = s.school_bid"+
			" WHERE f.district <> s.district_bid AND NOT (regexp_matches(f.district, "+hashed+") AND starts_with(s.district_bid, regexp_replace(f.district, "+hashed+", '')))"), table.Name)
		cut = cut || d.one("SELECT bool_or(regexp_matches(district, "+hashed+")) FROM "+s.files(table)) == true
		require.Greater(t, d.one("SELECT count(DISTINCT district) FROM "+s.files(table)), int64(20), table.Name)
	}
	require.True(t, replaced, "lone surrogates occurred")
	require.True(t, cut, "long districts occurred")
	testJoins(t, d, s)
	testEveryView(t, s)
}

// testEveryView checks that DuckDB can compute all values of all views.
func testEveryView(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", s.dest, "--views", "sector"))
	views := d.query("SELECT view_name FROM duckdb_views() WHERE NOT internal")
	require.Greater(t, len(views), 30)
	for _, view := range views {
		d.exec(fmt.Sprintf("CREATE TABLE %[1]s_values AS SELECT * FROM %[1]s", view[0]))
	}
	require.Positive(t, d.one("SELECT count(*) FROM assessment_results_values WHERE concat_ws(' ', TestStandardError, Goal1Range, Goal2Range) LIKE '%E%'"))
}

// testJoins checks the join map of the data dictionary: which joins leave rows without a match, and that a row with an
// identifier matches at most one.
func testJoins(t *testing.T, d *duck, s *snapshot) {
	t.Helper()
	dictionary, err := os.ReadFile(filepath.Join(repository, "schemas", "generated", "data-dictionary.md"))
	require.NoError(t, err)
	joins := regexp.MustCompile("(?m)^\\| (\\w+) \\| (\\w+) \\| (`.*) \\| (at most one|one for each .*) \\| (.*) \\|$").FindAllStringSubmatch(string(dictionary), -1)
	require.Greater(t, len(joins), 20)
	var named, unmatched []string
	for _, join := range joins {
		from, to := s.files(table(t, join[1])), s.files(table(t, join[2]))
		var on []string
		for pair := range strings.SplitSeq(strings.ReplaceAll(join[3], "`", ""), ", ") {
			left, right, found := strings.Cut(pair, " = ")
			if !found {
				right = left
			}
			on = append(on, "f."+left+" = o."+right)
		}
		identifier := strings.Fields(on[len(on)-1])[0]
		name := join[1] + " " + join[2]
		matches := "SELECT (SELECT count(*) FROM " + to + " AS o WHERE " + strings.Join(on, " AND ") + ") AS n FROM " + from + " AS f WHERE " + identifier + " <> ''"
		if join[4] == "at most one" {
			require.LessOrEqual(t, d.one("SELECT max(n) FROM ("+matches+")"), int64(1), name)
		}
		if d.one("SELECT count(*) FROM ("+matches+") WHERE n = 0") != int64(0) {
			unmatched = append(unmatched, name)
		}
		if strings.TrimSpace(join[5]) != "" {
			named = append(named, name)
		}
	}
	require.Equal(t, named, unmatched)
}

// table returns the declaration of a table.
func table(t *testing.T, name string) *schemas.Table {
	t.Helper()
	found, _, ok := schemas.FindTable(name)
	require.True(t, ok, name)
	return found
}
