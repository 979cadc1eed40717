package s3

import (
	"context"
	"errors"
	"fmt"
	"os"

	"example.org/growthexport/internal/sink"
)

// draft is a file in the scratch folder that has lost its name at once where
// the system allows it, so that nothing is left of it when the process is
// killed.
type draft struct {
	sink.DraftFile

	store *Store
	named bool // the system keeps the name until the file is closed
}

// Draft starts a file in the scratch folder. Its path is to carry the run, as
// those of package sink do, for Sweep to find what is left of it.
func (s *Store) Draft(ctx context.Context, _ /* run */, path string) (sink.Draft, error) {
	if err := ready(ctx, path); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.opts.Scratch, "growth-export-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch file for %s: %w", path, err)
	}
	d := &draft{store: s, named: os.Remove(f.Name()) != nil}
	d.File, d.Path = f, path
	d.Failed = func(err error) error { return d.scratchError("write", err) }
	return d, nil
}

// Stage uploads the file as the parts of a multipart upload. It may be tried
// again after an error; of the upload that failed nothing is left.
func (d *draft) Stage(ctx context.Context) ([]byte, error) {
	return d.StageOnce(func(size int64) ([]byte, error) {
		token, err := d.store.upload(ctx, d.Path, d.File, size)
		if err != nil {
			return nil, err
		}
		_ = d.drop() // The upload is whole, whatever becomes of the scratch file.
		return token, nil
	})
}

// Abort drops the scratch file.
func (d *draft) Abort() error { return d.AbortOnce(d.drop) }

func (d *draft) drop() error {
	err := d.File.Close()
	if d.named {
		err = errors.Join(err, os.Remove(d.File.Name()))
	}
	if err != nil {
		return d.scratchError("remove", err)
	}
	return nil
}

// scratchError says that it is the scratch folder that fails, as when it is
// full.
func (d *draft) scratchError(verb string, err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err // The file has no name to tell.
	}
	folder := d.store.opts.Scratch
	if folder == "" {
		folder = os.TempDir()
	}
	return fmt.Errorf("%s the scratch file of %s in %s: %w", verb, d.Path, folder, err)
}
