package history

import (
	"bytes"
	"fmt"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// older reads the columns that files of an older format lack. When these files were written, the values were undeclared
// members, which are kept in _extra. Therefore _extra is decoded as a record with these columns.
type older struct {
	decoder *transform.Decoder
	table   *schemas.Table // the columns that the file lacks, and _extra
	body    []byte
}

// newOlder returns a reader of the columns that a file lacks. It returns nil if the file has no _extra, or lacks only
// columns whose values do not come from a record.
func newOlder(table, stored *schemas.Table, lacking []int) (*older, error) {
	extra := table.Column("_extra")
	if extra < 0 || slices.Contains(lacking, extra) {
		return nil, nil
	}
	some := &schemas.Table{Name: stored.Name}
	for _, i := range lacking {
		switch column := table.Columns[i]; column.Source[0] {
		case schemas.SourceParam, schemas.SourceParent:
		default:
			column.Key = false // so that the decoder does not sort the records
			some.Columns = append(some.Columns, column)
		}
	}
	if len(some.Columns) == 0 {
		return nil, nil
	}
	some.Columns = append(some.Columns, table.Columns[extra])
	plan, err := transform.Compile(&schemas.Dataset{Name: table.Name, Tables: []*schemas.Table{some}})
	if err != nil {
		return nil, err
	}
	return &older{decoder: plan.NewDecoder(), table: some}, nil
}

// read returns, for each row of a batch of the file, the columns that the file lacks, and _extra without the members in
// these columns. The result is valid until the next call.
func (o *older) read(b *rows.Batch) (*rows.Batch, error) {
	extra := b.Table.Column("_extra")
	o.body = append(o.body[:0], '[')
	for row := range b.N {
		if row > 0 {
			o.body = append(o.body, ',')
		}
		if text := textOf(b, extra, row); len(text) > 0 {
			o.body = append(o.body, text...)
		} else {
			o.body = append(o.body, "{}"...)
		}
	}
	o.body = append(o.body, ']')
	o.decoder.Reset(nil)
	if _, err := o.decoder.ReadPage(bytes.NewReader(o.body)); err != nil {
		return nil, fmt.Errorf("read _extra: %w", err)
	}
	found := o.decoder.Finish().Tables[0]
	if found.Len() != b.N {
		return nil, fmt.Errorf("read _extra: found %d records in %d rows", found.Len(), b.N)
	}
	return found, nil
}
