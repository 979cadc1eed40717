package render

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/contract"
)

// someSnapshot returns a snapshot with a table of each kind: in one file, in several files by district, and without
// files.
func someSnapshot() *Snapshot {
	table := func(name string) *schemas.Table {
		return &schemas.Table{Name: name, Doc: `Its "own" doc's.`, Columns: odd().Columns[:2]}
	}
	return &Snapshot{
		Place: Place{Title: "Snapshot of\n2026-11-20.", Root: "/a 'b'/[c]\\{d,e}"},
		Tables: []SnapshotTable{
			{Table: table("one"), Rows: 7, Folder: "one", Files: []string{"snapshot_date=2026-11-20/part.parquet"}},
			{
				Table: table("order"), Rows: 8, Folder: "as_of/order", District: true,
				Files: []string{"snapshot_date=2026-11-20/district=a%2F/p,1.parquet", "snapshot_date=2026-11-20/district=b/p2.parquet"},
			},
			{Table: table("none"), Folder: "none"},
		},
	}
}

// withoutColumns returns statements without the comments on columns.
func withoutColumns(statements string) string {
	return regexp.MustCompile(`(?m)^COMMENT ON COLUMN .*\n`).ReplaceAllString(statements, "")
}

func TestDuckDBViews(t *testing.T) {
	t.Parallel()
	want := `-- Snapshot of 2026-11-20.
-- Written by growth-export sql: one view per table, over exactly the files in the manifest. The views are pinned to
-- these files; regenerate them after the next run.

CREATE OR REPLACE VIEW "one" AS
SELECT * REPLACE (CAST(snapshot_date AS DATE) AS snapshot_date)
FROM read_parquet([
    '/a ''b''/[[]c]\{d,e}/one/snapshot_date=2026-11-20/part.parquet'
], hive_partitioning = true, hive_types_autocast = false);
COMMENT ON VIEW "one" IS 'Its "own" doc''s.';

CREATE OR REPLACE VIEW "order" AS
FROM read_parquet([
    '/a ''b''/[[]c]\{d,e}/as_of/order/snapshot_date=2026-11-20/district=a%2F/p,1.parquet',
    '/a ''b''/[[]c]\{d,e}/as_of/order/snapshot_date=2026-11-20/district=b/p2.parquet'
], hive_types = {snapshot_date: DATE}, hive_partitioning = true, hive_types_autocast = false);
COMMENT ON VIEW "order" IS 'Its "own" doc''s.';

CREATE OR REPLACE VIEW "none" AS
SELECT
    CAST(NULL AS VARCHAR) AS "select",
    CAST(NULL AS INTEGER) AS "i",
    CAST(NULL AS DATE) AS "snapshot_date"
WHERE false;
COMMENT ON VIEW "none" IS 'Its "own" doc''s.';
`
	got := duckDBViews(someSnapshot())
	require.Empty(t, cmp.Diff(want, withoutColumns(got)))
	require.Contains(t, got, `COMMENT ON COLUMN "one"."select" IS 'A ''quoted'' \ word. Part of the key, never null.';`+"\n")
	require.Contains(t, got, `COMMENT ON COLUMN "order"."district" IS 'District of the school, from the name of the folder.';`+"\n")
	require.Contains(t, duckDBViews(&Snapshot{Place: Place{Title: "S.", Root: "s3://bucket/prefix", Session: "INSTALL\nhttpfs;  LOAD httpfs;"}}),
		"secret for the bucket:\n--   INSTALL httpfs; LOAD httpfs;\n")
}

