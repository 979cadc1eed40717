package fetch

import (
	"cmp"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a page or a result waits for a processor before it continues without one. The wait is limited
// because a request can time out while its answer is not being read, and a slow disk may keep the processors busy for a
// long time.
const patience = 5 * time.Second

// processors shares the processors among the schools that are being read. A school needs a processor to scan its
// answers and to deliver its result. Of the schools that are waiting, the school that began first goes first. As a
// result, schools finish one after the other and few of them hold rows. Otherwise, all schools would be half read.
type processors struct {
	mu      sync.Mutex
	free    int
	waiting []*waitingSchool
	places  atomic.Int64
}

func newProcessors() *processors { return &processors{free: runtime.GOMAXPROCS(0)} }

// nextPlace returns the place in the queue for a school that begins now.
func (p *processors) nextPlace() int64 { return p.places.Add(1) }

// processor is one school's use of a processor.
type processor struct {
	of       *processors
	place    int64
	patience time.Duration
	held     bool
}

func (p *processors) at(place int64) *processor {
	return &processor{of: p, place: place, patience: patience}
}

// acquire waits for a processor, but no longer than the patience that is left.
func (u *processor) acquire() {
	p := u.of
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		u.held = true
	}
	if u.held || u.patience <= 0 {
		p.mu.Unlock()
		return
	}
	w := &waitingSchool{place: u.place, granted: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	began := time.Now()
	timer := time.NewTimer(u.patience)
	defer timer.Stop()
	select {
	case <-w.granted:
	case <-timer.C:
	}
	u.patience -= time.Since(began)
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.held = w.served; !u.held {
		p.waiting = slices.DeleteFunc(p.waiting, func(other *waitingSchool) bool { return other == w })
	}
}

// release gives the processor back, if it is held.
func (u *processor) release() {
	if !u.held {
		return
	}
	u.held = false
	p := u.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.free++
		return
	}
	first := slices.MinFunc(p.waiting, func(a, b *waitingSchool) int { return cmp.Compare(a.place, b.place) })
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waitingSchool) bool { return w == first })
	first.served = true
	close(first.granted)
}

// reading returns a reader of body that releases the processor while it waits for data. Each Read fills its buffer
// unless the body ends.
func (u *processor) reading(body io.Reader) io.Reader { return &sharedReader{body: body, processor: u} }

type sharedReader struct {
	body      io.Reader
	processor *processor
}

func (r *sharedReader) Read(b []byte) (n int, err error) {
	r.processor.release()
	defer r.processor.acquire()
	for n < len(b) && err == nil {
		var more int
		more, err = r.body.Read(b[n:])
		n += more
	}
	return n, err
}

// waitingSchool is a school that waits for a processor.
type waitingSchool struct {
	place   int64
	granted chan struct{} // closed when the school gets a processor
	served  bool
}
