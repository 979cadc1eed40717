package maintenance

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

// dataFile is a visible data file, open for reading, with the columns that it has: an earlier release may have written
// it, with other columns than are declared today, or of a table that is no longer declared.
type dataFile struct {
	sink.Object

	table *schemas.Table
}

// openDataFile opens a file. A column that is declared has the declared class, and the declared type where both are
// text, so that JSON is known as such.
func openDataFile(ctx context.Context, catalog snapshot.Catalog, path string, declared *schemas.Table) (*dataFile, error) {
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
		if isText(&table.Columns[i]) && isText(&declared.Columns[at]) {
			table.Columns[i].Type = declared.Columns[at].Type
		}
	}
	return &dataFile{Object: object, table: table}, nil
}

func isText(c *schemas.Column) bool { return c.Type == schemas.String || c.Type == schemas.JSON }

// textColumns returns the columns of a table that hold text: the bids, and the keys of records, are among them.
func textColumns(table *schemas.Table) *schemas.Table {
	text := &schemas.Table{Name: table.Name}
	for i := range table.Columns {
		if isText(&table.Columns[i]) {
			text.Columns = append(text.Columns, table.Columns[i])
		}
	}
	return text
}

// selectText returns a function that picks the named text columns that a table has.
func selectText(names []string) func(*schemas.Table) *schemas.Table {
	return func(table *schemas.Table) *schemas.Table { return snapshot.SelectColumns(textColumns(table), names...) }
}

// readFile hands the rows of a visible file to use, page by page, with the columns that pick selects from the file's.
func readFile(
	ctx context.Context, catalog snapshot.Catalog, path string, declared *schemas.Table,
	pick func(*schemas.Table) *schemas.Table, use func(*rows.Batch) error,
) (err error) {
	file, err := openDataFile(ctx, catalog, path, declared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = snapshot.ReadRows(file, file.Size(), pick(file.table), func(batch *rows.Batch) error {
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
