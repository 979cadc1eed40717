package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// sparkFileName is the name of a row's file.
const sparkFileName = "_metadata.file_name"

// sparkRebase is a comment before views whose statements cannot set the option.
const sparkRebase = `-- Spark up to 3.5 reads dates before 1900 only in a session with
--   SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED;
`

// sparkMixed is a comment in a statement that reads files of which some lack columns.
const sparkMixed = " /* files of an earlier release lack columns: SET spark.sql.parquet.mergeSchema = true */"

// sparkViews returns the statements of the views in the dialect of Spark SQL, in which the files of a table are the
// alternatives of one path pattern. Spark does not fail if some of the files are missing, so a statement counts the
// rows.
func sparkViews(s *Snapshot) string {
	var b strings.Builder
	d := sparkDialect(s.Schema)
	b.WriteString(s.header())
	b.WriteString("-- The last statement of each table fails if a file is missing; without it, Spark would read the other files.\n")
	if s.History {
		b.WriteString("-- The functions need Spark 4.0; before that, filter <table>_versions by valid_from and valid_to.\n")
	}
	plain := s.Schema == "" && len(s.Deltas) == 0
	if !plain {
		b.WriteString(sparkRebase)
	}
	b.WriteString(s.createSchema(d))
	tables := s.versions().Tables
	for i := range tables {
		t := &tables[i]
		columns := t.columns(d, s.partitionColumn(), districtColumn)
		fmt.Fprintf(&b, "\n%s %s", d.view, s.view(d, t.Name))
		counted := s.sparkFiles(t)
		switch {
		case len(t.Files) == 0:
			fmt.Fprintf(&b, " AS\n%s;\n", s.emptyQuery(t, d))
			continue
		case len(s.Deltas) > 0:
			fmt.Fprintf(&b, " AS\n%s;\n", s.latest(t, columns, d, s.sparkVersions))
		case plain:
			s.sparkSource(&b, t)
			counted = sparkName(t.Name)
		default:
			if t.Mixed {
				b.WriteString(sparkMixed)
			}
			fmt.Fprintf(&b, " AS\nSELECT\n    %s\nFROM %s;\n", strings.Join(sparkColumns(t, columns), ",\n    "), counted)
		}
		fmt.Fprintf(&b, "SELECT assert_true(count(*) = %d, %s) FROM %s;\n", t.Rows,
			sparkText("table "+t.Name+": the number of rows differs from the manifest"), counted)
	}
	s.moreViews(&b, d)
	return b.String()
}

// sparkDialect returns the dialect of views in a schema or, if schema is empty, of temporary views. Spark has no
// temporary views in schemas.
func sparkDialect(schema string) *dialect {
	temporary := "TEMPORARY "
	if schema != "" {
		temporary = ""
	}
	// Spark uses another URL scheme for S3.
	norms := func(path string) string {
		if key, found := strings.CutPrefix(path, "s3://"); found {
			path = "s3a://" + key
		}
		return sparkEscape(path)
	}
	// These are integer divisions, because the quotient of a time that is almost midnight could be rounded up.
	const ofDay = "pmod(unix_micros(%[1]s), 86400000000)"
	const day, seconds = "date_from_unix_date(CAST((unix_micros(%[1]s) - " + ofDay + ") div 86400000000 AS INT))", ofDay + " div 1000000"
	return &dialect{
		name: sparkName, text: sparkText, kind: sparkType,
		view: "CREATE OR REPLACE " + temporary + "VIEW",
		createView: func(view, query string, t *schemas.Table) string {
			var columns []string
			for _, c := range t.Columns {
				columns = append(columns, sparkName(c.Name)+" COMMENT "+sparkText(comment(c)))
			}
			if len(columns) > 0 {
				view += " (\n    " + strings.Join(columns, ",\n    ") + "\n) COMMENT " + sparkText(t.Doc)
			}
			return fmt.Sprintf("\nCREATE OR REPLACE %sVIEW %s AS\n%s;\n", temporary, view, query)
		},
		asOf: "CREATE OR REPLACE " + temporary + "FUNCTION %s(d DATE) RETURNS TABLE RETURN", structOf: "named_struct(\n        %s\n    )", field: "%s, %s",
		keys: "explode(json_object_keys(%s))", member: "get_json_object(%s, '$.%s')",
		joined: "nullif(array_join(array_sort(collect_set(%s)), ', '), '')",
		utcDay: day, utcDate: "date_format(" + day + ", 'MM/dd/yyyy')",
		utcTime: "CASE WHEN %[1]s IS NOT NULL THEN format_string('%%02d:%%02d:%%02d', " +
			seconds + " div 3600, " + seconds + " %% 3600 div 60, " + seconds + " %% 60) END",
		normsBefore: func(view, path string) string {
			switch {
			case IsParquet(path):
				return ""
			case schema == "":
				return fmt.Sprintf("\nCREATE OR REPLACE TEMPORARY VIEW %s USING csv OPTIONS (path %s, header 'true');\n", view, sparkText(norms(path)))
			default:
				return fmt.Sprintf("\nDROP TABLE IF EXISTS %[1]s;\nCREATE TABLE %[1]s USING csv OPTIONS (path %[2]s, header 'true');\n",
					view, sparkText(norms(path)))
			}
		},
		readNorms: func(view, path string) string {
			if IsParquet(path) {
				return "parquet." + sparkName(norms(path))
			}
			return view
		},
	}
}

