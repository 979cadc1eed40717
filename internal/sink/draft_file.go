package sink

import (
	"fmt"
	"io"
)

// DraftFile is the file in which a Draft grows, and what may be done with it
// when: it is written, finished and read, and at last staged or aborted. A
// store embeds it in its own Draft, and says what staging and aborting are.
type DraftFile struct {
	File interface {
		io.Writer
		io.ReaderAt
		io.Closer
		Name() string
	}
	// Path is where the file will be visible.
	Path string
	// Failed puts an error of writing into the store's words.
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

// ReadAt reads what was written.
func (f *DraftFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.state != draftFinished {
		return 0, f.misuse("read")
	}
	return f.File.ReadAt(p, offset)
}

// StageOnce has the finished file of that size staged, unless it is, and
// returns what that returned. After an error it may be tried again.
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

// AbortOnce has the file dropped, unless it is staged or dropped.
func (f *DraftFile) AbortOnce(drop func() error) error {
	if f.state >= draftStaged {
		return nil
	}
	f.state = draftAborted
	return drop()
}

func (f *DraftFile) misuse(verb string) error {
	return fmt.Errorf("%s %s: the draft is not in that state", verb, f.Path)
}
