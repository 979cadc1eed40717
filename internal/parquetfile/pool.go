package parquetfile

import (
	"io"
	"sync"
	"sync/atomic"

	"example.org/growthexport/schemas"
)

// Pool reuses writers with equal options and their memory, because a run writes hundreds of files, most of them small.
// It is safe for concurrent use. The garbage collector may free unused writers.
type Pool struct {
	opts Options
	// writers holds a sync.Pool for each table. In a writer that had written another table before, columns would keep
	// buffers of the wrong size.
	writers sync.Map
	// kept is the writer that was last returned to the pool, unless it is in use again. It is only set in pools of
	// background writers. These write several files of a table in succession, and the garbage collector would free the
	// writer in between.
	kept atomic.Pointer[Writer]
}

// NewPool returns a pool of writers with these options.
func NewPool(opts Options) *Pool { return &Pool{opts: opts} }

// Get returns a writer that starts a file of the table on out.
func (p *Pool) Get(out io.Writer, table *schemas.Table) *Writer {
	if w := p.kept.Swap(nil); w != nil {
		p.of(w.table).Put(w)
	}
	if w, ok := p.of(table).Get().(*Writer); ok {
		w.Reset(out, table)
		return w
	}
	return NewWriter(out, table, p.opts)
}

// Put returns a writer to the pool. If its file has not been closed, the file is abandoned. The caller must not use the
// writer afterwards.
func (p *Pool) Put(w *Writer) {
	w.settle()
	w.out = nil
	if p.opts.Background {
		if w = p.kept.Swap(w); w == nil {
			return
		}
	}
	p.of(w.table).Put(w)
}

func (p *Pool) of(table *schemas.Table) *sync.Pool {
	writers, _ := p.writers.LoadOrStore(table, new(sync.Pool))
	pool, _ := writers.(*sync.Pool)
	return pool
}
