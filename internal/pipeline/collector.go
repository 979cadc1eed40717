package pipeline

import (
	"bufio"
	"errors"
	"io"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// maxHeldBytes is the memory that the rows of one school may take before they are moved to a scratch file.
const maxHeldBytes = 24 << 20

// collector collects the rows of one call chain: in a decoder, and beyond maxBytes in sorted runs in a scratch file.
type collector struct {
	*transform.Decoder
	dataset  *dataset
	maxBytes int
	scratch  *scratch
	runs     []section
}

// limitMemory writes a run if the decoder holds too much.
func (c *collector) limitMemory() error {
	if c.Held() <= c.maxBytes {
		return nil
	}
	return c.writeRun()
}

func (c *collector) writeRun() error {
	run, err := c.scratch.write(c.WriteRun)
	if err == nil {
		c.runs = append(c.runs, run)
	}
	return err
}

// merge passes the rows of all runs to use, part by part.
func (c *collector) merge(use func([]*rows.Batch) error) (transform.Result, error) {
	if err := c.writeRun(); err != nil {
		return transform.Result{}, err
	}
	readers := make([]io.Reader, len(c.runs))
	for i, run := range c.runs {
		readers[i] = bufio.NewReaderSize(run.reader(), 1<<14)
	}
	done, err := c.MergeRuns(readers, use)
	if _, isScratch := errors.AsType[scratchError](err); err != nil && !isScratch && !errors.Is(err, transform.ErrTooLarge) {
		err = c.scratch.readError(err)
	}
	return done, err
}

// release frees the decoder and the runs.
func (c *collector) release() {
	for _, run := range c.runs {
		run.free()
	}
	c.runs = nil
	c.dataset.release(c.Decoder)
}

// part holds some rows of a result, one batch per table. While they are in a scratch file, tables is nil.
type part struct {
	tables []*rows.Batch
	stored section
	of     []*schemas.Table
}

func storePart(tables []*rows.Batch, s *scratch) (part, error) {
	p := part{}
	for _, b := range tables {
		p.of = append(p.of, b.Table)
	}
	var err error
	p.stored, err = s.write(func(w io.Writer) error {
		for _, b := range tables {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}
