package sink

import (
	"context"
	"errors"
	"sync"
)

// Ahead opens objects before they are needed, because opening an object on a remote store takes tens of milliseconds.
type Ahead struct {
	open  func(ctx context.Context, path string) (Object, error)
	paths []string
	after map[string]int // by path, the index of the next path
	depth int

	mu     sync.Mutex
	begun  map[string]*opening
	closed bool
}

// opening is an object that is being opened. Its result may be read once done is closed.
type opening struct {
	done   chan struct{}
	object Object
	err    error
}

// NewAhead returns an Ahead for objects that will probably be opened in the order of paths. It opens up to depth
// objects ahead.
func NewAhead(open func(ctx context.Context, path string) (Object, error), paths []string, depth int) *Ahead {
	a := &Ahead{open: open, paths: paths, after: make(map[string]int, len(paths)), depth: depth, begun: make(map[string]*opening)}
	for i, path := range paths {
		a.after[path] = i + 1
	}
	return a
}

// Open opens an object and, in the background, the objects that come after it, up to the depth. The caller closes the
// object. The context also applies to the objects that are opened in the background.
func (a *Ahead) Open(ctx context.Context, path string) (Object, error) {
	a.mu.Lock()
	if next, known := a.after[path]; known {
		for _, path := range a.paths[next:min(next+a.depth, len(a.paths))] {
			a.openInBackground(ctx, path)
		}
	}
	found := a.begun[path]
	delete(a.begun, path)
	a.mu.Unlock()
	if found == nil {
		return a.open(ctx, path)
	}
	<-found.done
	return found.object, found.err
}

// openInBackground starts to open an object unless that was already started. The caller holds a.mu.
func (a *Ahead) openInBackground(ctx context.Context, path string) {
	if a.closed || a.begun[path] != nil {
		return
	}
	o := &opening{done: make(chan struct{})}
	a.begun[path] = o
	go func() {
		defer close(o.done)
		o.object, o.err = a.open(ctx, path)
	}()
}

// Close closes the objects that were opened ahead but never requested.
func (a *Ahead) Close() error {
	a.mu.Lock()
	begun := a.begun
	a.begun, a.closed = nil, true
	a.mu.Unlock()
	var errs []error
	for _, o := range begun {
		<-o.done
		if o.err == nil {
			errs = append(errs, o.object.Close())
		}
	}
	return errors.Join(errs...)
}
