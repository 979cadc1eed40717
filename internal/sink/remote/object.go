package remote

import (
	"errors"
	"io"
	"sync"

	"example.org/growthexport/internal/sink"
)

// Window is the number of bytes that are fetched for a small read that does not continue the previous read, such as the
// read of a Parquet footer.
const Window = 256 << 10

// object is a sink.Object that is read in ranges. Consecutive reads, such as the reads for a hash, share one request.
// Other small reads fetch a window. Concurrent reads are served one after another.
type object struct {
	size  int64
	open  func(from, to int64) (io.ReadCloser, error)
	pause func(attempt int, cause error) error

	mu     sync.Mutex
	stream io.ReadCloser // the body of the open request; nil if there is none
	next   int64         // the stream's offset
	end    int64         // the stream's end
	ended  int64         // where the last read ended
	held   []byte        // the bytes of the window
	heldAt int64         // the window's offset
}

// NewObject returns an object of the given size, whose last bytes are tail if these are already known. open returns the
// bytes in the half-open range between two offsets. If a body breaks off, pause waits before open is called again. If
// pause returns an error, the read returns it.
func NewObject(
	size int64, tail []byte, open func(from, to int64) (io.ReadCloser, error), pause func(attempt int, cause error) error,
) sink.Object {
	return &object{size: size, held: tail, heldAt: size - int64(len(tail)), open: open, pause: pause}
}

// Size returns the object's size in bytes.
func (o *object) Size() int64 { return o.size }

// Close ends the open request.
func (o *object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeStream()
	return nil
}

// ReadAt reads bytes at an offset. It may send a request.
func (o *object) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("read at a negative offset")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if offset >= o.size {
		return 0, io.EOF
	}
	wanted := p[:min(int64(len(p)), o.size-offset)]
	n, err := o.read(wanted, offset)
	o.ended = offset + int64(n)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// read fills p from the window, the open stream, a new stream or a new window.
func (o *object) read(p []byte, offset int64) (int, error) {
	if offset >= o.heldAt && offset+int64(len(p)) <= o.heldAt+int64(len(o.held)) {
		return copy(p, o.held[offset-o.heldAt:]), nil
	}
	if offset == o.ended || len(p) >= Window {
		return o.readStream(p, offset, o.size)
	}
	o.heldAt = max(0, min(offset, o.size-Window))
	if cap(o.held) == 0 {
		o.held = make([]byte, Window)
	}
	o.held = o.held[:min(Window, o.size-o.heldAt)]
	n, err := o.readStream(o.held, o.heldAt, o.heldAt+int64(len(o.held)))
	o.held = o.held[:n]
	if err != nil {
		return 0, err
	}
	return copy(p, o.held[offset-o.heldAt:]), nil
}

// readStream fills p from the stream. It opens a new stream, up to end, if there is none, or if the current stream is
// at a different offset or breaks off.
func (o *object) readStream(p []byte, offset, end int64) (n int, err error) {
	if o.stream != nil && o.next != offset {
		o.closeStream()
	}
	attempt := 0
	for {
		if o.stream == nil {
			o.next, o.end = offset+int64(n), end
			if o.stream, err = o.open(o.next, end); err != nil {
				o.stream = nil
				return n, err
			}
		}
		m, err := io.ReadFull(o.stream, p[n:])
		n += m
		o.next += int64(m)
		if err == nil {
			if o.next == o.end {
				o.closeStream()
			}
			return n, nil
		}
		o.closeStream()
		if m > 0 {
			attempt = 0
		}
		attempt++
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err := o.pause(attempt, err); err != nil {
			return n, err
		}
	}
}

// closeStream closes the stream, if one is open. If the stream was not read to its end, its connection cannot be used
// again.
func (o *object) closeStream() {
	if o.stream != nil {
		_ = o.stream.Close() // The data read so far is valid.
		o.stream = nil
	}
}
