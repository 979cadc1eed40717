package snapshottest

import (
	"context"
	"sync"

	"example.org/growthexport/internal/sink"
)

// Interloper is a Store without locks that calls Act just before the document at Path is first written, as another
// process might.
type Interloper struct {
	Lockless

	Path string
	once sync.Once
	Act  func()
}

// Write writes a document, after Act if it is the document at Path.
func (i *Interloper) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == i.Path {
		i.once.Do(i.Act)
	}
	return i.Lockless.Write(ctx, path, data, when)
}
