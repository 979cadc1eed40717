package pipeline

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// waitingBytes is how much memory finished schools may take together while
// they wait for their turn in the file; what is beyond waits in scratch.
const waitingBytes = 8 << 20

// scratch is one unnamed file in which results wait. It holds student data, so
// it is removed from its folder as soon as it is open: however the process
// ends, nothing is left behind.
type scratch struct {
	folder string

	mu     sync.Mutex
	file   *os.File
	end    int64
	spills int
}

// spill is the part of the scratch file where one result waits.
type spill struct {
	offset, size int64
	batches      []int // per table
}

// put moves a result's rows into the file.
func (s *scratch) put(d *dataset, r *result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		file, err := os.CreateTemp(s.folder, "growth-export-*")
		if err != nil {
			return fmt.Errorf("open a scratch file (see --scratch): %w", err)
		}
		if err := os.Remove(file.Name()); err != nil {
			_ = file.Close()
			return fmt.Errorf("unlink the scratch file: %w", err)
		}
		s.file = file
	}
	to := &spill{offset: s.end, batches: make([]int, len(r.tables))}
	counted := &countingWriter{w: io.NewOffsetWriter(s.file, s.end)}
	buffered := bufio.NewWriterSize(counted, 1<<18)
	for i, batches := range r.tables {
		to.batches[i] = len(batches)
		for _, b := range batches {
			if _, err := b.WriteTo(buffered); err != nil {
				return fmt.Errorf("write to the scratch file in %s (see --scratch): %w", s.where(), err)
			}
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write to the scratch file in %s (see --scratch): %w", s.where(), err)
	}
	to.size = counted.n
	s.end += counted.n
	s.spills++
	for _, c := range r.chains {
		d.release(c)
	}
	r.chains, r.tables, r.spilled = nil, nil, to
	return nil
}

// take reads a result's rows back and frees their place.
func (s *scratch) take(d *schemas.Dataset, r *result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := bufio.NewReaderSize(io.NewSectionReader(s.file, r.spilled.offset, r.spilled.size), 1<<18)
	r.tables = make([][]*rows.Batch, len(r.spilled.batches))
	for i, n := range r.spilled.batches {
		for range n {
			b := rows.New(d.Tables[i])
			if _, err := b.ReadFrom(from); err != nil {
				return fmt.Errorf("read back from the scratch file in %s: %w", s.where(), err)
			}
			r.tables[i] = append(r.tables[i], b)
		}
	}
	r.spilled = nil
	if s.spills--; s.spills == 0 {
		s.end = 0
		if err := s.file.Truncate(0); err != nil {
			return fmt.Errorf("truncate the scratch file: %w", err)
		}
	}
	return nil
}

func (s *scratch) where() string {
	if s.folder == "" {
		return os.TempDir()
	}
	return s.folder
}

// close ends the file, and with it what is in it.
func (s *scratch) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
	}
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
