package activity_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
)

// TestLogsAddUp records the same requests in one process and in three with different checkpoints.
func TestLogsAddUp(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var whole activity.Recorder
	parts := make([]activity.Recorder, 3)
	var sum activity.Log
	for i := range 5000 {
		request := activity.Request{
			Operation: "op" + strconv.Itoa(i%3), Ended: time.Unix(int64(1000+i), 0), Took: time.Duration(random.IntN(2000)) * time.Millisecond,
			Bytes: 10, InFlight: int64(1 + random.IntN(8)), Limit: int64(4 + random.IntN(4)),
		}
		part := &parts[random.IntN(3)]
		for _, r := range []*activity.Recorder{&whole, part} {
			r.Requested(request)
			if i%7 == 0 {
				r.Retried(request.Ended, request.Operation, strconv.Itoa(500+i%2))
			}
			r.School(activity.SchoolTime{School: strconv.Itoa(i), Dataset: "d", Seconds: request.Took.Seconds()})
		}
		if i%100 == 0 {
			sum.Add(part.Take())
		}
	}
	for i := range parts {
		log := parts[i].Take()
		parts[i].Return(log) // as if it could not be stored
		sum.Add(parts[i].Take())
	}
	want := whole.Take()
	require.Equal(t, *want, sum)
	require.LessOrEqual(t, len(sum.Steps), 240)
	require.EqualValues(t, 32, sum.StepSeconds, "5000 seconds in at most 240 steps")
	require.Len(t, sum.Slowest, 20)
	require.True(t, slices.IsSortedFunc(sum.Slowest, func(a, b activity.SchoolTime) int { return int(1000 * (b.Seconds - a.Seconds)) }))
	var requests, retries int64
	for i := range sum.Steps {
		requests += sum.Steps[i].Requests
		require.Equal(t, sum.Steps[i].Requests, sum.Steps[i].Latency.Count())
		for _, n := range sum.Steps[i].Retries {
			retries += n
		}
	}
	require.EqualValues(t, 5000, requests)
	require.EqualValues(t, 715, retries)

	text, err := json.Marshal(sum)
	require.NoError(t, err)
	require.Less(t, len(text), 100_000, "it is part of the manifest")
	var read activity.Log
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, sum, read)
	require.Empty(t, whole.Take().Steps, "it was handed over")
}

func TestAddLeavesTheOtherLogAlone(t *testing.T) {
	t.Parallel()
	var r activity.Recorder
	r.Requested(activity.Request{Operation: "o", Ended: time.Unix(5, 0), Took: time.Second})
	r.Retried(time.Unix(5, 0), "o", "503")
	log := r.Take()
	var sum activity.Log
	sum.Add(log)
	sum.Add(log)
	require.EqualValues(t, 2, sum.Steps[0].Requests)
	require.EqualValues(t, 1, log.Steps[0].Latency.Count())
	require.EqualValues(t, 1, log.Operations["o"].Latency.Count())
	require.EqualValues(t, 1, log.Steps[0].Retries["503"])
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var r activity.Recorder
	for ms := range 1000 {
		r.Requested(activity.Request{Operation: "o", Ended: time.Unix(0, 0), Took: time.Duration(ms+1) * time.Millisecond})
	}
	h := r.Take().Steps[0].Latency
	for _, percentage := range []float64{1, 50, 90, 99, 100} {
		require.InEpsilon(t, percentage*10, h.Percentile(percentage).Seconds()*1000, 0.06, percentage)
	}
	require.Zero(t, activity.Histogram(nil).Percentile(50))
}

func TestASchoolFetchedAgainCountsByItsLongest(t *testing.T) {
	t.Parallel()
	var r activity.Recorder
	for _, seconds := range []float64{2, 5, 3} {
		r.School(activity.SchoolTime{School: "S", Dataset: "d", Seconds: seconds})
	}
	require.Equal(t, []activity.SchoolTime{{School: "S", Dataset: "d", Seconds: 5}}, r.Take().Slowest)
}

// TestASecond compares a recorded second with figures calculated by hand.
func TestASecond(t *testing.T) {
	t.Parallel()
	var first, second activity.Recorder
	first.Requested(activity.Request{Operation: "o", Ended: time.Unix(100, 999), Took: time.Millisecond, Bytes: 10, InFlight: 3, Limit: 8})
	first.Requested(activity.Request{Operation: "p", Ended: time.Unix(100, 0), Took: time.Millisecond, Bytes: 20, InFlight: 5})
	second.Requested(activity.Request{Operation: "o", Ended: time.Unix(100, 0), Took: 2 * time.Millisecond, Bytes: 40, InFlight: 4, Limit: 6})
	second.Requested(activity.Request{Operation: "o", Ended: time.Unix(100, 0), Took: 0, Bytes: 80, InFlight: 1, Limit: 7})
	second.Retried(time.Unix(101, 0), "o", "429")
	var sum activity.Log
	sum.Add(first.Take())
	sum.Add(second.Take())
	require.Equal(t, activity.Log{
		StepSeconds: 1,
		Steps: []activity.Step{
			{At: 100, Requests: 4, Bytes: 150, Latency: activity.Histogram{0: 3, 8: 1}, InFlight: 5, Limit: 6},
			{At: 101, Retries: map[string]int64{"429": 1}},
		},
		Operations: map[string]activity.Operation{
			"o": {Requests: 3, Bytes: 130, Latency: activity.Histogram{0: 2, 8: 1}, Retries: map[string]int64{"429": 1}},
			"p": {Requests: 1, Bytes: 20, Latency: activity.Histogram{0: 1}},
		},
	}, sum)
}

// TestMalformedStepsAreIgnored adds logs of damaged checkpoints, which must not crash or block a run.
func TestMalformedStepsAreIgnored(t *testing.T) {
	t.Parallel()
	var r activity.Recorder
	r.Requested(activity.Request{Operation: "o", Ended: time.Unix(5, 0), Took: time.Second})
	want := r.Take()
	for name, log := range map[string]activity.Log{
		"steps longer than time":   {StepSeconds: 1<<62 + 1, Steps: []activity.Step{{At: 0, Requests: 1}}},
		"long steps, none of them": {StepSeconds: 1<<62 + 1},
		"steps without a length":   {Steps: []activity.Step{{At: 0, Requests: 1}}},
		"negative length":          {StepSeconds: -4, Steps: []activity.Step{{At: 0, Requests: 1}}},
		"out of order":             {StepSeconds: 1, Steps: []activity.Step{{At: 7, Requests: 1}, {At: 6, Requests: 1}}},
		"no multiple":              {StepSeconds: 4, Steps: []activity.Step{{At: 6, Requests: 1}}},
		"times that no clock has":  {StepSeconds: 1, Steps: []activity.Step{{At: 1 << 60, Requests: 1}}},
	} {
		sum := activity.Log{}
		sum.Add(want)
		sum.Add(&log)
		require.Equal(t, *want, sum, name)
	}
}

// TestClocksThatJump records with a clock that jumps from 1970 to now and back.
func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	var r activity.Recorder
	for i := range 1000 {
		for _, at := range []int64{-500 + int64(i), 1_790_000_000 - int64(i)} {
			r.Requested(activity.Request{Operation: "o", Ended: time.Unix(at, 0), Took: time.Second})
		}
	}
	log := r.Take()
	require.True(t, log.Sound())
	require.LessOrEqual(t, len(log.Steps), 240)
	var requests int64
	for i := range log.Steps {
		requests += log.Steps[i].Requests
	}
	require.EqualValues(t, 2000, requests)
	var sum activity.Log
	sum.Add(log)
	require.Equal(t, *log, sum)
}
