package fetch

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessorsGoToTheFirstSchool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &processors{free: 2}
		first, second := p.at(1), p.at(2)
		first.acquire()
		second.acquire()
		var served []int64
		for _, place := range []int64{5, 3, 4} {
			go func() {
				u := p.at(place)
				u.acquire()
				served = append(served, place)
				u.release()
			}()
		}
		synctest.Wait()
		require.Empty(t, served, "both processors are in use")
		first.release()
		synctest.Wait()
		require.Equal(t, []int64{3, 4, 5}, served)
		second.release()
		require.Equal(t, 2, p.free)
		second.release()
		require.Equal(t, 2, p.free, "released twice")
	})
}

func TestWaitingForAProcessorEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &processors{free: 1}
		stuck, late := p.at(1), p.at(2)
		stuck.acquire()
		began := time.Now()
		late.acquire()
		require.Equal(t, patience, time.Since(began))
		late.release()
		late.acquire()
		require.Equal(t, patience, time.Since(began), "all waits together last as long as the patience")
		require.Zero(t, p.free, "a waiter without a processor gives none back")

		next := p.at(3)
		stuck.release()
		next.acquire()
		require.Equal(t, patience, time.Since(began), "a waiter that has given up gets no processor")
		next.release()
		require.Equal(t, 1, p.free)
	})
}

// TestSharedReader checks that a processor is free while the reader waits for the body, and that the body arrives
// unchanged.
func TestSharedReader(t *testing.T) {
	t.Parallel()
	p := &processors{free: 1}
	u := p.at(1)
	u.acquire()
	const text = "the body of an answer, which arrives byte by byte"
	freed := 0
	body := iotest.OneByteReader(io.TeeReader(strings.NewReader(text), writerFunc(func() { freed += p.free })))
	got, err := io.ReadAll(u.reading(body))
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	require.Equal(t, len(text), freed)
	require.Zero(t, p.free)

	short := io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err = io.ReadAll(u.reading(short))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a body cut short")
	u.release()
	require.Equal(t, 1, p.free)
}

type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}
