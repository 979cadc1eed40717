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
	store *Store
	path  string // where it will be visible
	file  *os.File
	named bool // the system keeps the name until the file is closed
	size  int64
	state draftState
	token []byte // once staged
}

type draftState uint8

const (
	draftOpen draftState = iota
	draftFinished
	draftStaged
	draftAborted
)

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
	named := os.Remove(f.Name()) != nil
	return &draft{store: s, path: path, file: f, named: named}, nil
}

func (d *draft) Write(p []byte) (int, error) {
	if d.state != draftOpen {
		return 0, d.misuse("write")
	}
	n, err := d.file.Write(p)
	d.size += int64(n)
	if err != nil {
		err = d.scratchError("write", err)
	}
	return n, err
}

// Finish returns the size of the file.
func (d *draft) Finish() (int64, error) {
	if d.state > draftFinished {
		return 0, d.misuse("finish")
	}
	d.state = draftFinished
	return d.size, nil
}

func (d *draft) ReadAt(p []byte, offset int64) (int, error) {
	if d.state != draftFinished {
		return 0, d.misuse("read")
	}
	return d.file.ReadAt(p, offset)
}

// Stage uploads the file as the parts of a multipart upload. It may be tried
// again after an error; of the upload that failed nothing is left.
func (d *draft) Stage(ctx context.Context) ([]byte, error) {
	switch d.state {
	case draftStaged:
		return d.token, nil
	case draftFinished:
	case draftOpen, draftAborted:
		return nil, d.misuse("stage")
	}
	token, err := d.store.upload(ctx, d.path, d.file, d.size)
	if err != nil {
		return nil, err
	}
	// The upload is whole, whatever becomes of the scratch file.
	d.token, d.state = token, draftStaged
	_ = d.drop()
	return token, nil
}

// Abort drops the scratch file.
func (d *draft) Abort() error {
	if d.state >= draftStaged {
		return nil
	}
	d.state = draftAborted
	return d.drop()
}

func (d *draft) drop() error {
	err := d.file.Close()
	if d.named {
		err = errors.Join(err, os.Remove(d.file.Name()))
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
	return fmt.Errorf("%s the scratch file of %s in %s: %w", verb, d.path, folder, err)
}

func (d *draft) misuse(verb string) error {
	return fmt.Errorf("%s %s: the draft is not in that state", verb, d.path)
}
