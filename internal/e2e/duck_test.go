package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // the driver
	"github.com/stretchr/testify/require"
)

// duck is an in-memory DuckDB.
type duck struct {
	t  *testing.T
	db *sql.DB
}

func newDuck(t *testing.T) *duck {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &duck{t, db}
}

// ddl returns the generated DDL for DuckDB.
func ddl(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "schemas", "generated", "duckdb.sql"))
	require.NoError(t, err)
	return string(text)
}

func (d *duck) exec(statements string) {
	d.t.Helper()
	_, err := d.db.ExecContext(d.t.Context(), statements)
	require.NoError(d.t, err)
}

// query returns the rows of a statement as plain values: nil, string, int64, float64 or bool. Dates are YYYY-MM-DD,
// timestamps microseconds since 1970-01-01 UTC.
func (d *duck) query(statement string, args ...any) [][]any {
	d.t.Helper()
	rows, err := d.db.QueryContext(d.t.Context(), statement, args...)
	require.NoError(d.t, err, statement)
	defer func() { require.NoError(d.t, rows.Close()) }()
	types, err := rows.ColumnTypes()
	require.NoError(d.t, err)

	result := [][]any{}
	for rows.Next() {
		row, into := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			into[i] = &row[i]
		}
		require.NoError(d.t, rows.Scan(into...))
		for i := range row {
			row[i] = d.plain(row[i], types[i].DatabaseTypeName())
		}
		result = append(result, row)
	}
	require.NoError(d.t, rows.Err())
	return result
}

func (d *duck) plain(value any, sqlType string) any {
	d.t.Helper()
	switch v := value.(type) {
	case nil, string, bool, int64, float64:
		return v
	case int32:
		return int64(v)
	case time.Time:
		if sqlType == "DATE" {
			return v.Format(time.DateOnly)
		}
		return v.UnixMicro()
	default:
		require.Fail(d.t, "unexpected type", "%s is read as %T", sqlType, value)
		return nil
	}
}

// one returns the single value of a statement.
func (d *duck) one(statement string, args ...any) any {
	d.t.Helper()
	rows := d.query(statement, args...)
	require.Len(d.t, rows, 1, statement)
	require.Len(d.t, rows[0], 1, statement)
	return rows[0][0]
}

// describe returns the names and types of the columns of a table or a query.
func (d *duck) describe(what string) [][]any {
	d.t.Helper()
	return d.query("SELECT column_name, column_type FROM (DESCRIBE " + what + ")")
}

// literal quotes a text for SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