func TestSparkViews(t *testing.T) {
	t.Parallel()
	// Spark reads \\ in a text as \, which makes the next character of a path literal.
	want := `
CREATE OR REPLACE TEMPORARY VIEW ~one~ (
    ~select~ STRING,
    ~i~ INT,
    ~snapshot_date~ DATE
) USING parquet OPTIONS (
    datetimeRebaseMode 'CORRECTED',
    basePath '/a \'b\'/[c]\\{d,e}/one',
    path '/a \'b\'/\\[c\\]\\\\\\{d,e\\}/one/snapshot_date=2026-11-20/part.parquet'
);
SELECT assert_true(count(*) = 7, 'table one: the number of rows differs from the manifest') FROM ~one~;

CREATE OR REPLACE TEMPORARY VIEW ~order~ (
    ~select~ STRING,
    ~i~ INT,
    ~district~ STRING,
    ~snapshot_date~ DATE
) USING parquet OPTIONS (
    datetimeRebaseMode 'CORRECTED',
    basePath '/a \'b\'/[c]\\{d,e}/as_of/order',
    path '/a \'b\'/\\[c\\]\\\\\\{d,e\\}/as_of/order/{snapshot_date=2026-11-20/district=a%2F/p\\,1.parquet,snapshot_date=2026-11-20/district=b/p2.parquet}'
);
SELECT assert_true(count(*) = 8, 'table order: the number of rows differs from the manifest') FROM ~order~;

CREATE OR REPLACE TEMPORARY VIEW ~none~ AS
SELECT
    CAST(NULL AS STRING) AS ~select~,
    CAST(NULL AS INT) AS ~i~,
    CAST(NULL AS DATE) AS ~snapshot_date~
WHERE false;
`
	_, got, found := strings.Cut(sparkViews(someSnapshot()), "read the other files.\n")
	require.True(t, found)
	require.Empty(t, cmp.Diff(want, strings.ReplaceAll(got, "`", "~")))

	s3 := someSnapshot()
	s3.Root, s3.HadoopRoot = "s3://bucket/prefix", "s3a://bucket/prefix"
	require.Contains(t, sparkViews(s3), "path 's3a://bucket/prefix/one/")
}

// TestSparkViewsInSchema checks that a view in a schema is a query whose partition columns depend on the name of the
// file.
func TestSparkViewsInSchema(t *testing.T) {
	t.Parallel()
	// A backslash makes the next character of a path literal.
	want := `
CREATE OR REPLACE VIEW ~night~.~one~ AS
SELECT
    ~select~,
    ~i~,
    CAST(CAST('2026-11-20' AS STRING) AS DATE) AS ~snapshot_date~
FROM parquet.~/a 'b'/\[c\]\\\{d,e\}/one/snapshot_date=2026-11-20/part.parquet~;
SELECT assert_true(count(*) = 7, 'table one: the number of rows differs from the manifest') FROM parquet.~/a 'b'/\[c\]\\\{d,e\}/one/snapshot_date=2026-11-20/part.parquet~;

CREATE OR REPLACE VIEW ~night~.~order~ AS
SELECT
    ~select~,
    ~i~,
    CAST(CAST('2026-11-20' AS STRING) AS DATE) AS ~snapshot_date~,
    CASE WHEN _metadata.file_name IN ('p,1.parquet') THEN 'a/' WHEN _metadata.file_name IN ('p2.parquet') THEN 'b' END AS ~district~
FROM parquet.~/a 'b'/\[c\]\\\{d,e\}/as_of/order/{snapshot_date=2026-11-20/district=a%2F/p\,1.parquet,snapshot_date=2026-11-20/district=b/p2.parquet}~;
SELECT assert_true(count(*) = 8, 'table order: the number of rows differs from the manifest') FROM parquet.~/a 'b'/\[c\]\\\{d,e\}/as_of/order/{snapshot_date=2026-11-20/district=a%2F/p\,1.parquet,snapshot_date=2026-11-20/district=b/p2.parquet}~;

CREATE OR REPLACE VIEW ~night~.~none~ AS
SELECT
    CAST(NULL AS STRING) AS ~select~,
    CAST(NULL AS INT) AS ~i~,
    CAST(NULL AS DATE) AS ~snapshot_date~
WHERE false;
`
	s := someSnapshot()
	s.Schema = "night"
	_, got, found := strings.Cut(sparkViews(s), "`night`;\n")
	require.True(t, found)
	require.Empty(t, cmp.Diff(want, strings.ReplaceAll(got, "`", "~")))

	s3 := someSnapshot()
	s3.HadoopRoot, s3.Schema = "s3a://bucket/prefix", "night"
	require.Contains(t, sparkViews(s3), "parquet.`s3a://bucket/prefix/one/")
}

