package snapshottest

import (
	"context"
	"sync"

	"example.org/growthexport/internal/sink"
)

// interloper is a Store without locks on which somebody else does something just before a document is written for the
// first time.
type Interloper struct {
	Lockless

	Path string
	once sync.Once
	Act  func()
}

func (i *Interloper) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == i.Path {
		i.once.Do(i.Act)
	}
	return i.Lockless.Write(ctx, path, data, when)
}
