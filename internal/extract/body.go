package extract

import (
	"errors"
	"io"
	"slices"
	"sync"
)

const (
	// firstRoom is the most room taken on the word of a Content-Length, before any byte has come.
	firstRoom = 1 << 20
	// keptRoom is the largest buffer that waits for its next body. A page of results is about 2 MB; what is larger is rare,
	// and would otherwise stay for the rest of the run.
	keptRoom = 8 << 20
)

// errTooLong says that a body goes on after the limit.
var errTooLong = errors.New("body over the limit")

// buffer holds one whole body. Buffers are reused: whoever holds one gives it back with release and keeps nothing of data.
type buffer struct {
	data []byte
	home *buffers
}

// buffers hands out empty buffers.
type buffers struct{ pool sync.Pool }

func (p *buffers) get() *buffer {
	if b, ok := p.pool.Get().(*buffer); ok {
		return b
	}
	return &buffer{home: p}
}

func (b *buffer) release() {
	if cap(b.data) > keptRoom {
		return
	}
	b.data = b.data[:0]
	b.home.pool.Put(b)
}

// fill reads r into an empty buffer to its end, or to errTooLong once more than limit bytes have come. size is the expected number of bytes,
// negative if it is not known.
func (b *buffer) fill(r io.Reader, size, limit int64) error {
	// One byte more than is expected, so that the end is found without growing.
	b.data = slices.Grow(b.data, int(min(max(size, 0), firstRoom))+1)
	for {
		if len(b.data) == cap(b.data) {
			b.data = slices.Grow(b.data, max(len(b.data), 32<<10))
		}
		room := b.data[len(b.data):cap(b.data)]
		room = room[:min(int64(len(room)), limit+1-int64(len(b.data)))]
		n, err := r.Read(room)
		b.data = b.data[:len(b.data)+n]
		switch {
		case int64(len(b.data)) > limit:
			return errTooLong
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
