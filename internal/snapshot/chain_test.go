package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestLatestChain checks that a run continues a chain only if it starts without a gap.
func TestLatestChain(t *testing.T) {
	t.Parallel()
	const margin = 10 * time.Minute
	full := func(p *snapshot.Plan) { p.Kind = snapshot.Full }
	// The scope includes removed records. A full run without them counts, but a delta run without them does not.
	since := func(text string) func(*snapshot.Plan) {
		return func(p *snapshot.Plan) {
			p.Kind, p.Filters, p.Scope.IncludeRemoved = snapshot.Delta, map[string]string{"modified-since": text}, true
		}
	}
	elsewhere := func(p *snapshot.Plan) { p.BaseURL, p.AcceptBaseURL = "https://other.example", true }
	pseudonymous := func(p *snapshot.Plan) { p.Scope.Privacy, p.Scope.PrivacyKey, p.Replace = "pseudonymous", "0123", true }
	type taken struct {
		day  string // planned at 06:00
		edit []func(*snapshot.Plan)
	}
	for name, c := range map[string]struct {
		runs []taken
		want string // the day of the run
	}{
		"nothing":    {nil, ""},
		"full":       {[]taken{{"01", []func(*snapshot.Plan){full}}}, "01"},
		"one-off":    {[]taken{{"01", []func(*snapshot.Plan){full}}, {"10", []func(*snapshot.Plan){since("2026-11-09T12:00:00Z")}}}, "01"},
		"no full":    {[]taken{{"01", []func(*snapshot.Plan){since("2020-01-01")}}}, ""},
		"continues":  {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){since("2026-11-01T05:50:00Z")}}}, "02"},
		"too late":   {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){since("2026-11-01T05:50:01Z")}}}, "01"},
		"with zone":  {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){since("2026-11-01T07:50:00+02:00")}}}, "02"},
		"far enough": {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){since("2026-11-01")}}}, "02"},
		"over a gap": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"05", []func(*snapshot.Plan){since("2026-11-04")}},
			{"06", []func(*snapshot.Plan){since("2026-11-05T05:50:00Z")}},
		}, "01"},
		"around a gap": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"05", []func(*snapshot.Plan){since("2026-11-04")}},
			{"06", []func(*snapshot.Plan){since("2026-11-01T05:50:00Z")}},
			{"07", []func(*snapshot.Plan){since("2026-11-06T05:50:00Z")}},
		}, "07"},
		"full after a gap": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"05", []func(*snapshot.Plan){since("2026-11-04")}},
			{"06", []func(*snapshot.Plan){full}},
		}, "06"},
		"without removed": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"02", []func(*snapshot.Plan){since("2026-11-01"), func(p *snapshot.Plan) { p.Scope.IncludeRemoved = false }}},
		}, "01"},
		"own perspective": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"02", []func(*snapshot.Plan){since("2026-11-01"), func(p *snapshot.Plan) { p.Scope.Perspectives = snapshot.OwnPerspective }}},
		}, "01"},
		"full of the own perspective": {[]taken{
			{"01", []func(*snapshot.Plan){full}},
			{"02", []func(*snapshot.Plan){full, func(p *snapshot.Plan) { p.Scope.Perspectives = snapshot.OwnPerspective }}},
		}, "01"},
		"other service":  {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){full, elsewhere}}}, "01"},
		"other profile":  {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){full, pseudonymous}}}, "01"},
		"planned ahead":  {[]taken{{"01", []func(*snapshot.Plan){full}}, {"29", []func(*snapshot.Plan){full}}}, "01"},
		"fewer datasets": {[]taken{{"01", []func(*snapshot.Plan){full}}, {"02", []func(*snapshot.Plan){full, snapshottest.Datasets("districts")}}}, "01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("damaged", snapshottest.Datasets("districts", "schools"), snapshottest.OnDate("2026-11-19")))
			for _, run := range c.runs {
				date := "2026-11-" + run.day
				snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan(date, append([]func(*snapshot.Plan){snapshottest.Datasets("districts", "schools"), snapshottest.OnDate(date)}, run.edit...)...))
			}
			require.NoError(t, os.WriteFile(filepath.Join(root, "_runs", "damaged", "plan.json"), []byte("{"), 0o600))
			chain, err := snapshot.At(store).LatestChain(t.Context(), snapshottest.NewPlan("x").BaseURL, snapshot.Scope{Datasets: []string{"schools"}, Perspectives: "all", IncludeRemoved: true}, snapshottest.Morning(), margin)
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, chain)
				return
			}
			require.NotNil(t, chain)
			require.Equal(t, "2026-11-"+c.want, chain.Last.RunID)
		})
	}
}
