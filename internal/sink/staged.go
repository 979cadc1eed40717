package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// StagedReader is a Store that can read back a file that is staged. A store
// that stages by multipart upload cannot.
type StagedReader interface {
	// OpenStaged opens a staged file. ErrStagedLost if it is gone.
	OpenStaged(ctx context.Context, run string, file File) (Object, error)
}

var _ StagedReader = (*Dir)(nil)

// OpenStaged opens a staged file, or the committed one.
func (d *Dir) OpenStaged(ctx context.Context, run string, file File) (Object, error) {
	if err := errors.Join(ctx.Err(), CheckPath(file.Path)); err != nil {
		return nil, err
	}
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ErrStagedLost)
	}
	from, err := staged(run, file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{from, file.Path} {
		if name == "" {
			continue
		}
		object, err := d.openFile(root, name)
		if !errors.Is(err, ErrNotFound) {
			return object, err
		}
	}
	return nil, d.failed("open the staged file of", file.Path, ErrStagedLost)
}

// ReadStaged hands the rows of a staged file to use, some at a time; the batch
// is used again for the next. The table may be some of the file's columns. An
// error wraps errors.ErrUnsupported for a store that cannot read what is staged.
func ReadStaged(ctx context.Context, store Store, run string, file File, table *schemas.Table, use func(*rows.Batch) error) (err error) {
	reader, ok := store.(StagedReader)
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
	if err := readRows(object, object.Size(), table, use); err != nil {
		return fmt.Errorf("read back %s: %w", file.Path, err)
	}
	return nil
}
