package pipeline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

// damageStaged flips a byte in the staged file of a table and bucket.
func (s *site) damageStaged(run string, task snapshot.Task, table string) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dest, snapshot.CheckpointPath(run, task.Bucket, task.Dataset)))
	require.NoError(s.t, err)
	var checkpoint snapshot.Checkpoint
	require.NoError(s.t, json.Unmarshal(data, &checkpoint))
	var staged struct{ Name string }
	require.NoError(s.t, json.Unmarshal(checkpoint.Files[table].Staged, &staged))
	path := filepath.Join(s.dest, "_staging", run, staged.Name)
	data, err = os.ReadFile(path)
	require.NoError(s.t, err)
	data[len(data)/2] ^= 1
	require.NoError(s.t, os.WriteFile(path, data, 0o600))
}

// TestDamagedStagedFileIsNotPublished flips one byte of a staged file of a held run: the run cannot be published, and
// running it again fetches the bucket of the damaged file.
func TestDamagedStagedFileIsNotPublished(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID = "good"
	s.run(settings)

	settings.RunID = "held"
	bad := s.world.Schools()[2].Bid
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: bad, Kind: simulator.FaultStatus, Status: 500}})
	summary, err := pipeline.Run(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	damaged := snapshot.Task{Bucket: 1, Dataset: "students"}
	s.damageStaged("held", damaged, "students")

	accept := pipeline.PublishSettings{RunID: "held", AcceptHeld: true}
	_, err = pipeline.Publish(t.Context(), s.deps(nil), accept)
	require.ErrorIs(t, err, pipeline.ErrIncomplete)
	require.ErrorContains(t, err, "(students of bucket 1); their staged files are damaged or gone: run it again")
	catalog := s.deps(nil).Catalog
	report, err := maintenance.Verify(t.Context(), catalog, maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.Equal(t, "good", report.RunID)
	require.Empty(t, report.Problems)

	s.server.SetFaults(nil)
	s.server.ResetLog()
	summary = s.run(settings)
	require.Equal(t, pipeline.Published, summary.Outcome)
	asked := make(map[string]bool)
	for _, request := range s.server.Log() {
		asked[request.Operation] = true
	}
	require.Equal(t, map[string]bool{simulator.OperationToken: true, "students": true, "test_results": true}, asked)
	report, err = maintenance.Verify(t.Context(), catalog, maintenance.VerifyTarget{})
	require.NoError(t, err)
	require.Equal(t, "held", report.RunID)
	require.Empty(t, report.Problems)
}
