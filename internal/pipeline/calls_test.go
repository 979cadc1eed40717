package pipeline_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

// TestCallsSurviveAnInterrupt interrupts a run of fan-outs. The saved calls of unstaged tasks hold only values that the
// run may write. They are not requested again, are ignored if they are damaged, and are removed at the end. The files
// have the same bytes as an undisturbed run.
func TestCallsSurviveAnInterrupt(t *testing.T) {
	t.Parallel()
	full := defaults()
	full.Datasets, full.SchoolsPerFile = []string{"student_details", "student_school_classes", "educator_school_classes"}, 2
	world := simulator.Options{Seed: 8, SchoolSizes: []int{90, 140, 80}, Schools: 3, Districts: 2}
	students, _, _ := schemas.FindTable("student_details")
	all := newSite(t, world, simulator.ServerOptions{})
	all.run(full)
	var bids, listed []string
	for _, row := range all.rows(students) {
		bids = append(bids, row["student_bid"].(string))
	}
	bids = slices.Compact(slices.Sorted(slices.Values(bids)))
	for i, bid := range bids {
		if i%3 == 0 {
			listed = append(listed, bid)
		}
	}
	cohort := full
	cohort.Students = listed
	private := pseudonymous(t, 0)
	private.Datasets, private.SchoolsPerFile = full.Datasets, 2

	for name, settings := range map[string]pipeline.Settings{"full": full, "cohort": cohort, "pseudonymous": private} {
		for _, damaged := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				quiet := newSite(t, world, simulator.ServerOptions{})
				quiet.run(settings)
				total := len(quiet.asked())

				s := newSite(t, world, simulator.ServerOptions{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var sent atomic.Int64
				base := new(http.Transport)
				t.Cleanup(base.CloseIdleConnections)
				_, err := runAll(ctx, s.deps(func(o *extract.Options) {
					o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
						if sent.Add(1) == int64(total)/2 {
							cancel()
						}
						return base.RoundTrip(r)
					})
				}), settings)
				require.ErrorIs(t, err, context.Canceled)
				saved, err := filepath.Glob(filepath.Join(s.dest, "_runs", "*", "journal", "*.calls"))
				require.NoError(t, err)
				require.NotEmpty(t, saved)
				var text []byte
				for _, path := range saved {
					data, err := os.ReadFile(path)
					require.NoError(t, err)
					text = append(text, data...)
					if damaged {
						data[len(data)-1] ^= 1
						require.NoError(t, os.WriteFile(path, data, 0o600))
					}
				}
				found := slices.DeleteFunc(slices.Clone(bids), func(bid string) bool { return !bytes.Contains(text, []byte(bid)) })
				switch name {
				case "full":
					require.NotEmpty(t, found)
				case "cohort":
					require.Subset(t, listed, found)
				case "pseudonymous":
					require.Empty(t, found)
				}

				made := make(map[string]bool)
				for _, r := range s.asked() {
					made[r.Path+"?"+r.Query.Encode()] = true
				}
				s.server.ResetLog()
				summary := s.run(settings)
				require.Equal(t, pipeline.Published, summary.Outcome)
				require.Equal(t, quiet.hashes(), s.hashes())
				repeated := 0
				for _, r := range s.asked() {
					if made[r.Path+"?"+r.Query.Encode()] {
						repeated++
					}
				}
				t.Logf("%d of %d requests repeated, %d calls resumed", repeated, total, summary.CallsResumed)
				require.Less(t, repeated, total/2)
				require.True(t, damaged || summary.CallsResumed > 0)
				left, err := filepath.Glob(filepath.Join(s.dest, "_runs", "*", "journal", "*"))
				require.NoError(t, err)
				require.Empty(t, left)
			})
		}
	}
}
