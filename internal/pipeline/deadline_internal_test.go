package pipeline

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

// newForecast returns the forecast of a run of 100 schools and two datasets, and the log.
func newForecast(deadline time.Duration, maxMissing int) (*forecast, *bytes.Buffer) {
	var log bytes.Buffer
	f := &forecast{
		deadline: time.Now().Add(deadline), maxMissing: maxMissing, progress: &Progress{}, log: slog.New(slog.NewTextHandler(&log, nil)),
		began: time.Now(), left: map[string]int{"test_results": 100, "school_classes": 100}, done: map[string]int{},
		took: map[string]time.Duration{}, lacking: map[string]int{},
	}
	for i := range 100 {
		f.lacking[strconv.Itoa(i)] = 2
	}
	return f, &log
}

// finish reports that a dataset of a school is finished.
func (f *forecast) finish(dataset string, school int, took time.Duration, status snapshot.Status) {
	f.finished(&snapshot.LedgerRow{Dataset: dataset, SchoolBid: strconv.Itoa(school), Status: status}, took)
}

func TestForecast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := newForecast(time.Hour, 0)
		// Two schools are fetched at once and take two seconds each.
		for i := range 20 {
			require.Equal(t, i < minForecast, f.end(time.Now()).IsZero())
			f.finish("test_results", i, 2*time.Second, snapshot.StatusOK)
			time.Sleep(time.Second) //nolint:forbidigo // virtual
		}
		// 80 schools remain at one second each, and 100 of the other dataset, which is expected to take as long.
		require.Equal(t, 180*time.Second, time.Until(f.end(time.Now())))
		// The other dataset is much faster.
		for i := range 20 {
			f.finish("school_classes", i, time.Millisecond, snapshot.StatusOK)
		}
		require.InDelta(t, 80, time.Until(f.end(time.Now())).Seconds(), 1)
		// While nothing finishes, the estimated end moves away.
		time.Sleep(time.Minute) //nolint:forbidigo // virtual
		require.Greater(t, time.Until(f.end(time.Now())), 4*time.Minute)
	})
}

func TestDeadlineIsWatched(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		maxMissing int
		each       time.Duration // until the next school is finished
		failing    int
		stops      bool
		logs       []string
	}{
		{"met", 0, time.Second, 0, false, []string{"will meet its deadline"}},
		{"missed", 0, 10 * time.Second, 0, true, []string{"will miss its deadline"}},
		{"missed, but allowed", 100, 10 * time.Second, 0, false, []string{"will miss its deadline", "continuing without the schools"}},
		{"a failed school", 0, time.Second, 1, true, []string{"will meet its deadline"}},
		{"a failed school, allowed", 1, time.Second, 1, false, []string{"will meet its deadline", "continuing without the schools"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, log := newForecast(10*time.Minute, test.maxMissing)
				ctx, stop := context.WithCancelCause(t.Context())
				watched := make(chan struct{})
				go func() { f.watch(ctx, stop); close(watched) }()
				for i := 0; i < 100 && ctx.Err() == nil; i++ {
					time.Sleep(test.each) //nolint:forbidigo // virtual
					for _, dataset := range []string{"test_results", "school_classes"} {
						status := snapshot.StatusOK
						if i < test.failing {
							status = snapshot.StatusFailed
						}
						f.finish(dataset, i, test.each, status)
					}
				}
				<-watched
				if test.stops {
					require.ErrorIs(t, context.Cause(ctx), ErrDeadline)
					require.ErrorContains(t, context.Cause(ctx), "incomplete, more than --max-failed-schools allows")
				} else {
					require.NoError(t, ctx.Err())
				}
				for _, line := range test.logs {
					require.Contains(t, log.String(), line)
				}
				stop(nil)
			})
		})
	}
}

// TestForecastThatRecovers expects one warning in the log, while the progress continues to show the estimated end.
func TestForecastThatRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, log := newForecast(10*time.Minute, 0)
		ctx, stop := context.WithCancelCause(t.Context())
		watched := make(chan struct{})
		go func() { f.watch(ctx, stop); close(watched) }()
		for i := range 100 {
			each := 100 * time.Millisecond
			if i < 20 {
				each = 8 * time.Second
			}
			time.Sleep(each) //nolint:forbidigo // virtual
			f.finish("test_results", i, each, snapshot.StatusOK)
			f.finish("school_classes", i, each, snapshot.StatusOK)
		}
		stop(nil)
		<-watched
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("its deadline")))
		require.Contains(t, log.String(), "will miss its deadline")
		require.True(t, f.progress.Read(time.Now()).EstimatedEnd.Before(f.deadline))
	})
}