// TestViewsInSchema checks that every view is in the schema, and that the schema is made first. Spark has no temporary
// views in schemas.
func TestViewsInSchema(t *testing.T) {
	t.Parallel()
	for _, d := range Dialects() {
		s := someSnapshot()
		s.Schema = "night"
		text := strings.ReplaceAll(d.Views(s), "`", `"`)
		require.Contains(t, text, "\nCREATE SCHEMA IF NOT EXISTS \"night\";\n")
		require.NotContains(t, text, "TEMPORARY")
		for _, table := range s.Tables {
			require.Contains(t, text, "\nCREATE OR REPLACE VIEW \"night\".\""+table.Name+"\" AS\n", d.Name)
		}
	}
}

// TestHistoryViews checks that the views of a history are made from a view of all versions. Tables whose rows have no
// identity are never updated.
func TestHistoryViews(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Place: Place{Title: "History.", Root: "/d"}, History: true, Tables: []SnapshotTable{
		{
			Table: &schemas.Table{Name: "one", Columns: append(odd().Columns[:2], schemas.Column{Name: "valid_from"}, schemas.Column{Name: "ended_because"})}, Rows: 3, Folder: "history/one",
			Files: []string{"valid_to=2026-11-21/part.parquet", "valid_to=9999-12-31/part.parquet"},
		},
	}}
	want := `
CREATE OR REPLACE VIEW ~one_versions~ AS
FROM read_parquet([
    '/d/history/one/valid_to=2026-11-21/part.parquet',
    '/d/history/one/valid_to=9999-12-31/part.parquet'
], hive_types = {valid_to: DATE}, hive_partitioning = true, hive_types_autocast = false);
COMMENT ON VIEW ~one_versions~ IS 'Every version of every row. ';

CREATE OR REPLACE VIEW ~one_current~ AS
SELECT * FROM ~one_versions~ WHERE valid_to = DATE '9999-12-31';
COMMENT ON VIEW ~one_current~ IS 'The versions that have not ended: the rows of the newest snapshot that covers their school.';

CREATE OR REPLACE MACRO ~one_as_of~(d) AS TABLE
SELECT * FROM ~one_versions~ WHERE valid_from <= CAST(d AS DATE) AND valid_to > CAST(d AS DATE);

CREATE OR REPLACE VIEW ~one_changes~ AS
SELECT
    after.valid_from AS day,
    CASE WHEN before.valid_to IS NULL THEN 'insert' ELSE 'update' END AS change,
    before.ended_because AS because,
    after.~select~,
    after.~i~,
    CASE WHEN before.valid_to IS NOT NULL THEN {
        'select': before.~select~,
        'i': before.~i~
    } END AS before
FROM ~one_versions~ AS after LEFT JOIN ~one_versions~ AS before ON before.valid_to = after.valid_from AND before.ended_because = 'changed' AND before.~select~ = after.~select~ AND before.~i~ = after.~i~
UNION ALL
SELECT
    valid_to,
    'delete',
    ended_because,
    after.~select~,
    after.~i~,
    NULL
FROM (
    SELECT * FROM ~one_versions~ WHERE valid_to < DATE '9999-12-31' AND ended_because <> 'changed'
    UNION ALL
    SELECT * FROM ~one_versions~ AS ended WHERE ended_because = 'changed' AND NOT EXISTS (
        SELECT 1 FROM ~one_versions~ AS next WHERE next.valid_from = ended.valid_to AND next.~select~ = ended.~select~ AND next.~i~ = ended.~i~
    )
) AS after;
COMMENT ON VIEW ~one_changes~ IS 'One row per row that was inserted, updated or deleted on a snapshot date. The rows of the first date are inserts.';
`
	_, got, found := strings.Cut(duckDBViews(s), "were read.\n")
	require.True(t, found)
	require.Empty(t, cmp.Diff(want, strings.ReplaceAll(withoutColumns(got), `"`, "~")))
	require.Contains(t, got, `COMMENT ON COLUMN "one_changes"."before" IS 'The row''s columns before an update; null for other changes.';`)
	require.Contains(t, sparkViews(s), "CREATE OR REPLACE TEMPORARY FUNCTION `one_as_of`(d DATE) RETURNS TABLE RETURN\nSELECT")
	require.Contains(t, sparkViews(s), "THEN named_struct(\n        'select', before.`select`,\n        'i', before.`i`\n    ) END")

	s.Schema = "h"
	require.Contains(t, sparkViews(s), "CREATE OR REPLACE FUNCTION `h`.`one_as_of`(d DATE) RETURNS TABLE RETURN\nSELECT * FROM `h`.`one_versions`")
	s.Tables[0].Table.Columns[1].Source = schemas.SourceOrdinal
	require.Contains(t, duckDBViews(s), "ON false\n")
	require.NotContains(t, duckDBViews(s), "<> 'changed'")
}

