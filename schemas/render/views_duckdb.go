package render

import (
	"fmt"
	"strings"

	"example.org/growthexport/schemas"
)

// sessionComment returns the comment for views over files that a session can read only after these statements. It puts
// the statements on one line, so that no name in them can end the comment.
func sessionComment(statements string) string {
	if statements == "" {
		return ""
	}
	return "-- The session needs a secret for the bucket:\n--   " + strings.Join(strings.Fields(statements), " ") + "\n"
}

// duckDBViews returns the statements of the views in DuckDB's dialect.
func duckDBViews(s *Snapshot) string {
	var b strings.Builder
	d := duckDBDialect()
	b.WriteString(s.header() + sessionComment(s.Session) + s.createSchema(d))
	tables := s.versions().Tables
	for i := range tables {
		t := &tables[i]
		view := s.view(d, t.Name)
		var query string
		switch {
		case len(t.Files) == 0:
			query = s.emptyQuery(t, d)
		case len(s.Deltas) > 0:
			query = s.latest(t, t.columns(d, districtColumn, partitionColumn), d, s.duckDBVersions)
		case t.Mixed:
			query = s.emptyQuery(t, d) + "\nUNION ALL BY NAME\nFROM " + s.duckDBFiles(t, "union_by_name = true, ")
		case len(t.Files) == 1:
			// DuckDB 1.5 fails to aggregate the least or greatest value of a partition column of one file, unless the column is
			// computed.
			query = fmt.Sprintf("SELECT * REPLACE (CAST(%s AS %s) AS %[1]s)\nFROM %[3]s",
				s.partitionColumn(), duckDBType(partitionType), s.duckDBRead(t, ""))
		default:
			query = "FROM " + s.duckDBFiles(t, "")
		}
		b.WriteString(d.createView(view, query, s.noted(t.described(s))))
	}
	s.moreViews(&b, d)
	return b.String()
}

func duckDBDialect() *dialect {
	const naive = "make_timestamp(epoch_us(%s))" // in UTC, without a time zone
	return &dialect{
		name: duckDBName, text: duckDBText, kind: duckDBType,
		view: "CREATE OR REPLACE VIEW", createView: duckDBCreateView,
		asOf: "CREATE OR REPLACE MACRO %s(d) AS TABLE", structOf: "{\n        %s\n    }", field: "%s: %s",
		keys: "unnest(json_keys(%s))", member: "CAST(%s->'$.%s' AS VARCHAR)",
		joined: "array_to_string(list_sort(array_agg(DISTINCT %[1]s) FILTER (WHERE %[1]s IS NOT NULL)), ', ')",
		utcDay: "CAST(" + naive + " AS DATE)", utcDate: "strftime(" + naive + ", '%%m/%%d/%%Y')", utcTime: "strftime(" + naive + ", '%%H:%%M:%%S')",
		normsBefore: func(_, _ string) string { return "" },
		readNorms: func(_, path string) string {
			if IsParquet(path) {
				return "read_parquet(" + duckDBPattern(path) + ")"
			}
			return "read_csv(" + duckDBPattern(path) + ", header = true, delim = ',', all_varchar = true)"
		},
	}
}

func duckDBCreateView(view, query string, t *schemas.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCREATE OR REPLACE VIEW %s AS\n%s;\nCOMMENT ON VIEW %[1]s IS %[3]s;\n", view, query, duckDBText(t.Doc))
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", view, duckDBName(c.Name), duckDBText(comment(c)))
	}
	return b.String()
}

// duckDBFiles returns a call of a table function that reads exactly the files of a table.
func (s *Snapshot) duckDBFiles(t *SnapshotTable, options string) string {
	return s.duckDBRead(t, fmt.Sprintf("%shive_types = {%s: %s}, ", options, s.partitionColumn(), duckDBType(partitionType)))
}

// duckDBRead works like duckDBFiles, but partition columns are text unless the options say otherwise.
func (s *Snapshot) duckDBRead(t *SnapshotTable, options string) string {
	files := make([]string, len(t.Files))
	for i, file := range t.Files {
		files[i] = DuckDBPath(s.Root, t.Folder+"/"+file)
	}
	// Other columns are not cast: bids are text, even if all of them look like numbers.
	return fmt.Sprintf("read_parquet([\n    %s\n], %shive_partitioning = true, hive_types_autocast = false)",
		strings.Join(files, ",\n    "), options)
}

// duckDBVersions returns a query for the given columns and, as _run, the position of each row's run in Deltas.
func (s *Snapshot) duckDBVersions(t *SnapshotTable, columns []string) string {
	return fmt.Sprintf("SELECT %s, list_position([%s], %s) AS _run\nFROM %s",
		strings.Join(columns, ", "), s.deltas(duckDBDialect()), runOf("filename"), s.duckDBFiles(t, "filename = true, "))
}
