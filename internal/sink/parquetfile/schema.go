package parquetfile

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

// TableOf returns the table that a file of that size holds as its own footer
// describes it, whatever is declared today: the columns in their order, and as
// keys the columns that its rows are sorted by. The columns have no sources or
// documentation. It is an error if the file has a type that a Writer does not
// write.
func TableOf(file io.ReaderAt, size int64) (_ *schemas.Table, err error) {
	defer recovered(&err)
	if _, err := Inspect(file, size); err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("open parquet file: %w", err)
	}
	meta := opened.Metadata()
	table := &schemas.Table{Name: meta.Schema[0].Name}
	for i := range meta.Schema[1:] {
		e := &meta.Schema[1+i]
		column := schemas.Column{
			Name: e.Name, Type: declaredType(e), Required: e.RepetitionType.Valid && e.RepetitionType.V == format.Required,
		}
		if column.Type == 0 {
			return nil, fmt.Errorf("open parquet file: its column %s is of a type that growth-export does not write", e.Name)
		}
		table.Columns = append(table.Columns, column)
	}
	if len(meta.RowGroups) > 0 {
		for _, by := range meta.RowGroups[0].SortingColumns {
			table.Columns[by.ColumnIdx].Key = true
		}
	}
	return table, nil
}

// declaredType returns the type of a column that the element describes, the
// inverse of schemaOf; 0 if there is none.
func declaredType(e *format.SchemaElement) schemas.Type {
	if !e.Type.Valid {
		return 0
	}
	if !e.ConvertedType.Valid {
		switch e.Type.V {
		case format.Int32:
			return schemas.Int32
		case format.Int64:
			return schemas.Int64
		case format.Double:
			return schemas.Double
		case format.Boolean:
			return schemas.Boolean
		default:
			return 0
		}
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8:
		return schemas.String
	case deprecated.Json: // format version 1 wrote _extra with it
		return schemas.JSON
	case deprecated.Date:
		return schemas.Date
	case deprecated.TimestampMicros:
		return schemas.Timestamp
	default:
		return 0
	}
}
