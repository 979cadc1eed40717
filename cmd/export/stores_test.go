//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// TestOtherStores takes two snapshots, has two publishers race for the second date, and purges a school, on stores that
// differ from S3. Every snapshot that a pointer names is complete, and no upload is left.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	const ignored = "the store ignores the conditions of conditional writes"
	var conditional atomic.Int64
	tests := []struct {
		name    string
		mode    s3test.Mode
		warning string // of every command that changes the destination
	}{
		{name: "lists uploads by exact key", mode: s3test.ExactListing},
		{name: "compares ETags without quotes", mode: g.server.UnquotedETags},
		{name: "ignores conditions", mode: countConditions(&conditional, g.server.IgnoredConditions), warning: ignored},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := g.newDest()
			s.endpoint = g.server.Proxy(t, nil, test.mode).Endpoint
			today := time.Now().UTC()
			dates := []string{today.AddDate(0, 0, -1).Format(time.DateOnly), today.Format(time.DateOnly)}
			takeSnapshot := func(id, date string) *process {
				return s.command(t, "run", "--simulate", "--simulate-schools", "4", "--datasets", "schools,students,test_results",
					"--run-id", id, "--snapshot-date", date)
			}
			requireEnd := func(code int, end processResult) {
				t.Helper()
				require.Equal(t, code, end.code, end.stderr)
				require.Contains(t, end.stderr, test.warning)
				require.NotContains(t, end.stderr, "panic")
			}
			current := func(date string) string {
				t.Helper()
				var pointer snapshot.Pointer
				s.readJSON(t, snapshot.PointerPath(snapshot.Full, date), &pointer)
				requireVerified(t, s.open(t), maintenance.VerifyTarget{SnapshotDate: date})
				return pointer.RunID
			}

			requireEnd(exitOK, takeSnapshot("first", dates[0]).run())
			if test.warning == ignored {
				require.Zero(t, conditional.Load(), "the run compares documents with their conditions itself")
			}
			require.Equal(t, "first", current(dates[0]))

			// One of them wins, and its snapshot is complete. The other one has failed, or was published first and then
			// replaced.
			ends := runTogether(takeSnapshot("one", dates[1]), takeSnapshot("other", dates[1]))
			winner := current(dates[1])
			for i, id := range []string{"one", "other"} {
				if id == winner {
					requireEnd(exitOK, ends[i])
				} else {
					require.Contains(t, []int{exitOK, exitFailed}, ends[i].code, "%s: %s", id, ends[i].stderr)
				}
			}
			require.Empty(t, s.staged(t))

			var plan snapshot.Plan
			s.readJSON(t, snapshot.PlanPath("first"), &plan)
			requireEnd(exitOK, s.command(t, "purge", "--schools", plan.Schools[0].Bid).run())
			require.Equal(t, "first", current(dates[0]))
			require.Equal(t, winner, current(dates[1]))
			require.Empty(t, s.staged(t))
		})
	}
}

// TestExactListing drops uploads that processes of a published run have left behind and no checkpoint lists, on a store
// that lists uploads by exact key only.
func TestExactListing(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	s := g.newDest()
	s.endpoint = g.server.Proxy(t, nil, s3test.ExactListing).Endpoint
	require.Equal(t, exitOK, s.command(t, "run", "--simulate", "--simulate-schools", "2", "--datasets", "students", "--run-id", "night").run().code)
	var plan snapshot.Plan
	s.readJSON(t, snapshot.PlanPath("night"), &plan)
	leave := func() {
		for _, path := range []string{plan.DataPath("students", 0), snapshot.LedgerPath("night")} {
			key := s.prefix + "/" + path
			_, err := g.server.Client().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &g.bucket, Key: &key})
			require.NoError(t, err)
		}
		require.Len(t, s.staged(t), 2)
	}
	for _, args := range [][]string{{"status", "--clean"}, {"purge", "--schools", plan.Schools[0].Bid}, {"purge", "--schools", "nobody", "--allow-unknown"}} {
		leave()
		end := s.command(t, args[0], args[1:]...).run()
		require.Equal(t, exitOK, end.code, end.stderr)
		require.Empty(t, s.staged(t), args)
		if args[len(args)-1] != "--allow-unknown" { // a purge with nothing to do says nothing
			require.Contains(t, end.stdout+end.stderr, "runs without a plan", "what cannot be found is said")
		}
	}
}

// TestKillsExactListing kills a run and a fold while they stage files, on a store that lists uploads by exact key only. The
// same command leaves none of their uploads.
func TestKillsExactListing(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	for _, test := range []struct{ folder, command string }{
		{"/snapshot_date=", "run --simulate --simulate-schools 2 --schools-per-file 1 --datasets schools,students,test_results"},
		{"/history/", "history"},
	} {
		t.Run(test.folder, func(t *testing.T) {
			t.Parallel()
			s := g.newDest()
			if test.command == "history" {
				require.Equal(t, exitOK, s.command(t, "run", "--simulate", "--simulate-schools", "2").run().code)
			}
			var staging atomic.Int64
			arrived, resume := make(chan struct{}), make(chan struct{})
			s.endpoint = g.server.Proxy(t, func(r *http.Request) s3test.Fault {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, test.folder) && staging.Add(1) == 3 {
					close(arrived)
					<-resume
				}
				return s3test.NoFault
			}, s3test.ExactListing).Endpoint
			t.Cleanup(func() { close(resume) })
			command := strings.Fields(test.command)
			killed := s.command(t, command[0], command[1:]...).runUntil(func(ctx context.Context) {
				select {
				case <-arrived:
				case <-ctx.Done():
				}
			})
			require.True(t, killed.killed, killed.stderr)
			require.NotEmpty(t, s.staged(t))
			end := s.command(t, command[0], command[1:]...).run()
			require.Equal(t, exitOK, end.code, end.stderr)
			require.Empty(t, s.staged(t))
		})
	}
}

// TestNothingReplaceable expects that each command that changes a store rejects one that accepts no version, before
// anything is fetched or written.
func TestNothingReplaceable(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	s := g.newDest()
	s.endpoint = g.server.Proxy(t, nil, s3test.WeakETags).Endpoint
	for _, args := range [][]string{{"run", "--simulate"}, {"purge", "--schools", "x"}, {"prune", "--keep", "1"}, {"history"}, {"status", "--clean"}} {
		end := s.command(t, args[0], args[1:]...).run()
		require.Equal(t, exitUsage, end.code, end.stderr)
		require.Contains(t, end.stderr, "nothing can be published here: the store refuses to replace the version that it has just returned")
		require.Empty(t, s.objects(t))
		require.Empty(t, s.staged(t))
	}
}

// countConditions counts the plans that are written with a condition for the store to check.
func countConditions(n *atomic.Int64, mode s3test.Mode) s3test.Mode {
	return func(next http.RoundTripper) http.RoundTripper {
		next = mode(next)
		return s3test.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+snapshot.PlanName) && r.Header.Get("If-None-Match") != "" {
				n.Add(1)
			}
			return next.RoundTrip(r)
		})
	}
}
