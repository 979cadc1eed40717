package render

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

var update = flag.Bool("update", false, "rewrite schemas/generated")

// generated is where the checked-in descriptions are.
var generated = filepath.Join("..", "generated")

func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range Formats() {
		text := f.Text()
		if *update {
			if f.File == "tables.json" {
				requireNewVersion(t)
			}
			require.NoError(t, os.WriteFile(filepath.Join(generated, f.File), []byte(text), 0o600))
		}
		have, err := fs.ReadFile(os.DirFS(generated), f.File)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(have), text), "%s is stale: run go generate ./schemas/render", f.File)
		names = append(names, f.File)
	}
	// The folder must have no other files, which a reader could take for current.
	entries, err := os.ReadDir(generated)
	require.NoError(t, err)
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	require.ElementsMatch(t, names, have)
}

// requireNewVersion fails if a table or column has changed, apart from its description, since schemas.Version was raised,
// so that users notice the change.
func requireNewVersion(t *testing.T) {
	t.Helper()
	earlier, err := fs.ReadFile(os.DirFS(generated), "tables.json")
	require.NoError(t, err)
	version, changes, err := Diff(earlier)
	require.NoError(t, err)
	changes = slices.DeleteFunc(changes, func(c Change) bool { return c.What == "description" })
	require.False(t, version == schemas.Version && len(changes) > 0,
		"raise schemas.Version: the first number if one of these changes is breaking, else the second: %v", changes)
}

// TestDBTModels compares the generated files of the dbt package.
func TestDBTModels(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "examples", "dbt", "models")
	models := DBTModels()
	if *update {
		require.NoError(t, os.RemoveAll(folder))
	}
	for path, text := range models {
		file := filepath.Join(folder, filepath.FromSlash(path))
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		}
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(have), text), "%s is stale: run go generate ./schemas/render", path)
	}
	have, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	require.NoError(t, err)
	require.Len(t, have, len(models))
}

func TestEveryFormatNamesEveryColumn(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		text := f.Text()
		for _, table := range schemas.Tables() {
			require.Contains(t, text, table.Name, f.Name)
			for _, c := range table.Columns {
				require.Contains(t, text, c.Name, "%s of %s", f.Name, table.Name)
			}
		}
	}
}

// odd returns a table with names and texts that every dialect has to quote, and with a column of each type.
func odd() *schemas.Table {
	return &schemas.Table{
		Name: "order",
		Doc:  `The table's "own" words.`,
		Columns: []schemas.Column{
			{Name: "select", Type: schemas.String, Key: true, Required: true, Source: "$select", Class: schemas.None, Doc: "A 'quoted' \\ word."},
			{Name: "i", Type: schemas.Int32, Key: true, Source: "i", Class: schemas.None, Doc: "I."},
			{Name: "l", Type: schemas.Int64, Required: true, Source: "l", Class: schemas.None, Doc: "L."},
			{Name: "d", Type: schemas.Double, Source: "d", Class: schemas.None, Doc: "D | d."},
			{Name: "b", Type: schemas.Boolean, Source: "b", Class: schemas.None, Doc: "B."},
			{Name: "on", Type: schemas.Date, Source: "on", Class: schemas.Birth, Doc: "On."},
			{Name: "at", Type: schemas.Timestamp, Source: "at", Class: schemas.None, Doc: "At."},
			{Name: "_extra", Type: schemas.JSON, Source: "*", Class: schemas.Extra, Doc: "Rest."},
		},
	}
}

func TestDuckDB(t *testing.T) {
	t.Parallel()
	want := `
CREATE TABLE "order" (
    "select" VARCHAR,
    "i" INTEGER,
    "l" BIGINT,
    "d" DOUBLE,
    "b" BOOLEAN,
    "on" DATE,
    "at" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "order" IS 'The table''s "own" words.';
COMMENT ON COLUMN "order"."select" IS 'A ''quoted'' \ word. Part of the key, never null.';
COMMENT ON COLUMN "order"."i" IS 'I. Part of the key.';
COMMENT ON COLUMN "order"."l" IS 'L. Never null.';
COMMENT ON COLUMN "order"."d" IS 'D | d.';
COMMENT ON COLUMN "order"."b" IS 'B.';
COMMENT ON COLUMN "order"."on" IS 'On.';
COMMENT ON COLUMN "order"."at" IS 'At.';
COMMENT ON COLUMN "order"."_extra" IS 'Rest.';
COMMENT ON COLUMN "order"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';
`
	_, got, _ := strings.Cut(duckDB([]*schemas.Table{odd()}), "'$.member'\n")
	require.Empty(t, cmp.Diff(want, got))
}

