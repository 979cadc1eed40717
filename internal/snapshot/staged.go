package snapshot

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// ReadStaged hands the rows of a staged file to use, some at a time; the batch
// is used again for the next. The table may be some of the file's columns. An
// error wraps errors.ErrUnsupported for a store that cannot read what is staged.
func (c Catalog) ReadStaged(ctx context.Context, run string, file sink.File, table *schemas.Table, use func(*rows.Batch) error) (err error) {
	reader, ok := c.Store.(sink.StagedReader)
	if !ok {
		return fmt.Errorf("read back %s: %w", file.Path, errors.ErrUnsupported)
	}
	object, err := reader.OpenStaged(ctx, run, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if object.Size() != file.Bytes {
		return fmt.Errorf("read back %s: it has %d bytes, %d were staged", file.Path, object.Size(), file.Bytes)
	}
	if err := ReadRows(object, object.Size(), table, use); err != nil {
		return fmt.Errorf("read back %s: %w", file.Path, err)
	}
	return nil
}
