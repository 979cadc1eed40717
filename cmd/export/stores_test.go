//go:build unix

package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// TestOtherStores takes two snapshots, replaces the second, lets two publishers race
// and purges a school on stores that differ from S3: one lists uploads as MinIO does,
// one weakens ETags in a proxy, and one ignores the conditions of writes. Whatever a
// store cannot do fails within a bounded time with a clear error, and every snapshot
// that a pointer names is complete.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	const (
		refused = "the store refuses to replace the version that it has just returned"
		ignored = "the store ignores the conditions of conditional writes"
	)
	var conditional atomic.Int64
	tests := []struct {
		name    string
		mode    s3test.Mode
		warning string // of every run
		// The exit codes of the first snapshot, the second, its replacement, and a
		// purge.
		first, second, again, purge int
	}{
		{name: "lists uploads by exact key", mode: s3test.ExactListing},
		{
			name: "weakens ETags", mode: s3test.WeakETags, warning: refused,
			second: exitPartial, again: exitFailed, purge: exitFailed,
		},
		{name: "ignores conditions", mode: countConditions(&conditional, g.server.IgnoredConditions), warning: ignored},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := g.newDest()
			s.endpoint = g.server.Proxy(t, func(*http.Request) s3test.Fault { return s3test.NoFault }, test.mode).Endpoint
			today := time.Now().UTC()
			dates := []string{today.AddDate(0, 0, -1).Format(time.DateOnly), today.Format(time.DateOnly)}
			takeSnapshot := func(id, date string, more ...string) *process {
				return s.command(t, "run", append([]string{
					"--simulate", "--simulate-schools", "4", "--datasets", "schools,students,test_results", "--run-id", id, "--snapshot-date", date,
				}, more...)...)
			}
			requireEnd := func(code int, end processResult) {
				t.Helper()
				require.Equal(t, code, end.code, end.stderr)
				if test.warning != "" {
					require.Contains(t, end.stderr, test.warning)
				}
				require.NotContains(t, end.stderr, "panic")
			}
			current := func(date string) string {
				t.Helper()
				var pointer snapshot.Pointer
				s.readJSON(t, snapshot.PointerPath(snapshot.Full, date), &pointer)
				requireVerified(t, s.open(t), maintenance.VerifyTarget{SnapshotDate: date})
				return pointer.RunID
			}

			requireEnd(test.first, takeSnapshot("first", dates[0]).run())
			if test.warning == ignored {
				require.Zero(t, conditional.Load(), "the run compares documents with their conditions itself")
			}
			require.Equal(t, "first", current(dates[0]))

			requireEnd(test.second, takeSnapshot("second", dates[1]).run())
			require.Equal(t, "second", current(dates[1]))

			requireEnd(test.again, takeSnapshot("again", dates[1]).run())
			if test.again == exitOK {
				require.Equal(t, "again", current(dates[1]))
			} else {
				require.Equal(t, "second", current(dates[1]), "the previous snapshot stays")
			}

			// Two publishers race: one of them wins, and its snapshot is complete.
			ends := runTogether(takeSnapshot("one", dates[1]), takeSnapshot("other", dates[1]))
			winner := current(dates[1])
			if test.again == exitOK {
				require.Contains(t, []string{"one", "other"}, winner)
			} else {
				require.Equal(t, "second", winner)
			}
			for i, id := range []string{"one", "other"} {
				// The other one failed, or was published first and then replaced.
				if id == winner {
					requireEnd(exitOK, ends[i])
				} else {
					require.Contains(t, []int{test.again, exitFailed}, ends[i].code, "%s: %s", id, ends[i].stderr)
				}
			}

			var plan snapshot.Plan
			s.readJSON(t, snapshot.PlanPath("first"), &plan)
			end := s.command(t, "purge", "--schools", plan.Schools[0].Bid).run()
			require.Equal(t, test.purge, end.code, end.stdout+end.stderr)
			current(dates[0])
			current(dates[1])
			if test.purge == exitOK {
				for _, key := range s.staged(t) {
					require.NotContains(t, key, plan.RunID)
				}
				return
			}
			require.Contains(t, end.stderr, refused)
			for _, path := range s.objects(t) {
				require.False(t, strings.HasPrefix(path, "_purges/") && s.isProof(t, path), "%s is a proof", path)
			}
		})
	}
}

// countConditions counts the plans that are written under a condition which the store is to check.
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

// isProof reports whether the document of a purge has the state done.
func (s *testDest) isProof(t *testing.T, path string) bool {
	t.Helper()
	var report struct {
		State string `json:"state"`
	}
	s.readJSON(t, path, &report)
	return report.State == "done"
}