// TestNoDistrict checks that the district is null for schools without one.
func TestNoDistrict(t *testing.T) {
	t.Parallel()
	require.Equal(t, "CAST(NULL AS STRING)", sparkByFile([]string{"snapshot_date=2026-11-20/district=__HIVE_DEFAULT_PARTITION__/p.parquet"}, "district"))
	require.Equal(t, `CAST('100%\'' AS STRING)`, sparkByFile([]string{"snapshot_date=2026-11-20/district=100%'/p.parquet"}, "district"))
}

func TestDBT(t *testing.T) {
	t.Parallel()
	want := `      - name: order
        description: "The table's \"own\" words."
        columns:
          - name: "select"
            data_type: varchar
            description: "A 'quoted' \\ word. Part of the key, never null."
            data_tests: [not_null]
`
	got := dbt([]*schemas.Table{odd()})
	require.Contains(t, got, want)
	// Only the header has dbt expressions.
	_, tables, found := strings.Cut(dbt(schemas.Tables()), "    tables:\n")
	require.True(t, found)
	require.NotContains(t, tables, "{{")
	require.NotContains(t, tables, "{%")
}

// TestLake prints views of Delta Lake tables, which real engines run in examples/delta-lake.
func TestLake(t *testing.T) {
	t.Parallel()
	session := "INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain);"
	place := Place{Title: "All.", Root: "s3://bucket/a'b", HadoopRoot: "s3a://bucket/a'b", Session: session}
	lake := &Lake{Place: place, Tables: []LakeTable{
		{Table: someSnapshot().Tables[0].Table, View: "history_one", Folder: "history/one", Version: 3},
	}}
	require.Equal(t, `-- All.
-- Written by growth-export sql --delta-lake: one view per Delta Lake table.
-- The session needs a secret for the bucket:
--   INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain);
-- The session needs the extension: INSTALL delta; LOAD delta;

CREATE OR REPLACE VIEW "history_one" AS
FROM delta_scan('s3://bucket/a''b/history/one');
COMMENT ON VIEW "history_one" IS 'Its "own" doc''s.';
`, withoutColumns(duckDBLake(lake)))
	require.Contains(t, sparkLake(lake), "\nCREATE OR REPLACE TEMPORARY VIEW `history_one` AS\nSELECT * FROM delta.`s3a://bucket/a'b/history/one`;\n")
	lake.Date, lake.Schema = "2026-11-20", "night"
	require.Contains(t, duckDBLake(lake), `
CREATE SCHEMA IF NOT EXISTS "night";

CREATE OR REPLACE VIEW "night"."history_one" AS
FROM delta_scan('s3://bucket/a''b/history/one', version => 3)
WHERE snapshot_date = DATE '2026-11-20';
`)
	require.Contains(t, sparkLake(lake), "\nCREATE OR REPLACE VIEW `night`.`history_one` AS\n"+
		"SELECT * FROM delta.`s3a://bucket/a'b/history/one` VERSION AS OF 3\nWHERE snapshot_date = DATE '2026-11-20';\n")
}

