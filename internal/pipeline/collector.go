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

func (f *fetcher) newCollector(d *dataset, params transform.Params, r *result) *collector {
	c := &collector{Decoder: d.newDecoder(params), dataset: d, maxBytes: f.maxHeldBytes, scratch: &scratch{folder: f.scratch}}
	c.SetLimits(f.limits(r))
	return c
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

// addRows adds the rows of a chain and takes over the collector.
func (r *result) addRows(c *collector) error {
	if len(c.runs) > 0 {
		defer c.release()
		return r.addRuns(c)
	}
	done := c.Finish()
	r.collectors = append(r.collectors, c)
	r.parts = append(r.parts, part{tables: done.Tables})
	r.count(c, &done, done.Tables[0].Len())
	return r.limitMemory(c)
}

// copyRows adds the rows of a chain that holds few, of which there are many.
func (r *result) copyRows(c *collector) error {
	if len(c.runs) > 0 {
		return r.addRuns(c)
	}
	done := c.Finish()
	last := len(r.parts) - 1
	if last < 0 || r.parts[last].tables == nil {
		r.parts = append(r.parts, part{})
		last++
		for _, b := range done.Tables {
			r.parts[last].tables = append(r.parts[last].tables, rows.New(b.Table))
		}
	}
	for i, b := range done.Tables {
		r.parts[last].tables[i].AppendRows(b, 0, b.Len())
	}
	r.count(c, &done, done.Tables[0].Len())
	return r.limitMemory(c)
}

// addRuns adds the rows of a chain that are in runs.
func (r *result) addRuns(c *collector) error {
	s := r.scratchIn(c.scratch.folder)
	n := 0
	done, err := c.merge(func(tables []*rows.Batch) error {
		p, err := storePart(tables, s)
		if err == nil {
			r.parts = append(r.parts, p)
			n += tables[0].Len()
		}
		return err
	})
	if err == nil {
		r.count(c, &done, n)
	}
	return err
}

// limitMemory moves the rows to a scratch file if they take too much memory.
func (r *result) limitMemory(c *collector) error {
	size := 0
	for _, p := range r.parts {
		for _, b := range p.tables {
			size += b.Size()
		}
	}
	if size <= c.maxBytes {
		return nil
	}
	return r.spill(r.scratchIn(c.scratch.folder))
}

// scratchIn returns the scratch file of a result that does not fit in memory.
func (r *result) scratchIn(folder *scratchFolder) *scratch {
	if r.scratch == nil {
		r.scratch = &scratch{folder: folder}
	}
	return r.scratch
}

// spill moves the rows to a scratch file.
func (r *result) spill(s *scratch) error {
	for i := range r.parts {
		if r.parts[i].tables == nil {
			continue
		}
		stored, err := storePart(r.parts[i].tables, s)
		if err != nil {
			return err
		}
		r.parts[i] = stored
	}
	r.releaseCollectors()
	return nil
}

// each passes the rows to use, part by part, in the order of the file. They are valid until use returns.
func (r *result) each(use func(tables []*rows.Batch) error) error {
	var from *bufio.Reader
	var read []*rows.Batch
	for _, p := range r.parts {
		tables := p.tables
		if tables == nil {
			if read == nil {
				from = bufio.NewReaderSize(nil, 1<<16)
				for _, table := range p.of {
					read = append(read, rows.New(table))
				}
			}
			from.Reset(p.stored.reader())
			for _, b := range read {
				if _, err := b.ReadFrom(from); err != nil {
					return p.stored.in.readError(err)
				}
			}
			tables = read
		}
		if err := use(tables); err != nil {
			return err
		}
	}
	return nil
}
