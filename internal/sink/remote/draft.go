package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"example.org/growthexport/internal/sink"
)

// draft is a sink.Draft in a scratch file. If the system allows it, the file is unlinked at once, so that a killed
// process leaves nothing behind.
type draft struct {
	sink.DraftFile

	scratch string
	upload  func(ctx context.Context, file io.ReaderAt, size int64) (staged []byte, err error)
	named   bool // the system does not allow unlinking the file while it is open
}

// NewDraft starts a file in the scratch folder, or in the system's temporary folder if scratch is empty. Stage calls
// upload with the finished file.
func NewDraft(
	scratch, path string, upload func(ctx context.Context, file io.ReaderAt, size int64) (staged []byte, err error),
) (sink.Draft, error) {
	f, err := os.CreateTemp(scratch, "growth-export-")
	if err != nil {
		return nil, fmt.Errorf("create a scratch file for %s: %w", path, err)
	}
	d := &draft{scratch: scratch, upload: upload, named: os.Remove(f.Name()) != nil}
	d.File, d.Path = f, path
	d.Failed = func(err error) error { return d.scratchError("write", err) }
	return d, nil
}

// Stage uploads the file. If the upload fails, it leaves nothing behind, and Stage can be called again.
func (d *draft) Stage(ctx context.Context) ([]byte, error) {
	return d.StageOnce(func(size int64) ([]byte, error) {
		staged, err := d.upload(ctx, d.File, size)
		if err != nil {
			return nil, err
		}
		_ = d.remove() // The upload is complete, so errors of the scratch file do not matter.
		return staged, nil
	})
}

// Abort removes the scratch file.
func (d *draft) Abort() error { return d.AbortOnce(d.remove) }

func (d *draft) remove() error {
	err := d.File.Close()
	if d.named {
		err = errors.Join(err, os.Remove(d.File.Name()))
	}
	if err != nil {
		return d.scratchError("remove", err)
	}
	return nil
}

// scratchError adds the operation and the scratch folder to an error, such as a full disk.
func (d *draft) scratchError(verb string, err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err // The path in the error may no longer exist.
	}
	return fmt.Errorf("%s the scratch file of %s in %s: %w", verb, d.Path, cmp.Or(d.scratch, os.TempDir()), err)
}
