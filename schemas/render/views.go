package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// Snapshot is a published run as SQL that reads it needs to know it.
type Snapshot struct {
	// Title says in a line what is read, for a comment.
	Title string
	// Root is the absolute path or the URL of the destination, without a slash
	// at its end.
	Root string
	// Tables are those of the run, in the order of their views.
	Tables []SnapshotTable
}

// SnapshotTable is a table of a snapshot.
type SnapshotTable struct {
	*schemas.Table

	Rows int64
	// Folder is the table's folder, and Files are the paths of its files in it,
	// both relative to what they are in.
	Folder string
	Files  []string
	// District tells that the files lie in a folder for each district.
	District bool
}

// Dialect is a way of writing a view for each table of a snapshot.
type Dialect struct {
	// Name is the dialect as the command's --dialect takes it.
	Name string
	// Write writes the statements. They name the files exactly.
	Write func(w io.Writer, s *Snapshot) error
}

// Dialects returns every dialect.
func Dialects() []Dialect {
	return []Dialect{
		{Name: "duckdb", Write: duckDBViews},
		{Name: "spark", Write: sparkViews},
	}
}

const viewsHeader = `-- %s
-- Written by growth-export sql: a view for each table, over exactly the files that the manifest names. They stay
-- with this run; after the next one write them again.
`

// s3Header is what DuckDB needs to be told where the files are on S3.
const s3Header = `-- The session needs a secret for the bucket, if it has none:
--   INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain);
`

// duckDBViews writes the views in DuckDB's dialect.
func duckDBViews(w io.Writer, s *Snapshot) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, viewsHeader, remark(s.Title))
	if strings.HasPrefix(s.Root, "s3:") {
		b.WriteString(s3Header)
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		fmt.Fprintf(&b, "\nCREATE OR REPLACE VIEW %s AS\n", duckDBName(t.Name))
		if len(t.Files) == 0 {
			duckDBNothing(&b, t)
		} else {
			b.WriteString("FROM read_parquet([\n")
			for j, file := range t.Files {
				comma := ","
				if j == len(t.Files)-1 {
					comma = ""
				}
				fmt.Fprintf(&b, "    %s%s\n", duckDBText(s.Root+"/"+t.Folder+"/"+file), comma)
			}
			// Bids are text, also where all of them look like numbers.
			fmt.Fprintf(&b, "], hive_partitioning = true, hive_types = {%s: %s}, hive_types_autocast = false);\n",
				partitionColumn, duckDBType(partitionType))
		}
		fmt.Fprintf(&b, "COMMENT ON VIEW %s IS %s;\n", duckDBName(t.Name), duckDBText(t.Doc))
	}
	return flush(w, "DuckDB views", b.Bytes())
}

// duckDBNothing writes a query that has the table's columns and no row.
func duckDBNothing(b *bytes.Buffer, t *SnapshotTable) {
	b.WriteString("SELECT\n")
	for _, c := range t.Columns {
		fmt.Fprintf(b, "    NULL::%s AS %s,\n", duckDBType(c.Type), duckDBName(c.Name))
	}
	fmt.Fprintf(b, "    NULL::%s AS %s\nWHERE false;\n", duckDBType(partitionType), partitionColumn)
}

// sparkViews writes the views in the dialect of Spark SQL. A view there takes
// one path: the files are the alternatives of a pattern. What a pattern does
// not find is no error to Spark, so a statement counts the rows.
func sparkViews(w io.Writer, s *Snapshot) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, viewsHeader, remark(s.Title))
	b.WriteString("-- The last statement of each table fails if a file is gone: Spark itself would read the others.\n")
	root := s.Root
	if rest, ok := strings.CutPrefix(root, "s3://"); ok {
		root = "s3a://" + rest
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		name := sparkName(t.Name)
		if len(t.Files) == 0 {
			sparkNothing(&b, t)
			continue
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, sparkName(c.Name)+" "+sparkType(c.Type))
		}
		if t.District {
			columns = append(columns, "`district` STRING")
		}
		columns = append(columns, sparkName(partitionColumn)+" "+sparkType(partitionType))
		base := root + "/" + t.Folder
		fmt.Fprintf(&b, "\nCREATE OR REPLACE TEMPORARY VIEW %s (\n    %s\n) USING parquet OPTIONS (\n"+
			// Dates before 1900 are an error to Spark up to 3.5 without it.
			"    datetimeRebaseMode 'CORRECTED',\n    basePath %s,\n    path %s\n);\n",
			name, strings.Join(columns, ",\n    "), sparkText(base), sparkText(sparkPattern(base, t.Files)))
		fmt.Fprintf(&b, "SELECT assert_true(count(*) = %d, %s) FROM %s;\n", t.Rows,
			sparkText("table "+t.Name+" has not the rows of its manifest"), name)
	}
	return flush(w, "Spark views", b.Bytes())
}

func sparkNothing(b *bytes.Buffer, t *SnapshotTable) {
	fmt.Fprintf(b, "\nCREATE OR REPLACE TEMPORARY VIEW %s AS SELECT\n", sparkName(t.Name))
	for _, c := range t.Columns {
		fmt.Fprintf(b, "    CAST(NULL AS %s) AS %s,\n", sparkType(c.Type), sparkName(c.Name))
	}
	fmt.Fprintf(b, "    CAST(NULL AS %s) AS %s\nWHERE false;\n", sparkType(partitionType), sparkName(partitionColumn))
}

// sparkPattern returns the pattern that finds exactly these files.
func sparkPattern(base string, files []string) string {
	plain := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "*", `\*`, "?", `\?`, ",", `\,`)
	escaped := make([]string, len(files))
	for i, file := range files {
		escaped[i] = plain.Replace(file)
	}
	if len(files) == 1 {
		return sparkEscape(base) + "/" + escaped[0]
	}
	return sparkEscape(base) + "/{" + strings.Join(escaped, ",") + "}"
}

// sparkEscape keeps characters of a path outside of braces from being taken for
// a pattern; a comma is none there.
func sparkEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "*", `\*`, "?", `\?`).Replace(path)
}

// remark keeps text in the line of its comment.
func remark(text string) string {
	return strings.Join(slices.Collect(strings.FieldsSeq(text)), " ")
}