// sparkSource completes the statement of a temporary view that is a data source: its columns are declared, and the
// partition columns come from the paths.
func (s *Snapshot) sparkSource(b *strings.Builder, t *SnapshotTable) {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, sparkName(c.Name)+" "+sparkType(c.Type))
	}
	if t.District {
		columns = append(columns, sparkName(districtColumn)+" STRING")
	}
	columns = append(columns, sparkName(s.partitionColumn())+" "+sparkType(partitionType))
	base := s.hadoopRoot() + "/" + t.Folder
	fmt.Fprintf(b, " (\n    %s\n) USING parquet OPTIONS (\n"+
		// Without this option, dates before 1900 are an error in Spark up to 3.5.
		"    datetimeRebaseMode 'CORRECTED',\n    basePath %s,\n    path %s\n);\n",
		strings.Join(columns, ",\n    "), sparkText(base), sparkText(sparkPattern(base, t.Files)))
}

// sparkFiles returns a relation of exactly the files of a table.
func (s *Snapshot) sparkFiles(t *SnapshotTable) string {
	return "parquet." + sparkName(sparkPattern(s.hadoopRoot()+"/"+t.Folder, t.Files))
}

// sparkColumns returns the columns with expressions in place of the partition columns, which are not in the files.
func sparkColumns(t *SnapshotTable, columns []string) []string {
	selected := slices.Clone(columns)
	for i, column := range columns {
		switch column {
		case sparkName(districtColumn):
			if t.District {
				selected[i] = sparkByFile(t.Files, districtColumn) + " AS " + column
			}
		case sparkName(validTo):
			selected[i] = "CAST(regexp_extract(_metadata.file_path, 'valid_to=([0-9-]+)/[^/]*$', 1) AS DATE) AS " + column
		case sparkName(partitionColumn):
			selected[i] = "CAST(" + sparkByFile(t.Files, partitionColumn) + " AS " + sparkType(partitionType) + ") AS " + column
		}
	}
	return selected
}

// sparkByFile returns an expression for the value of a partition column, as text, which depends on the file of the row.
func sparkByFile(files []string, column string) string {
	var values []string
	names := make(map[string][]string)
	for _, file := range files {
		value := "NULL"
		if text, ok := partition(file, column); ok {
			value = sparkText(text)
		}
		if names[value] == nil {
			values = append(values, value)
		}
		names[value] = append(names[value], sparkText(path.Base(file)))
	}
	if len(values) == 1 {
		return "CAST(" + values[0] + " AS STRING)"
	}
	var b strings.Builder
	b.WriteString("CASE")
	for _, value := range values {
		fmt.Fprintf(&b, " WHEN %s IN (%s) THEN %s", sparkFileName, strings.Join(names[value], ", "), value)
	}
	b.WriteString(" END")
	return b.String()
}

// sparkVersions returns a query for the given columns and, as _run, the position of each row's run in Deltas.
func (s *Snapshot) sparkVersions(t *SnapshotTable, columns []string) string {
	return fmt.Sprintf("SELECT %s, array_position(array(%s), %s) AS _run\nFROM %s",
		strings.Join(sparkColumns(t, columns), ", "), s.deltas(sparkDialect("")), runOf(sparkFileName), s.sparkFiles(t))
}

// sparkPattern returns a pattern that matches exactly these files.
func sparkPattern(base string, files []string) string {
	escaped := make([]string, len(files))
	for i, file := range files {
		escaped[i] = strings.ReplaceAll(sparkEscape(file), ",", `\,`)
	}
	if len(files) == 1 {
		return sparkEscape(base) + "/" + escaped[0]
	}
	return sparkEscape(base) + "/{" + strings.Join(escaped, ",") + "}"
}

// sparkEscape escapes the special characters of a pattern outside of braces. A comma is not special there.
func sparkEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "*", `\*`, "?", `\?`).Replace(path)
}
