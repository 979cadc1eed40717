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
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
)

// TestStatusClean aborts on S3 what a killed run has left that nobody resumed
// for days, and touches neither what is held nor what is under way.
func TestStatusClean(t *testing.T) {
	t.Parallel()
	g := groundOnS3(t)
	s := g.site()
	options := simulator.Options{Seed: 12, SchoolSizes: []int{9, 0, 31, 4}}
	flags := []string{"--datasets", "schools,students,test_results", "--schools-per-file", "1", "--retries", "0"}
	n := newNight(t, options, simulator.ServerOptions{}, flags...)
	n.want(t, today())

	waiting, _ := s.waiting(t, "dead")
	dead := n.run(t, waiting.site, "dead").end(waiting.arrived)
	require.True(t, dead.killed, dead.stderr)
	n.server.SetFaults([]simulator.Fault{{
		Operation: "students", School: n.world.Schools()[0].Bid, Kind: simulator.FaultStatus, Status: http.StatusInternalServerError,
	}})
	held := n.run(t, s, "held").end(nil)
	require.Equal(t, exitHeld, held.code, held.stderr)
	n.server.SetFaults(nil)
	deadPlan, heldPlan := s.age(t, "dead"), s.age(t, "held")
	require.NotEmpty(t, s.stagedBy(t, "dead"))
	ofHeld := s.stagedBy(t, "held")
	require.NotEmpty(t, ofHeld)

	waiting, goOn := s.waiting(t, "live")
	live := n.run(t, waiting.site, "live")
	require.NoError(t, live.cmd.Start())
	waiting.arrived(t.Context())
	clean := s.command(t, "status", "--clean", "--output", "json").end(nil)
	require.Zero(t, clean.code, clean.stderr)
	require.NotEmpty(t, s.stagedBy(t, "live"))
	goOn()
	end := live.await()
	require.Zero(t, end.code, end.stderr)

	var report struct {
		Cleaned []string `json:"cleaned"`
	}
	require.NoError(t, json.Unmarshal([]byte(clean.stdout), &report), clean.stdout)
	require.Equal(t, []string{"dead"}, report.Cleaned)
	require.Empty(t, s.stagedBy(t, "dead"))
	require.ElementsMatch(t, ofHeld, s.stagedBy(t, "held"))

	// The held one is still there for its user, and the dead one may be begun
	// anew.
	s.put(t, sink.PlanPath("held"), heldPlan)
	accepted := s.command(t, "publish", "--run-id", "held", "--accept-held").end(nil)
	require.Equal(t, exitPartial, accepted.code, accepted.stderr)
	s.put(t, sink.PlanPath("dead"), deadPlan)
	again := n.run(t, s, "dead", "--max-shrink", "off").end(nil)
	require.Zero(t, again.code, again.stderr)
	n.requirePublished(t, s, "dead")
}

// waiting is a site at which a run waits before it writes its third journal.
type waiting struct {
	site    *site
	arrived moment
}

// waiting returns such a site, and what lets the run go on.
func (s *site) waiting(t *testing.T, run string) (w *waiting, goOn func()) {
	t.Helper()
	var journals atomic.Int64
	here, on := make(chan struct{}), make(chan struct{})
	at := *s
	at.endpoint = s.ground.server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/_runs/"+run+"/journal/") && journals.Add(1) == 3 {
			close(here)
			<-on // Whether the client is still there is not told before its body is read.
		}
		return s3test.NoFault
	}).Endpoint
	goOn = sync.OnceFunc(func() { close(on) })
	t.Cleanup(goOn)
	arrived := func(ctx context.Context) {
		select {
		case <-here:
		case <-ctx.Done():
		}
	}
	return &waiting{site: &at, arrived: arrived}, goOn
}

// stagedBy are the open uploads of a run.
func (s *site) stagedBy(t *testing.T, run string) []string {
	t.Helper()
	var found []string
	for _, path := range s.staged(t) {
		if strings.HasSuffix(path, "-"+run+".parquet") || strings.HasPrefix(path, "_runs/"+run+"/") {
			found = append(found, path)
		}
	}
	return found
}

// age makes a run on S3 one of days ago, and everything that is there besides.
// It returns the plan as it was.
func (s *site) age(t *testing.T, run string) []byte {
	t.Helper()
	path := sink.PlanPath(run)
	plan, err := os.ReadFile(s.path(path))
	require.NoError(t, err)
	now := []byte(`"planned_at": "` + time.Now().UTC().Format("2006-01-02T"))
	then := time.Now().Add(-48 * time.Hour)
	old := bytes.Replace(plan, now, []byte(`"planned_at": "`+then.UTC().Format("2006-01-02T")), 1)
	require.NotEqual(t, plan, old)
	s.put(t, path, old)
	require.NoError(t, filepath.WalkDir(s.ground.root, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, then, then)
	}))
	return plan
}

// put replaces an object on S3.
func (s *site) put(t *testing.T, path string, data []byte) {
	t.Helper()
	_, err := s.ground.server.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &s.ground.bucket, Key: aws.String(s.prefix + "/" + path), Body: bytes.NewReader(data),
	})
	require.NoError(t, err)
}
