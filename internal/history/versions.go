package history

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// versions reads the rows of a history's files, one file after the other.
type versions struct {
	fileReader

	files []sink.File // still to be read
	name  string      // the open file
	// lacks lists the columns that each file read so far lacks, by the file's path.
	lacks map[string][]int
}

func newVersions(catalog snapshot.Catalog, table *schemas.Table, files []sink.File, checked *checkedFiles) *versions {
	return &versions{fileReader: fileReader{catalog: catalog, table: table, checked: checked}, files: files, lacks: make(map[string][]int)}
}

// cursor returns a cursor on the rows.
func (v *versions) cursor(ctx context.Context) *cursor {
	return newCursor(v.table, func(to *rows.Batch) (*rows.Batch, error) {
		err := v.next(ctx, to)
		return to, err
	})
}

// next appends the next rows to a batch.
func (v *versions) next(ctx context.Context, to *rows.Batch) error {
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if v.file != nil {
			err := v.read(to)
			if err == nil {
				return nil
			}
			if !errors.Is(err, io.EOF) {
				return v.damaged(err)
			}
			if err := v.close(); err != nil {
				return err
			}
		}
		if len(v.files) == 0 {
			return io.EOF
		}
		file := v.files[0]
		v.name, v.files = file.Path, v.files[1:]
		if err := v.openNext(ctx, file); err != nil {
			return v.damaged(err)
		}
	}
}

// openNext opens a file.
func (v *versions) openNext(ctx context.Context, file sink.File) error {
	err := v.open(ctx, file)
	v.lacks[file.Path] = v.lacking
	return err
}

// damaged wraps an error of reading the open file.
func (v *versions) damaged(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return damaged(v.name, err)
}

// damaged returns a *DamagedError with advice.
func damaged(path string, err error) error {
	return &wording.AdvisedError{
		Err:    &DamagedError{Path: path, Err: err},
		Advice: wording.Command("history", wording.Setting("rebuild")) + " rebuilds the history from the snapshots",
	}
}

// DamagedError reports that an object of the history cannot be used.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("cannot read %s of the history: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }
