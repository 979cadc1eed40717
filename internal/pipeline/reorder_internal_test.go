package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// resultOf returns the result of a school with about that much text.
func resultOf(school, size int) *fetch.Result {
	table := &schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}}
	b := rows.New(table)
	b.Cols[0].AppendString(strings.Repeat("x", size))
	b.N = 1
	return fetch.NewResult(strconv.Itoa(school), b)
}

// reordered records the output of a reorder buffer.
type reordered struct {
	written, spilled []string
	// stall, if not nil, is received from before each write.
	stall chan struct{}
}

func (to *reordered) write(r *fetch.Result) error {
	if to.stall != nil {
		<-to.stall
	}
	to.written = append(to.written, r.Ledger.SchoolBid)
	return nil
}

func (to *reordered) spill(r *fetch.Result) error {
	to.spilled = append(to.spilled, r.Ledger.SchoolBid)
	r.Release()
	return nil
}

func TestReorderBufferKeepsTheOrderOfSchools(t *testing.T) {
	t.Parallel()
	const schools, memory = 200, 10_000
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		budget := semaphore.NewWeighted(memory)
		group, ctx := errgroup.WithContext(t.Context())
		var tasks [3]reordered
		for i := range tasks {
			b := newReorderBuffer(schools, budget)
			group.Go(func() error { return b.writeInOrder(ctx, nil, tasks[i].write, tasks[i].spill) })
			for _, school := range random.Perm(schools) {
				r := resultOf(school, random.IntN(memory/5))
				group.Go(func() error { return b.deliver(ctx, school, r) })
			}
		}
		require.NoError(t, group.Wait())
		for i := range tasks {
			require.Len(t, tasks[i].written, schools)
			for school, bid := range tasks[i].written {
				require.Equal(t, strconv.Itoa(school), bid)
			}
		}
		require.True(t, budget.TryAcquire(memory), "all memory is released")
	}
}

// TestReorderBufferHoldsOrSpills checks that schools beyond the memory budget wait while their task is being written,
// and are spilled while the task waits for a school.
func TestReorderBufferHoldsOrSpills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const memory = 1000
		budget := semaphore.NewWeighted(memory)
		b := newReorderBuffer(4, budget)
		to := &reordered{stall: make(chan struct{})}
		group, ctx := errgroup.WithContext(t.Context())
		group.Go(func() error { return b.writeInOrder(ctx, nil, to.write, to.spill) })
		delivered := make([]bool, 4)
		deliver := func(school int) {
			group.Go(func() error {
				defer func() { delivered[school] = true }()
				return b.deliver(ctx, school, resultOf(school, memory))
			})
			synctest.Wait()
		}
		deliver(2)
		require.Equal(t, []string{"2"}, to.spilled, "its task waits for another school")
		require.True(t, delivered[2])
		deliver(0)
		deliver(3)
		require.False(t, delivered[0], "the task of the school is being written")
		require.False(t, delivered[3], "another school is being written")
		to.stall <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"2", "3"}, to.spilled)
		require.Equal(t, []bool{true, false, true, true}, delivered)
		deliver(1)
		for range 3 {
			to.stall <- struct{}{}
		}
		require.NoError(t, group.Wait())
		require.Equal(t, []string{"0", "1", "2", "3"}, to.written)
		require.True(t, budget.TryAcquire(memory))
	})
}

// TestReorderBufferWaitsForItsTurn checks that schools that arrive before the task's turn are spilled.
func TestReorderBufferWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const memory = 1000
		b := newReorderBuffer(3, semaphore.NewWeighted(memory))
		to := &reordered{}
		turn := make(chan struct{})
		group, ctx := errgroup.WithContext(t.Context())
		group.Go(func() error { return b.writeInOrder(ctx, turn, to.write, to.spill) })
		for school := range 3 {
			group.Go(func() error { return b.deliver(ctx, school, resultOf(school, memory)) })
			synctest.Wait()
		}
		require.Empty(t, to.written)
		require.Equal(t, []string{"0", "1", "2"}, to.spilled)
		close(turn)
		require.NoError(t, group.Wait())
		require.Equal(t, []string{"0", "1", "2"}, to.written)
	})
}

func TestReorderBufferIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		budget := semaphore.NewWeighted(1)
		b := newReorderBuffer(2, budget)
		ended := make(chan error)
		go func() { ended <- b.deliver(ctx, 1, resultOf(1, 100)) }()
		synctest.Wait()
		cancel(cause)
		require.ErrorIs(t, <-ended, cause, "no writer receives the result")

		ctx, cancel = context.WithCancelCause(t.Context())
		b = newReorderBuffer(2, budget)
		to := &reordered{}
		go func() { ended <- b.writeInOrder(ctx, nil, to.write, to.spill) }()
		synctest.Wait()
		cancel(cause)
		require.ErrorIs(t, <-ended, cause, "no school arrives")
	})
}

func TestReorderBufferReturnsErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	fail := func(*fetch.Result) error { return full }
	for _, school := range []int{0, 1} {
		b := newReorderBuffer(2, semaphore.NewWeighted(1))
		group, ctx := errgroup.WithContext(t.Context())
		group.Go(func() error { return b.writeInOrder(ctx, nil, fail, fail) })
		group.Go(func() error { return b.deliver(ctx, school, resultOf(school, 100)) })
		require.ErrorIs(t, group.Wait(), full)
	}
}
