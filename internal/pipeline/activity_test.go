package pipeline_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// TestActivityOfAManifest takes a run in two processes from a service with faults: the manifest's activity over time
// adds up to its counts of requests.
func TestActivityOfAManifest(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 3, SchoolSizes: []int{1001, 40, 0, 70, 5, 12}}, simulator.ServerOptions{})
	s.server.SetFaults(simulator.TransientFaults(0.15, 300*time.Millisecond))
	settings := defaults()
	settings.RunID, settings.Shards = "night", 2
	for settings.Shard = range settings.Shards {
		deps := s.observed()
		_, err := pipeline.Run(t.Context(), deps, settings)
		require.NoError(t, err)
	}
	deps := s.observed()
	_, err := pipeline.Publish(t.Context(), deps, pipeline.PublishSettings{RunID: "night"})
	require.NoError(t, err)
	progress := deps.Progress.Read(theDay)
	manifest, err := deps.Catalog.ReadManifest(t.Context(), "night")
	require.NoError(t, err)

	files := int64(1)
	for _, table := range manifest.Tables {
		files += int64(len(table.Files))
	}
	require.Equal(t, [2]int64{files, files}, [2]int64{progress.FilesDone, progress.FilesTotal})

	log := manifest.Activity
	var requests, inSteps int64
	retries := make(map[string]int64)
	for name, operation := range log.Operations {
		require.Equal(t, operation.Requests, operation.Latency.Count(), name)
		for cause, n := range operation.Retries {
			retries[cause] += n
		}
		if name != "token" {
			requests += operation.Requests
		}
	}
	require.Equal(t, manifest.Requests.Total, requests)
	var causes int64
	for _, n := range retries {
		causes += n
	}
	require.Equal(t, manifest.Requests.Retries, causes)
	require.Greater(t, len(retries), 2, "retries have several causes")
	for i := range log.Steps {
		inSteps += log.Steps[i].Requests
		require.Positive(t, log.Steps[i].InFlight)
		require.Positive(t, log.Steps[i].Limit)
		require.LessOrEqual(t, log.Steps[i].Limit, int64(settings.Concurrency))
	}
	require.Equal(t, requests+log.Operations["token"].Requests, inSteps)
	require.NotEmpty(t, log.Slowest)
	require.NotEqual(t, activity.SchoolTime{}, log.Slowest[0])
	require.Positive(t, log.Slowest[0].Seconds)
}

// TestActivityOfUnitsDoneAgain resumes a run that was held: the activity of repeated tasks is not lost with their
// checkpoints.
func TestActivityOfUnitsDoneAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.SchoolsPerFile = "run", 1
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: s.world.Schools()[1].Bid, Kind: simulator.FaultStatus, Status: http.StatusInternalServerError}})
	held, err := pipeline.Run(t.Context(), s.observed(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, held.Outcome)
	s.server.SetFaults(nil)
	deps := s.observed()
	_, err = pipeline.Run(t.Context(), deps, settings)
	require.NoError(t, err)
	manifest, err := deps.Catalog.ReadManifest(t.Context(), "run")
	require.NoError(t, err)
	require.Positive(t, manifest.Requests.Retries)
	var requests, retries int64
	for name, operation := range manifest.Activity.Operations {
		if name != "token" {
			requests += operation.Requests
		}
		for _, n := range operation.Retries {
			retries += n
		}
	}
	require.Equal(t, [2]int64{manifest.Requests.Total, manifest.Requests.Retries}, [2]int64{requests, retries})
}

// observed returns deps whose client reports its requests to the progress, as in the command.
func (s *site) observed(options ...func(*extract.Options)) pipeline.Deps {
	s.t.Helper()
	progress := &pipeline.Progress{}
	deps := s.deps(func(o *extract.Options) {
		o.Observer = progress
		for _, option := range options {
			option(o)
		}
	})
	deps.Progress = progress
	return deps
}
