package pipeline

import (
	"context"

	"golang.org/x/sync/semaphore"

	"example.org/growthexport/internal/fetch"
)

// reorderBuffer puts the results of a task's schools, which finish in any order, in the order of the schools. One
// goroutine calls writeInOrder; the goroutines that fetch schools call deliver.
type reorderBuffer struct {
	memory  *semaphore.Weighted // shared by the tasks of a run
	arrived chan *arrival       // with room for every school of the task
}

// arrival is the delivered result of a school.
type arrival struct {
	school int
	result *fetch.Result
	held   int64 // memory acquired for the result
	// settled is closed when a result for which there was no memory no longer needs any. It is nil for other results.
	settled chan struct{}
}

func newReorderBuffer(schools int, memory *semaphore.Weighted) *reorderBuffer {
	return &reorderBuffer{memory: memory, arrived: make(chan *arrival, schools)}
}

// deliver hands over the result of the task's school with this index. If there is no memory for the result, deliver
// waits until there is some, or until the result is written or spilled, so that a slow disk slows down fetching.
func (b *reorderBuffer) deliver(ctx context.Context, school int, r *fetch.Result) error {
	a := &arrival{school: school, result: r}
	if size := int64(r.Bytes()); b.memory.TryAcquire(size) {
		a.held = size
		b.arrived <- a
		return nil
	}
	settled := make(chan struct{}) // writeInOrder resets a.settled
	a.settled = settled
	b.arrived <- a
	return await(ctx, settled)
}

// writeInOrder waits for turn, unless turn is nil, and calls write with the result of every school, in order. While it
// waits, results without memory get memory or are passed to spill, because otherwise deliver would keep waiting and
// request slots would be idle. After an error or a cancellation, memory that is held is not released.
func (b *reorderBuffer) writeInOrder(ctx context.Context, turn <-chan struct{}, write, spill func(*fetch.Result) error) error {
	waiting := make(map[int]*arrival)
	var oversized []*arrival // the waiting results without memory, and perhaps some that are already written
	for next := 0; next < cap(b.arrived); {
		if a := waiting[next]; a != nil && turn == nil {
			delete(waiting, next)
			next++
			if err := write(a.result); err != nil {
				return err
			}
			b.memory.Release(a.held)
			a.settle()
			continue
		}
		if len(oversized) > 0 && len(b.arrived) == 0 {
			if err := b.makeRoom(oversized[0], spill); err != nil {
				return err
			}
			oversized = oversized[1:]
			continue
		}
		select {
		case <-turn:
			turn = nil
		case a := <-b.arrived:
			waiting[a.school] = a
			if a.settled != nil {
				oversized = append(oversized, a)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// makeRoom acquires memory for a result that waits without it or, if that fails, spills the result. Then deliver can
// return.
func (b *reorderBuffer) makeRoom(a *arrival, spill func(*fetch.Result) error) error {
	if a.settled == nil {
		return nil // the result is already written
	}
	if size := int64(a.result.Bytes()); b.memory.TryAcquire(size) {
		a.held = size
	} else if err := spill(a.result); err != nil {
		return err
	}
	a.settle()
	return nil
}

// settle lets deliver return.
func (a *arrival) settle() {
	if a.settled != nil {
		close(a.settled)
		a.settled = nil
	}
}

// await waits until a channel is closed, or returns an error once ctx is done.
func await(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
