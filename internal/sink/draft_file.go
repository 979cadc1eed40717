package sink

import (
	"fmt"
	"io"
)

// DraftFile is the file to which a Draft is written, with the state of the draft. A store embeds it in its own type,
// which implements Stage and Abort.
type DraftFile struct {
	File interface {
		io.Writer
		io.ReaderAt
		io.Closer
		Name() string
	}
	// Path is the path at which the file will be visible.
	Path string
	// Failed adds the store's context to a write error.
	Failed func(err error) error

	size   int64
	state  draftState
	staged []byte
}

type draftState uint8

const (
	draftOpen draftState = iota
	draftFinished
	draftStaged
	draftAborted
)

// Write appends to the file.
func (f *DraftFile) Write(p []byte) (int, error) {
	if f.state != draftOpen {
		return 0, f.misuse("write")
	}
	n, err := f.File.Write(p)
	f.size += int64(n)
	if err != nil {
		err = f.Failed(err)
	}
	return n, err
}

// Finish ends writing and returns the size of the file.
func (f *DraftFile) Finish() (int64, error) {
	if f.state > draftFinished {
		return 0, f.misuse("finish")
	}
	f.state = draftFinished
	return f.size, nil
}

// ReadAt reads bytes of the finished file.
func (f *DraftFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.state != draftFinished {
		return 0, f.misuse("read")
	}
	return f.File.ReadAt(p, offset)
}

// StageOnce calls stage with the size of the finished file and returns the result. If the file is already staged, it
// returns the earlier result. After an error, it can be called again.
func (f *DraftFile) StageOnce(stage func(size int64) ([]byte, error)) ([]byte, error) {
	switch f.state {
	case draftStaged:
		return f.staged, nil
	case draftFinished:
	case draftOpen, draftAborted:
		return nil, f.misuse("stage")
	}
	staged, err := stage(f.size)
	if err != nil {
		return nil, err
	}
	f.staged, f.state = staged, draftStaged
	return staged, nil
}

// AbortOnce calls drop, unless the draft is already staged or aborted.
func (f *DraftFile) AbortOnce(drop func() error) error {
	if f.state >= draftStaged {
		return nil
	}
	f.state = draftAborted
	return drop()
}

func (f *DraftFile) misuse(verb string) error {
	state := [...]string{"still open", "finished", "staged", "aborted"}[f.state]
	return fmt.Errorf("%s %s: the draft is %s", verb, f.Path, state)
}
