package erase

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// File is a visible data file that is open for reading. Table has the file's own columns, because an earlier release
// may have written the file with other columns, or for a table that is no longer declared.
type File struct {
	sink.Object

	Table *schemas.Table
}

// OpenFile opens a file. Its columns get the declared class and, if both types are text, the declared type, so that
// JSON is recognized.
func OpenFile(ctx context.Context, catalog snapshot.Catalog, path string, declared *schemas.Table) (*File, error) {
	object, err := catalog.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	table, err := parquetfile.TableOf(object, object.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), object.Close())
	}
	for i := range table.Columns {
		at := declared.Column(table.Columns[i].Name)
		if at < 0 {
			continue
		}
		table.Columns[i].Class = declared.Columns[at].Class
		if IsText(&table.Columns[i]) && IsText(&declared.Columns[at]) {
			table.Columns[i].Type = declared.Columns[at].Type
		}
	}
	return &File{Object: object, Table: table}, nil
}

// IsText reports whether a column holds text.
func IsText(c *schemas.Column) bool { return c.Type == schemas.String || c.Type == schemas.JSON }

// TextColumns returns a table with only the text columns of the given table. These include the columns for bids and for
// the keys of records.
func TextColumns(table *schemas.Table) *schemas.Table {
	text := &schemas.Table{Name: table.Name}
	for i := range table.Columns {
		if IsText(&table.Columns[i]) {
			text.Columns = append(text.Columns, table.Columns[i])
		}
	}
	return text
}

// SelectText returns a function that picks the text columns with the given names, if the table has them.
func SelectText(names ...string) func(*schemas.Table) *schemas.Table {
	return func(table *schemas.Table) *schemas.Table { return snapshot.SelectColumns(TextColumns(table), names...) }
}

// ReadFile calls use for each page of rows of a visible file. The rows have only the columns that pick selects.
func ReadFile(
	ctx context.Context, catalog snapshot.Catalog, path string, declared *schemas.Table,
	pick func(*schemas.Table) *schemas.Table, use func(*rows.Batch) error,
) (err error) {
	file, err := OpenFile(ctx, catalog, path, declared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = snapshot.ReadRows(file, file.Size(), pick(file.Table), func(batch *rows.Batch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return use(batch)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// TextOf returns the text in a column of row i, or "" if the batch does not have the column.
func TextOf(batch *rows.Batch, i int, column string) string {
	c := batch.Table.Column(column)
	if c < 0 || batch.Cols[c].Null(i) {
		return ""
	}
	return string(batch.Cols[c].Text(i))
}
