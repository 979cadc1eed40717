package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// compareViews compares the views of a history with all of its snapshots and with the true history.
func compareViews(t *testing.T, dest string, truth *oracle.History) {
	t.Helper()
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec("SET TimeZone = 'UTC'")
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history"))
	d.exec(`CREATE TABLE covered AS
		SELECT CAST(snapshot_date AS DATE) AS night, dataset, coalesce(requested_school_bid, requested_district_bid, '') AS unit
		FROM read_parquet(` + literal(dest+"/_runs/*/ledger.parquet") + `, filename = true) AS ledger
		JOIN read_json(` + literal(dest+"/_runs/*/manifest.json") + `, columns = {run_id: 'VARCHAR', snapshot_date: 'VARCHAR'}) AS manifest
			ON suffix(ledger.filename, '/_runs/' || run_id || '/ledger.parquet')
		WHERE status = 'ok';
		CREATE TABLE nights AS SELECT DISTINCT night FROM covered`)
	compared := 0
	for _, table := range simulator.Tables() {
		if d.one("SELECT count(*) FROM covered WHERE dataset = ?", table.Dataset) != int64(0) {
			v := newTableViews(d, dest, &table)
			v.compareNights()
			v.compareChanges(truth)
			compared++
		}
	}
	require.Greater(t, compared, 4)
	compareEver(d, truth)
	compareGrowthPairs(d, truth)
}

// tableViews are the views of a table of a history.
type tableViews struct {
	*duck

	dest          string
	table         *simulator.Table
	unit, columns string
}

// newTableViews copies the rows of a table's views: on every night, and in all changes.
func newTableViews(d *duck, dest string, table *simulator.Table) *tableViews {
	v := &tableViews{duck: d, dest: dest, table: table, unit: "''"}
	var names []string
	for _, column := range table.Columns {
		switch column.Name {
		case "requested_school_bid", "requested_district_bid":
			v.unit = column.Name
		case "ordinal":
			continue // a child row keeps its first
		}
		names = append(names, column.Name)
	}
	v.columns = strings.Join(names, ", ")
	d.exec(fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE valid AS SELECT night, version.* FROM nights, LATERAL (FROM %[1]s_as_of(night)) AS version;
		CREATE OR REPLACE TEMP TABLE changes AS FROM %[1]s_changes`, table.Name))
	return v
}

// compareNights compares the versions that are valid on each night, of covered schools, with that night's snapshot.
func (v *tableViews) compareNights() {
	v.t.Helper()
	valid := fmt.Sprintf(`SELECT night, %s FROM valid SEMI JOIN (FROM covered WHERE dataset = %s) AS covered
		ON covered.night = valid.night AND unit = %s`, v.columns, literal(v.table.Dataset), v.unit)
	snapshots := fmt.Sprintf("SELECT snapshot_date AS night, %s FROM read_parquet(%s, hive_types = {snapshot_date: DATE})",
		v.columns, literal(v.dest+"/"+v.table.Name+"/snapshot_date=*/**/*.parquet"))
	require.NotZero(v.t, v.one("SELECT count(*) FROM ("+snapshots+")"), v.table.Name)
	v.requireEqual(valid, snapshots)
}

// compareChanges checks that the changes add up to the versions of each night, and have the true days and reasons.
func (v *tableViews) compareChanges(truth *oracle.History) {
	v.t.Helper()
	v.requireEqual("SELECT night, count(*) FROM valid GROUP BY night", `
		SELECT night, sum(CASE change WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 ELSE 0 END)
		FROM nights JOIN changes ON day <= night GROUP BY night HAVING sum(CASE change WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 ELSE 0 END) > 0`)
	before := "before." + strings.ReplaceAll(v.columns, ", ", ", before.")
	v.requireEqual(
		"SELECT "+v.columns+" FROM changes WHERE change <> 'delete'",
		"SELECT "+v.columns+" FROM changes WHERE change = 'delete' UNION ALL SELECT "+before+" FROM changes WHERE change = 'update'"+
			" UNION ALL SELECT "+v.columns+" FROM "+v.table.Name+"_current")
	want, got := make(map[string]int64), make(map[string]int64)
	for _, version := range truth.Ended {
		if version.Table == v.table.Name {
			want[version.To+" "+version.Because]++
		}
	}
	for _, row := range v.query("SELECT day, because, count(*) FROM changes WHERE change <> 'insert' GROUP BY ALL") {
		got[fmt.Sprint(row[0], " ", row[1])] = row[2].(int64)
	}
	require.Equal(v.t, want, got, v.table.Name)
}

// requireEqual checks that two queries return the same rows.
func (v *tableViews) requireEqual(one, other string) {
	v.t.Helper()
	for _, query := range []string{one + " EXCEPT ALL (" + other + ")", "(" + other + ") EXCEPT ALL " + one} {
		require.Empty(v.t, v.query("FROM ("+query+") LIMIT 3"), "%s: %s", v.table.Name, query)
	}
}

// compareEver compares the newest version of every test result with the true one.
func compareEver(d *duck, truth *oracle.History) {
	d.t.Helper()
	want, got := make(map[string]string), make(map[string]string)
	for bid, v := range truth.ResultsEver() {
		var because any
		if v.Because != "" {
			because = v.Because
		}
		want[bid] = line(v.Table, v.Row, v.From, v.To, because) + strconv.FormatBool(v.To == never)
	}
	columns := d.describe("test_results_ever")
	for _, values := range d.query("FROM test_results_ever") {
		row := oracle.Row{}
		for i, value := range values {
			row[columns[i][0].(string)] = value
		}
		got[row["test_result_bid"].(string)] = line("test_results", row, row["valid_from"], row["valid_to"], row["ended_because"]) +
			fmt.Sprint(row["standing"])
	}
	require.Equal(d.t, want, got)
}

// compareGrowthPairs compares the growth of every student with the true one.
func compareGrowthPairs(d *duck, truth *oracle.History) {
	d.t.Helper()
	want, got := make(map[string]any), make(map[string]any)
	name := func(student, subject, from, to any) string {
		return fmt.Sprint(student, " ", subject, " ", from, " ", to)
	}
	for _, pair := range truth.GrowthPairs() {
		growth := any(nil)
		from, scored := pair.From["rit"].(int64)
		if to, ok := pair.To["rit"].(int64); ok && scored {
			growth = to - from
		}
		want[name(pair.To["student_bid"], pair.To["subject_area"], pair.From["test_result_bid"], pair.To["test_result_bid"])] = growth
	}
	require.Greater(d.t, len(want), 50)
	for _, row := range d.query("SELECT student_bid, subject_area, from_test_result_bid, to_test_result_bid, growth FROM growth_pairs") {
		got[name(row[0], row[1], row[2], row[3])] = row[4]
	}
	require.Equal(d.t, want, got)
}