// TestProfileIsNoted checks that the comments of columns, and analysis_columns, say which columns the privacy profile
// leaves empty.
func TestProfileIsNoted(t *testing.T) {
	t.Parallel()
	students, _, _ := schemas.FindTable("students")
	text := func(profile schemas.Profile, change func(*Snapshot)) string {
		s := &Snapshot{
			Place:  Place{Title: "S.", Root: "/d", Views: AnalysisViews, Profile: profile},
			Tables: []SnapshotTable{{Table: students, Folder: students.Name}},
		}
		change(s)
		return duckDBViews(s)
	}
	const note = " Null here: the privacy profile minimal leaves it empty.'"
	snapshot := text(schemas.Minimal, func(*Snapshot) {})
	require.Regexp(t, `COMMENT ON COLUMN "students"."first_name" IS '[^\n]*`+note, snapshot)
	require.Regexp(t, `COMMENT ON COLUMN "analysis_students"."gender" IS '[^\n]*`+note, snapshot)
	require.Regexp(t, `\('students', 'first_name', [^\n]*`+note, snapshot)
	require.NotRegexp(t, `"(school_bid|student_bid|grade|rit|snapshot_date)" IS '[^\n]* profile `, snapshot)
	history := text(schemas.Minimal, func(s *Snapshot) {
		versions := *students
		versions.Columns = append(slices.Clone(students.Columns), schemas.Column{Name: validFrom, Class: schemas.None}, schemas.Column{Name: endedBecause, Class: schemas.None})
		s.History, s.Tables[0].Table = true, &versions
	})
	require.Regexp(t, `COMMENT ON COLUMN "students_changes"."first_name" IS '[^\n]*`+note, history)
	require.NotRegexp(t, `"(valid_from|valid_to|ended_because|before)" IS '[^\n]* profile `, history)
	require.NotContains(t, text(schemas.Pseudonymous, func(*Snapshot) {}), `"gender" IS 'Gender. Null here: the privacy profile`)
	require.NotContains(t, text(schemas.Full, func(*Snapshot) {}), "privacy profile")
}

