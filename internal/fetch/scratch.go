package fetch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"example.org/growthexport/internal/wording"
)

// scratchFolder is the folder of a run's scratch files.
type scratchFolder struct {
	path string // empty for the system's temporary directory

	mu   sync.Mutex
	open map[*Scratch]bool
	errs []error
}

// close closes the files that are still open after a run has ended early. It returns the errors of all files.
func (f *scratchFolder) close() error {
	for s := range f.open {
		s.close()
	}
	return errors.Join(f.errs...)
}

// Scratch is an unnamed file for rows that do not fit in memory. Because it holds student data, it is removed from its
// folder as soon as it is open, if the system allows that. Nothing is then left behind, no matter how the process ends.
// The file is open while it holds a section. It must be used by only one goroutine at a time.
type Scratch struct {
	folder *scratchFolder

	file *os.File
	// named is the file's name if the system cannot remove an open file, or empty.
	named    string
	buffer   *bufio.Writer
	end      int64
	sections int
}

// section is a part of a scratch file.
type section struct {
	in           *Scratch
	offset, size int64
}

// ScratchError is an error of the scratch folder. It ends the run, because other schools would fail in the same way.
type ScratchError struct{ error }

func (e ScratchError) Unwrap() error { return e.error }

// write calls write with a writer, and returns the section that holds the written bytes.
func (s *Scratch) write(write func(io.Writer) error) (section, error) {
	if s.file == nil {
		if err := s.create(); err != nil {
			return section{}, ScratchError{fmt.Errorf("open a scratch file (see %s): %w", wording.Setting("scratch"), err)}
		}
	}
	to := io.NewOffsetWriter(s.file, s.end)
	s.buffer.Reset(to)
	// Flush repeats the error of a failed write.
	if err := cmp.Or(write(s.buffer), s.buffer.Flush()); err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // The name in the error no longer exists.
		}
		remedy := ""
		if errors.Is(err, syscall.ENOSPC) {
			remedy = ": free some space there"
		}
		return section{}, ScratchError{fmt.Errorf("write to the scratch file in %s (see %s): %w%s", s.where(), wording.Setting("scratch"), err, remedy)}
	}
	written, err := to.Seek(0, io.SeekCurrent)
	at := section{in: s, offset: s.end, size: written}
	s.end += written
	s.sections++
	return at, err
}

func (s *Scratch) create() error {
	file, err := os.CreateTemp(s.folder.path, "growth-export-*")
	if err != nil {
		return err
	}
	if os.Remove(file.Name()) != nil {
		s.named = file.Name()
	}
	s.file, s.buffer, s.end = file, bufio.NewWriterSize(nil, 1<<16), 0
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	if s.folder.open == nil {
		s.folder.open = make(map[*Scratch]bool)
	}
	s.folder.open[s] = true
	return nil
}

// reader returns a reader of the section, starting at an offset.
func (at section) reader(from int64) io.Reader {
	return io.NewSectionReader(at.in.file, at.offset+from, at.size-from)
}

// free releases the section, and closes the file after its last section.
func (at section) free() {
	if at.in.sections--; at.in.sections == 0 {
		at.in.close()
	}
}

func (s *Scratch) readError(err error) error {
	return ScratchError{fmt.Errorf("read back from the scratch file in %s: %w", s.where(), err)}
}

func (s *Scratch) where() string {
	if s.folder.path == "" {
		return os.TempDir()
	}
	return s.folder.path
}

// close closes the file and so discards its contents.
func (s *Scratch) close() {
	err := s.file.Close()
	if s.named != "" {
		err = errors.Join(err, os.Remove(s.named))
	}
	s.file, s.buffer, s.named = nil, nil, ""
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	delete(s.folder.open, s)
	if err != nil {
		s.folder.errs = append(s.folder.errs, fmt.Errorf("close the scratch file in %s: %w", s.where(), err))
	}
}