func TestSpark(t *testing.T) {
	t.Parallel()
	want := `
-- select STRING, i INT, l BIGINT, d DOUBLE, b BOOLEAN, on DATE, at TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE ` + "`order`" + ` (
    ` + "`select`" + ` STRING COMMENT 'A \'quoted\' \\ word. Part of the key, never null.',
    ` + "`i`" + ` INT COMMENT 'I. Part of the key.',
    ` + "`l`" + ` BIGINT COMMENT 'L. Never null.',
    ` + "`d`" + ` DOUBLE COMMENT 'D | d.',
    ` + "`b`" + ` BOOLEAN COMMENT 'B.',
    ` + "`on`" + ` DATE COMMENT 'On.',
    ` + "`at`" + ` TIMESTAMP COMMENT 'At.',
    ` + "`_extra`" + ` STRING COMMENT 'Rest.',
    ` + "`snapshot_date`" + ` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (` + "`snapshot_date`" + `)
COMMENT 'The table\'s "own" words.'
LOCATION '${dest}/order';
`
	_, got, _ := strings.Cut(spark([]*schemas.Table{odd()}), "= CORRECTED;\n")
	require.Empty(t, cmp.Diff(want, got))
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	child := odd()
	child.Name, child.Each = "order_lines", "lines"
	child.Columns = child.Columns[3:5]
	got := markdown([]*schemas.Dataset{{
		Name: "order", Doc: "Orders.", Per: schemas.PerStudent, Feeds: []string{"students"},
		Operation: schemas.Operation{
			Section: "4.99", Path: "/orders/v1/{student_bid}",
			Query: []string{"perspective-bid"}, Filters: []string{"effective-date", "include-removed"}, PinsDate: true, Single: true,
		},
		Known:  []string{"more"},
		Tables: []*schemas.Table{odd(), child},
	}})
	want := `
| dataset | specification | in ~default~ | per | tables |
|---|---|---|---|---|
| [order](#order) | 4.99 | no | student | [order](#table-order), [order_lines](#table-order_lines) |
`
	got = strings.ReplaceAll(got, "`", "~")
	require.Contains(t, got, want)
	want = `
## order

Orders.

- Operation: ~GET /orders/v1/{student_bid}~ (specification 4.99)
- Parameters: ~perspective-bid~
- Filters: ~effective-date~, ~include-removed~
- Without ~effective-date~: as of the day (UTC) on which the run was planned
- Calls: one per student and perspective, each answered with one record
- ~select~ comes from: ~students~
- Kept in ~_extra~: ~more~

### Table ~order~

The table's "own" words.

Sorted by: ~select~, ~i~.

| # | column | type | key | null | source | class | meaning |
|---|---|---|---|---|---|---|---|
| 1 | ~select~ | string | key | required | ~$select~ | none | A 'quoted' \ word. |
| 2 | ~i~ | int32 | key | optional | ~i~ | none | I. |
| 3 | ~l~ | int64 |  | required | ~l~ | none | L. |
| 4 | ~d~ | double |  | optional | ~d~ | none | D \| d. |
| 5 | ~b~ | boolean |  | optional | ~b~ | none | B. |
| 6 | ~on~ | date |  | optional | ~on~ | birth | On. |
| 7 | ~at~ | timestamp |  | optional | ~at~ | none | At. |
| 8 | ~_extra~ | json |  | optional | ~*~ | extra | Rest. |

### Table ~order_lines~
`
	require.Contains(t, got, want)
	require.Contains(t, got, "Rows are the elements of the record's ~lines~.")
}

// TestJoins checks that the columns of a join exist, and that a join that matches at most one row has the whole key.
func TestJoins(t *testing.T) {
	t.Parallel()
	all := joins(schemas.Datasets())
	require.Greater(t, len(all), 20)
	for _, j := range all {
		name := j.From.Name + " to " + j.To.Name
		covered := slices.Clone(j.Left)
		for _, pair := range j.On {
			require.GreaterOrEqual(t, j.From.Column(pair[0]), 0, name)
			require.GreaterOrEqual(t, j.To.Column(pair[1]), 0, name)
			covered = append(covered, pair[1])
		}
		require.Subset(t, covered, keyNames(j.To), name)
		require.Equal(t, j.From.Name == "test_results" && j.Column == "term_bid", len(j.Left) > 0, name)
	}
	require.Equal(t, []string{"educator_bid"}, withoutTable(schemas.Datasets()))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var doc struct {
		Datasets []struct {
			Name      string `json:"name"`
			Operation struct {
				Path  string   `json:"path"`
				Query []string `json:"query"`
			} `json:"operation"`
			Tables []struct {
				Name     string           `json:"name"`
				Each     string           `json:"each"`
				SortedBy []string         `json:"sorted_by"`
				Columns  []map[string]any `json:"columns"`
			} `json:"tables"`
		} `json:"datasets"`
	}
	require.NoError(t, json.Unmarshal([]byte(tablesJSON(schemas.Datasets())), &doc))
	require.Len(t, doc.Datasets, len(schemas.Datasets()))

	results := doc.Datasets[5]
	require.Equal(t, "test_results", results.Name)
	require.Equal(t, "/test-results/v1/growth", results.Operation.Path)
	require.Equal(t, []string{"school-bid"}, results.Operation.Query)
	norms := results.Tables[1]
	require.Equal(t, "test_result_norms", norms.Name)
	require.Equal(t, "norms", norms.Each)
	require.Equal(t, []string{"requested_school_bid", "test_result_bid", "ordinal"}, norms.SortedBy)
	require.Equal(t, map[string]any{
		"name": "ordinal", "type": "int32", "duckdb_type": "INTEGER", "spark_type": "INT",
		"key": true, "required": true, "source": "#", "class": "none",
		"doc": "Position of the element in the record's norms, counted from 0.",
	}, norms.Columns[2])
}

// TestSparkSchemasNeedNoQuotes keeps the schema strings usable without quotes:
// every name must be a plain identifier.
func TestSparkSchemasNeedNoQuotes(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^([a-z_][a-z0-9_]* (STRING|INT|BIGINT|DOUBLE|BOOLEAN|DATE|TIMESTAMP), )*snapshot_date DATE$`)
	for _, table := range schemas.Tables() {
		require.Regexp(t, plain, sparkSchema(table), table.Name)
	}
}
