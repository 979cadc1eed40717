package e2e

import (
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
}
