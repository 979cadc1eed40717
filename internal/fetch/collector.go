package fetch

import (
	"bufio"
	"errors"
	"io"
	"sync/atomic"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// collector collects the rows of one call chain in a decoder and, beyond maxBytes, in sorted runs in a scratch file.
type collector struct {
	*transform.Decoder // nil before acquireDecoder
	dataset            *Dataset
	params             transform.Params
	place              int64 // the place of the school in the queue for processors
	limits             transform.Limits
	only               transform.Only
	maxBytes           int
	together           *atomic.Int64 // the bytes of all decoders
	counted            int           // the bytes of this decoder that are included in together
	scratch            *Scratch
	runs               []section
}

// acquireDecoder gets a decoder if c does not have one yet. It is called only when an answer arrives, so that calls
// that are waiting for their first answer do not hold decoders.
func (c *collector) acquireDecoder() {
	if c.Decoder == nil {
		c.Decoder = c.dataset.newDecoder(c.params)
		c.SetLimits(c.limits)
		c.KeepOnly(c.only)
	}
}

// limitMemory writes a run if this decoder, or all decoders together, hold too many bytes.
func (c *collector) limitMemory() error {
	if c.dataset.inMemory {
		return nil
	}
	together, held := c.count(c.Bytes()), c.Held()
	if held <= c.maxBytes && (together <= maxHeldTogether || held <= minRunBytes) {
		return nil
	}
	return c.writeRun()
}

// count records how many bytes the decoder holds, and returns the bytes of all decoders.
func (c *collector) count(bytes int) int64 {
	added := bytes - c.counted
	c.counted = bytes
	return c.together.Add(int64(added))
}

func (c *collector) writeRun() error {
	run, err := c.scratch.write(c.WriteRun)
	if err == nil {
		c.runs = append(c.runs, run)
	}
	return err
}

// merge writes the remaining rows to a run, and passes the rows of all runs to use, part by part.
func (c *collector) merge(use func([]*rows.Batch) error) (transform.Result, error) {
	if err := c.writeRun(); err != nil {
		return transform.Result{}, err
	}
	readers := make([]io.Reader, len(c.runs))
	for i, run := range c.runs {
		readers[i] = bufio.NewReaderSize(run.reader(0), 1<<14)
	}
	done, err := c.MergeRuns(readers, use)
	if _, isScratch := errors.AsType[ScratchError](err); err != nil && !isScratch && !errors.Is(err, transform.ErrTooLarge) {
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
	c.count(0)
	c.dataset.release(c.Decoder)
}

// part holds some rows of a result, one batch per table. While the rows are in a scratch file, tables is nil.
type part struct {
	tables []*rows.Batch
	stored section
	of     []*schemas.Table
	starts []int64 // where the tables start in the section
}

func storePart(tables []*rows.Batch, s *Scratch) (part, error) {
	p := part{}
	for _, b := range tables {
		p.of = append(p.of, b.Table)
	}
	var err error
	p.stored, err = s.write(func(w io.Writer) error {
		at := int64(0)
		for _, b := range tables {
			n, err := b.WriteTo(w)
			if err != nil {
				return err
			}
			p.starts = append(p.starts, at)
			at += n
		}
		return nil
	})
	return p, err
}