// TestAnalysis checks that the views for analysts read the exported tables, and empty relations in place of the others.
// Growth needs a history, from which the views take schools and terms of any day.
func TestAnalysis(t *testing.T) {
	t.Parallel()
	results, _, _ := schemas.FindTable("test_results")
	s := &Snapshot{Place: Place{Title: "S.", Root: "/d", Views: AnalysisViews, Schema: "night", Dates: []string{"2026-11-20"}}, Tables: []SnapshotTable{{Table: results, Folder: "test_results"}}}
	for _, d := range Dialects() {
		text := strings.ReplaceAll(d.Views(s), "`", `"`)
		require.Contains(t, text, "so views of their records have no rows, and columns from them are null: schools, district_schools, districts, enrollment_sessions, academic_years, ")
		require.Contains(t, text, "FROM \"night\".\"test_results\"\n")
		require.Contains(t, text, " WHERE 1 = 0) AS students\n")
		require.Contains(t, text, "('test_results', 'snapshot_date', 'date', false, 'none', 'Date of the snapshot, from the name of the folder.')")
		require.Equal(t, len(analysisTables())-1, strings.Count(text, "CREATE OR REPLACE VIEW \"night\".\"analysis_"), d.Name)
		_, views, found := strings.Cut(text, "-- Views for analysts")
		require.True(t, found)
		require.NotRegexp(t, `{{|}}`, views)
	}
	require.NotContains(t, duckDBViews(&Snapshot{Place: Place{Title: "S.", Root: "/d"}, Tables: s.Tables}), "analysis_")
	enrollments, _, _ := schemas.FindTable("student_school_associations")
	enrolled := &Snapshot{Place: s.Place, Tables: append(slices.Clone(s.Tables), SnapshotTable{Table: enrollments, Folder: enrollments.Name})}
	require.Contains(t, duckDBViews(enrolled), "with the state. Observed. Null here unless student_school_associations has it: the dataset student_details was not exported.'")

	s.History, s.Schema, s.Tables = true, "", nil
	for _, name := range []string{"schools", "test_results"} {
		table, _, _ := schemas.FindTable(name)
		versions := *table
		versions.Columns = append(slices.Clone(table.Columns), schemas.Column{Name: validFrom}, schemas.Column{Name: endedBecause})
		s.Tables = append(s.Tables, SnapshotTable{Table: &versions, Folder: "history/" + name})
	}
	text := duckDBViews(s)
	require.Contains(t, text, `CREATE OR REPLACE VIEW "analysis_growth"`)
	require.Contains(t, text, `"analysis_students"."state_student_id" IS 'The student''s id with the state. Observed. Null here: the dataset student_school_associations or student_details was not exported.'`)
	require.Contains(t, text, `"analysis_growth_summary"."grade_number" IS 'Grade at the end of the span as a number; null if the grade is unknown. Part of the key.'`)
	require.Contains(t, text, "('test_results_changes', 'day', 'date', true, ")
	require.Contains(t, text, `1 AS list, valid_to FROM "schools_versions"`)
	require.Contains(t, text, "ORDER BY name IS NULL, listed.valid_to DESC, list,")
	require.Contains(t, text, `FROM "test_results_current"`)

	lake := &Lake{Place: Place{Title: "All.", Root: "/d", Views: AnalysisViews}, Date: "2026-11-20", Tables: []LakeTable{{Table: results, View: results.Name, District: true}}}
	require.Contains(t, duckDBLake(lake), "('test_results', 'district', 'string', ")
	require.Contains(t, duckDBLake(lake), "CREATE OR REPLACE VIEW \"analysis_results\" AS\n")
	require.Contains(t, sparkLake(lake), "CREATE OR REPLACE TEMPORARY VIEW `analysis_results` (\n    `requested_school_bid` COMMENT '")
}

// TestSectorColumns checks that the view has the columns of the vendor's file.
func TestSectorColumns(t *testing.T) {
	t.Parallel()
	lines, err := csv.NewReader(strings.NewReader(contract.AssessmentResultsCSV())).ReadAll()
	require.NoError(t, err)
	var want, got []string
	for _, line := range lines[1:] {
		want = append(want, line[1])
	}
	for _, c := range assessmentResults().Columns {
		got = append(got, c.Name)
		require.NotEmpty(t, c.Doc, c.Name)
	}
	require.Len(t, want, 143)
	require.Equal(t, want, got)
}

// TestNorms checks that both engines read a file of norms by its name, in any schema. Without a file, they read
// nothing.
func TestNorms(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Place: Place{Title: "S.", Root: "/d", Views: SectorViews, Norms: "a [b]'s.csv"}}
	require.Contains(t, duckDBViews(s), "FROM read_csv('a [[]b]''s.csv', header = true, delim = ',', all_varchar = true) AS file")
	require.Contains(t, sparkViews(s), "\nCREATE OR REPLACE TEMPORARY VIEW `analysis_norms_file` USING csv OPTIONS (path 'a \\\\[b\\\\]\\'s.csv', header 'true');\n")
	s.Schema = "night"
	require.Contains(t, sparkViews(s), "\nDROP TABLE IF EXISTS `night`.`analysis_norms_file`;\nCREATE TABLE `night`.`analysis_norms_file` USING csv")
	s.Norms = "s3://b/NORMS.PARQUET"
	require.Contains(t, duckDBViews(s), "FROM read_parquet('s3://b/NORMS.PARQUET') AS file")
	require.Contains(t, sparkViews(s), "FROM parquet.`s3a://b/NORMS.PARQUET` AS file")
	s.Norms = ""
	for _, d := range Dialects() {
		require.Contains(t, d.Views(s), "WHERE 1 = 0) AS file")
		require.Contains(t, d.Views(s), "need growth norms are null. To fill them, use sql --norms FILE")
	}
}
