package parquetfile

import (
	"io"
	"sync"

	"example.org/growthexport/schemas"
)

// Pool hands out writers of equal options and keeps their memory for the next
// file: a run writes hundreds, most of them small. It may be used by many
// goroutines; what it keeps is free for the garbage collector to take.
type Pool struct {
	opts    Options
	writers sync.Pool
}

// NewPool returns a pool of writers with these options.
func NewPool(opts Options) *Pool { return &Pool{opts: opts} }

// Get returns a writer that starts a file of the table on out.
func (p *Pool) Get(out io.Writer, table *schemas.Table) *Writer {
	if w, ok := p.writers.Get().(*Writer); ok {
		w.Reset(out, table)
		return w
	}
	return NewWriter(out, table, p.opts)
}

// Put takes a writer back, whether its file was closed or given up. The caller
// must not use it any more.
func (p *Pool) Put(w *Writer) {
	w.out = nil
	p.writers.Put(w)
}
