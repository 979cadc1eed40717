package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"example.org/growthexport/internal/rows"
)

// scratch is one unnamed file in which results of a task wait. It holds student
// data, so it is removed from its folder as soon as it is open: however the
// process ends, nothing is left behind. Its zero value, with a folder, is ready.
type scratch struct {
	folder string

	file *os.File
	// named is the file's name where an open file cannot be removed.
	named  string
	end    int64
	spills int
}

// spill moves a result's rows into the file.
func (s *scratch) spill(d *dataset, r *result) error {
	if s.file == nil {
		file, err := os.CreateTemp(s.folder, "growth-export-*")
		if err != nil {
			return fmt.Errorf("open a scratch file (see --scratch): %w", err)
		}
		if os.Remove(file.Name()) != nil {
			s.named = file.Name()
		}
		s.file = file
	}
	to := &spill{offset: s.end, batches: make([]int, len(r.tables))}
	buffered := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), 1<<18)
	for i, batches := range r.tables {
		to.batches[i] = len(batches)
		for _, b := range batches {
			n, err := b.WriteTo(buffered)
			if err != nil {
				return fmt.Errorf("write to the scratch file in %s (see --scratch): %w", s.where(), err)
			}
			to.size += n
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write to the scratch file in %s (see --scratch): %w", s.where(), err)
	}
	s.end += to.size
	s.spills++
	for _, c := range r.decoders {
		d.release(c)
	}
	r.decoders, r.tables, r.spilled = nil, nil, to
	return nil
}

// readBack reads a result's rows back. An empty file is truncated.
func (s *scratch) readBack(d *dataset, r *result) error {
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
func (s *scratch) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.named != "" {
		err = errors.Join(err, os.Remove(s.named))
	}
	s.file = nil
	return err
}
