//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// TestStatusClean aborts the uploads of a run that was killed days ago, but keeps the
// uploads of a held run and a live one.
func TestStatusClean(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	s := g.newDest()
	options := simulator.Options{Seed: 12, SchoolSizes: []int{9, 0, 31, 4}}
	flags := []string{"--datasets", "schools,students,test_results", "--schools-per-file", "1", "--retries", "0"}
	n := newScenario(t, options, simulator.ServerOptions{}, flags...)
	n.expectedFiles(t, today())

	paused, arrived, _ := s.pausing(t, "dead")
	dead := n.run(t, paused, "dead").runUntil(arrived)
	require.True(t, dead.killed, dead.stderr)
	n.server.SetFaults([]simulator.Fault{{
		Operation: "students", School: n.world.Schools()[0].Bid, Kind: simulator.FaultStatus, Status: http.StatusInternalServerError,
	}})
	held := n.run(t, s, "held").run()
	require.Equal(t, exitHeld, held.code, held.stderr)
	n.server.SetFaults(nil)
	deadPlan, heldPlan := s.makeOld(t, "dead"), s.makeOld(t, "held")
	require.NotEmpty(t, s.stagedBy(t, "dead"))
	ofHeld := s.stagedBy(t, "held")
	require.NotEmpty(t, ofHeld)

	paused, arrived, resume := s.pausing(t, "live")
	live := n.run(t, paused, "live")
	require.NoError(t, live.cmd.Start())
	arrived(t.Context())
	clean := s.command(t, "status", "--clean", "--output", "json").runOK()
	require.NotEmpty(t, s.stagedBy(t, "live"))
	resume()
	end := live.await()
	require.Zero(t, end.code, end.stderr)

	var report struct {
		Cleaned []string `json:"cleaned"`
	}
	require.NoError(t, json.Unmarshal([]byte(clean.stdout), &report), clean.stdout)
	require.Equal(t, []string{"dead"}, report.Cleaned)
	require.Empty(t, s.stagedBy(t, "dead"))
	require.ElementsMatch(t, ofHeld, s.stagedBy(t, "held"))

	// The held run can still be published, and the dead one started again.
	s.put(t, snapshot.PlanPath("held"), heldPlan)
	accepted := s.command(t, "publish", "--run-id", "held", "--accept-held", "--replace").run()
	require.Equal(t, exitPartial, accepted.code, accepted.stderr)
	s.put(t, snapshot.PlanPath("dead"), deadPlan)
	n.run(t, s, "dead", "--max-shrink", "off").runOK()
	n.requirePublished(t, s, "dead")
}

// pausing returns the destination with a proxy that pauses the run before it writes
// its third checkpoint, until resume is called.
func (s *testDest) pausing(t *testing.T, run string) (paused *testDest, arrived waitFunc, resume func()) {
	t.Helper()
	var checkpoints atomic.Int64
	atThird, resumed := make(chan struct{}), make(chan struct{})
	dest := *s
	dest.endpoint = s.storage.server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/_runs/"+run+"/journal/") && checkpoints.Add(1) == 3 {
			close(atThird)
			<-resumed // before the body is read, the context does not show that the client is gone
		}
		return s3test.NoFault
	}).Endpoint
	resume = sync.OnceFunc(func() { close(resumed) })
	t.Cleanup(resume)
	arrived = func(ctx context.Context) {
		select {
		case <-atThird:
		case <-ctx.Done():
		}
	}
	return &dest, arrived, resume
}

// stagedBy returns the open uploads of a run.
func (s *testDest) stagedBy(t *testing.T, run string) []string {
	t.Helper()
	var found []string
	for _, path := range s.staged(t) {
		if strings.HasSuffix(path, "-"+run+".parquet") || strings.HasPrefix(path, "_runs/"+run+"/") {
			found = append(found, path)
		}
	}
	return found
}

// makeOld makes a run on S3, and all objects, two days old. It returns the original
// plan.
func (s *testDest) makeOld(t *testing.T, run string) []byte {
	t.Helper()
	path := snapshot.PlanPath(run)
	plan, err := os.ReadFile(s.path(path))
	require.NoError(t, err)
	now := []byte(`"planned_at": "` + time.Now().UTC().Format("2006-01-02T"))
	then := time.Now().Add(-48 * time.Hour)
	old := bytes.Replace(plan, now, []byte(`"planned_at": "`+then.UTC().Format("2006-01-02T")), 1)
	require.NotEqual(t, plan, old)
	s.put(t, path, old)
	require.NoError(t, filepath.WalkDir(s.storage.root, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, then, then)
	}))
	return plan
}

// put replaces an object on S3.
func (s *testDest) put(t *testing.T, path string, data []byte) {
	t.Helper()
	_, err := s.storage.server.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &s.storage.bucket, Key: aws.String(s.prefix + "/" + path), Body: bytes.NewReader(data),
	})
	require.NoError(t, err)
}
