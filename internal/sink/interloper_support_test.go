package sink

import (
	"context"
	"sync"
)

// interloper is a Store without locks on which somebody else does something
// just before a document is written for the first time.
type interloper struct {
	lockless

	path string
	once sync.Once
	act  func()
}

func (i *interloper) Write(ctx context.Context, path string, data []byte, when Condition) error {
	if path == i.path {
		i.once.Do(i.act)
	}
	return i.lockless.Write(ctx, path, data, when)
}
