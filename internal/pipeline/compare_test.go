package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

type object = map[string]any

// edits change the records of a list before they are sent, by the end of the path. They are called with the school.
type edits map[string]func(school string, records []object) []object

// nights is a site whose service changes.
type nights struct {
	*site

	day     time.Time
	tonight atomic.Pointer[edits]
}

// newNights returns a site of four districts with three schools each.
func newNights(t *testing.T) *nights {
	t.Helper()
	world := simulator.Options{Seed: 3, Districts: 4, SchoolSizes: slices.Repeat([]int{100}, 12)}
	n := &nights{site: newSite(t, world, simulator.ServerOptions{}), day: theDay}
	n.tonight.Store(&edits{})
	server := httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + n.server.BasePath())
	require.NoError(t, err)
	n.url = base
	return n
}

// serve edits what the simulated service answers.
func (n *nights) serve(w http.ResponseWriter, r *http.Request) {
	var edit func(string, []object) []object
	for end, e := range *n.tonight.Load() {
		if strings.HasSuffix(r.URL.Path, end) {
			edit = e
		}
	}
	if edit == nil {
		n.server.ServeHTTP(w, r)
		return
	}
	school := r.URL.Query().Get("school-bid")
	if parts := strings.Split(r.URL.Path, "/"); school == "" {
		school = parts[len(parts)-2]
	}
	r.Header.Del("Accept-Encoding")
	answer := httptest.NewRecorder()
	n.server.ServeHTTP(answer, r)
	var body any
	decoder := json.NewDecoder(answer.Body)
	decoder.UseNumber()
	if answer.Code != http.StatusOK || decoder.Decode(&body) != nil {
		w.WriteHeader(answer.Code)
		return
	}
	change := func(list []any) []any {
		var records []object
		for _, record := range list {
			records = append(records, record.(object))
		}
		changed := []any{}
		for _, record := range edit(school, records) {
			changed = append(changed, record)
		}
		return changed
	}
	switch value := body.(type) {
	case []any:
		body = change(value)
	case object:
		for name, member := range value {
			if list, ok := member.([]any); ok {
				value[name] = change(list)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// deps returns what a process works with on the night's day.
func (n *nights) deps() pipeline.Deps {
	deps := n.site.deps(nil)
	deps.Now = func() time.Time { return n.day }
	return deps
}

// next begins the next day.
func (n *nights) next(e edits) {
	n.day = n.day.AddDate(0, 0, 1)
	n.tonight.Store(&e)
}

func (n *nights) export(settings pipeline.Settings) *pipeline.Summary {
	n.t.Helper()
	summary, err := pipeline.Run(n.t.Context(), n.deps(), settings)
	require.NoError(n.t, err)
	return summary
}

// compared returns settings of a run that is compared, with the usual limits.
func compared() pipeline.Settings {
	s := defaults()
	s.Compare = true
	s.Changes = pipeline.ChangeLimits{
		MaxRemoved: pipeline.Share{Part: 0.1}, MaxChanged: pipeline.Share{Part: 0.75}, MaxEmptied: pipeline.Share{Part: 0.5},
	}
	return s
}

// results are the end of the path of test results.
const (
	resultsPath  = "/growth"
	studentsPath = "/students"
)

// churn changes a little of everything: of the results of each school some are gone, superseded, corrected or new, their
// norms come in another order, students leave and arrive.
func churn() edits {
	return edits{
		resultsPath: func(school string, records []object) []object {
			var kept []object
			for i, r := range records {
				switch i % 40 {
				case 3: // gone
					continue
				case 7:
					r["testResultBid"] = fmt.Sprint("superseding ", school, i)
				case 11:
					r["rit"], r["modifiedDateTime"] = 199, "2026-11-20T12:00:00Z"
				case 13:
					r["grade"] = nil
				case 17:
					r = maps.Clone(r)
					r["testResultBid"], r["studentBid"] = fmt.Sprint("new ", school, i), fmt.Sprint("a new student of ", school)
					kept = append(kept, records[i])
				case 19:
					if norms, ok := r["norms"].([]any); ok && len(norms) > 1 {
						slices.Reverse(norms)
					}
				case 23:
					r["administrationEndDateTime"], r["testResultBid"] = "2025-11-20T23:59:59Z", nil
				}
				kept = append(kept, r)
			}
			return kept
		},
		studentsPath: func(school string, records []object) []object {
			for i, r := range records {
				if i%3 == 0 {
					r["studentBid"] = fmt.Sprint("arrived at ", school, i)
				}
				if i%9 == 4 {
					r["grade"] = "12"
				}
			}
			return records
		},
	}
}

// diff compares a run's snapshot with the one before, as the command diff does.
func (n *nights) diff(run string) *history.Difference {
	n.t.Helper()
	catalog := n.deps().Catalog
	later, err := catalog.ReadManifest(n.t.Context(), run)
	require.NoError(n.t, err)
	earlier, err := catalog.FullBefore(n.t.Context(), later)
	require.NoError(n.t, err)
	require.NotNil(n.t, earlier)
	found, err := history.Diff(n.t.Context(), catalog, earlier, later)
	require.NoError(n.t, err)
	return found
}

// requireEqualsDiff expects the comparison of a run that diff finds.
func (n *nights) requireEqualsDiff(summary *pipeline.Summary) {
	n.t.Helper()
	require.Equal(n.t, pipeline.Published, summary.Outcome)
	require.NotNil(n.t, summary.Comparison, summary.NotCompared)
	want := n.diff(summary.RunID).Comparison
	want.Warnings = summary.Comparison.Warnings
	require.Equal(n.t, &want, summary.Comparison)
	manifest, err := n.deps().Catalog.ReadManifest(n.t.Context(), summary.RunID)
	require.NoError(n.t, err)
	require.Equal(n.t, manifest.Comparison, summary.Comparison)
}

// TestComparison compares nights, and expects what diff finds between the published snapshots. Results do not move between
// schools here, so the reasons are the same too.
func TestComparison(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	require.Nil(t, first.Comparison, "there is nothing to compare with")
	require.Empty(t, first.NotCompared)

	n.next(edits{})
	same := n.export(compared())
	n.requireEqualsDiff(same)
	for name, counts := range same.Comparison.Tables {
		require.Equal(t, counts.Before(), counts.Same, name)
		require.Zero(t, counts.Added, name)
	}
	require.Empty(t, same.Comparison.Warnings)

	// A school fails, two are denied, and one more bucket begins elsewhere.
	n.next(churn())
	schools := n.world.Schools()
	n.server.SetFaults([]simulator.Fault{
		{Operation: "students", School: schools[1].Bid, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "test_results", School: schools[2].Bid, Kind: simulator.FaultStatus, Status: 403},
	})
	settings := compared()
	settings.SchoolsPerFile = 5
	settings.Changes.MaxRemoved.Off = true
	changed := n.export(settings)
	n.requireEqualsDiff(changed)
	results := changed.Comparison.Tables["test_results"]
	require.Positive(t, results.Changed)
	for _, reason := range []string{snapshot.Superseded, snapshot.LeftRoster, snapshot.Unexplained} {
		require.Positive(t, results.Because[reason], reason)
	}
	require.EqualValues(t, 10, changed.Comparison.SchoolsCompared)
	require.EqualValues(t, 2, changed.Comparison.SchoolsNotCompared)

	// The run of the same date is compared with the night before, not with the one that it replaces.
	n.server.SetFaults(nil)
	n.tonight.Store(&edits{})
	again := n.export(compared())
	n.requireEqualsDiff(again)
	require.Equal(t, same.RunID, again.Comparison.With)

	n.next(edits{})
	settings.Compare = false
	require.Nil(t, n.export(settings).Comparison)
}

// TestComparisonOfSeveralProcesses expects the same of shards, and of a run that was interrupted and resumed, as of a run
// in one go.
func TestComparisonOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	n.export(compared())
	n.next(churn())
	settings := compared()
	settings.Changes.MaxRemoved.Off = true
	whole := n.export(settings)
	n.requireEqualsDiff(whole)

	sharded := settings
	sharded.RunID, sharded.Shards = "sharded", 2
	for sharded.Shard = range sharded.Shards {
		summary := n.export(sharded)
		require.Equal(t, pipeline.Staged, summary.Outcome)
		require.Equal(t, sharded.Shard == 1, summary.Comparison != nil, "only the whole can be compared")
	}
	published, err := pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "sharded"})
	require.NoError(t, err)
	n.requireEqualsDiff(published)
	require.Equal(t, whole.Comparison, published.Comparison)

	// Each attempt is interrupted when it has staged something more, on a store that reads staged files back and on one that
	// does not.
	for run, wrap := range map[string]func(sink.Store) sink.Store{
		"resumed": func(store sink.Store) sink.Store { return store },
		"blind":   func(store sink.Store) sink.Store { return struct{ sink.Store }{store} },
	} {
		resumed := settings
		resumed.RunID, resumed.Concurrency = run, 1
		var summary *pipeline.Summary
		for attempts := 0; summary == nil || summary.Outcome != pipeline.Published; attempts++ {
			require.Less(t, attempts, 100)
			ctx, cancel := context.WithCancel(t.Context())
			deps := n.deps()
			deps.Catalog = snapshot.At(wrap(deps.Catalog.Store))
			deps.Tracer = &interrupter{cancel: cancel, after: 4}
			summary, err = pipeline.Run(ctx, deps, resumed)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		n.requireEqualsDiff(summary)
		require.Positive(t, summary.UnitsResumed)
		require.Equal(t, whole.Comparison, summary.Comparison, run)
	}
}

// interrupter cancels a run after it has staged some tasks.
type interrupter struct {
	cancel func()
	after  int64
	staged atomic.Int64
}

func (i *interrupter) Start(ctx context.Context, span pipeline.Span) (context.Context, func(pipeline.SpanEnd)) {
	return ctx, func(pipeline.SpanEnd) {
		if span.Name == pipeline.SpanStage && i.staged.Add(1) > i.after {
			i.cancel()
		}
	}
}

// inDistrict calls edit with the records of the schools of a district.
func (n *nights) inDistrict(district string, edit func(records []object) []object) func(string, []object) []object {
	of := make(map[string]string)
	for _, school := range n.world.Schools() {
		of[school.Bid] = school.DistrictBid
	}
	return func(school string, records []object) []object {
		if of[school] != district {
			return records
		}
		return edit(records)
	}
}

// TestLimitsOnChanges changes much in one district of four.
func TestLimitsOnChanges(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	few := compared()
	few.Datasets = []string{"schools", "students", "test_results"}
	n.export(few)
	off := pipeline.Share{Off: true}
	district := n.world.Schools()[0].DistrictBid
	each := func(every int, do func(i int, r object)) func([]object) []object {
		return func(records []object) []object {
			for i, r := range records {
				if i%10 < every {
					do(i, r)
				}
			}
			return records
		}
	}
	replaced := func(i int, r object) {
		r["testResultBid"], r["studentBid"] = fmt.Sprint(r["testResultBid"], "-", i), fmt.Sprint(r["studentBid"], "-x")
	}
	cases := []struct {
		name string
		path string
		edit func([]object) []object
		off  func(*pipeline.PublishSettings)
		want string // of the reason; empty: it is published
	}{
		{
			"30 % of the results are others", resultsPath, each(3, replaced), func(s *pipeline.PublishSettings) { s.MaxRemoved = &off },
			"--max-removed 10% allows: table test_results, district " + district + ": ",
		},
		{"10 % of the results are others", resultsPath, each(1, replaced), nil, ""},
		{"superseded results", resultsPath, each(10, func(i int, r object) {
			r["testResultBid"] = fmt.Sprint(r["testResultBid"], "-", i)
		}), nil, ""},
		{
			"80 % of the students changed", studentsPath, each(8, func(_ int, r object) { r["grade"] = "13" }),
			func(s *pipeline.PublishSettings) { s.MaxChanged = &off },
			"--max-changed 75% allows: table students, district " + district + ": ",
		},
		{"all results are modified", resultsPath, each(10, func(_ int, r object) { r["modifiedDateTime"] = "2026-11-20T12:00:00Z" }), nil, ""},
		{
			"60 % of a column are empty", resultsPath, each(6, func(_ int, r object) { r["grade"] = nil }),
			func(s *pipeline.PublishSettings) { s.MaxEmptied = &off },
			"--max-emptied 50% allows: table test_results, column grade, district " + district + ": ",
		},
		{"40 % of a column are empty", resultsPath, each(4, func(_ int, r object) { r["testName"] = "" }), nil, ""},
	}
	for _, test := range cases {
		n.next(edits{test.path: n.inDistrict(district, test.edit)})
		n.day = theDay.AddDate(0, 0, 1) // every case is compared with the first night
		settings := few
		settings.RunID = strings.Map(func(r rune) rune {
			if r == ' ' || r == '%' {
				return '-'
			}
			return r
		}, test.name)
		summary := n.export(settings)
		if test.want == "" {
			require.Equal(t, pipeline.Published, summary.Outcome, "%s: %q", test.name, summary.Held)
			n.requireEqualsDiff(summary)
			continue
		}
		require.Equal(t, pipeline.HeldBack, summary.Outcome, test.name)
		require.Len(t, summary.Held, 1, test.name)
		require.Contains(t, summary.Held[0], test.want, test.name)
		require.Regexp(t, `: [0-9]+ of [0-9]+$`, summary.Held[0], test.name)
		require.NotNil(t, summary.Comparison, test.name)

		// publish has the plan's limits, unless it gets others.
		publish := pipeline.PublishSettings{RunID: settings.RunID}
		summary, err := pipeline.Publish(t.Context(), n.deps(), publish)
		require.NoError(t, err)
		require.Equal(t, pipeline.HeldBack, summary.Outcome, test.name)
		test.off(&publish)
		summary, err = pipeline.Publish(t.Context(), n.deps(), publish)
		require.NoError(t, err)
		n.requireEqualsDiff(summary)
	}
}

// TestFewRowsAreNotLimited replaces everything of districts with few rows.
func TestFewRowsAreNotLimited(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	settings := compared()
	settings.Datasets = []string{"schools", "test_results"}
	schools := make(map[string]int)
	for _, school := range n.world.Schools() {
		schools[school.DistrictBid]++
	}
	few := 49 / slices.Max(slices.Collect(maps.Values(schools)))
	n.tonight.Store(&edits{resultsPath: func(_ string, records []object) []object { return records[:few] }})
	n.export(settings)
	n.next(edits{resultsPath: func(_ string, records []object) []object {
		records = records[:few]
		for i, r := range records {
			r["testResultBid"], r["studentBid"], r["grade"] = fmt.Sprint("other ", i, r["testResultBid"]), fmt.Sprint("other ", i), nil
		}
		return records
	}})
	summary := n.export(settings)
	n.requireEqualsDiff(summary)
	require.Equal(t, map[string]int64{snapshot.Unexplained: int64(12 * few)}, summary.Comparison.Tables["test_results"].Because)
}

// TestComparisonWarns expects warnings of large removals that do not hold the run back.
func TestComparisonWarns(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	n.export(compared())
	district := n.world.Schools()[0].DistrictBid
	n.next(edits{
		studentsPath: n.inDistrict(district, func(records []object) []object { return records[:len(records)*8/10] }),
		"/growth":    n.inDistrict(n.world.Schools()[1].DistrictBid, func([]object) []object { return nil }),
	})
	settings := compared()
	settings.MaxShrink.Off, settings.Changes.MaxRemoved.Off = true, true
	summary := n.export(settings)
	n.requireEqualsDiff(summary)
	warnings := strings.Join(summary.Comparison.Warnings, "\n")
	require.Contains(t, warnings, "more than 10% of the rows are gone: table students, district "+district+": ")
	require.Contains(t, warnings, "all rows are gone: table test_results, district "+n.world.Schools()[1].DistrictBid+": ")
}

// TestBaselineThatCannotBeRead expects a run without a comparison, which says why, and which is otherwise the same.
func TestBaselineThatCannotBeRead(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	file := func(table string) string {
		files, err := filepath.Glob(filepath.Join(n.dest, table, "snapshot_date=2026-11-20", "part-0001-*.parquet"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		return files[0]
	}
	path := file("test_results")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	damages := map[string][]byte{
		"short": sound[:len(sound)/2], "garbage": bytes.Repeat([]byte("x"), len(sound)), "gone": nil,
		"hole": slices.Concat(sound[:len(sound)/4], make([]byte, len(sound)/4), sound[len(sound)/2:]),
	}
	for name, data := range damages {
		require.NoError(t, os.Remove(path))
		if data != nil {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		n.next(churn())
		n.day = theDay.AddDate(0, 0, 1)
		settings := compared()
		settings.RunID = name
		summary := n.export(settings)
		require.Equal(t, pipeline.Published, summary.Outcome, name)
		require.Nil(t, summary.Comparison, name)
		require.Contains(t, summary.NotCompared, "check it with growth-export verify --run-id "+first.RunID, name)
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, sound, 0o600))
	}
}

// TestBaselineThatChanges prunes the baseline while a run is compared with it, and replaces it between two shards.
func TestBaselineThatChanges(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	n.next(churn())
	settings := compared()
	settings.RunID, settings.Shards = "tonight", 2
	n.export(settings)

	// The snapshot of the first night is replaced.
	tonight := n.day
	n.day = theDay
	replacing := compared()
	replacing.RunID = "replacing"
	n.export(replacing)
	n.day = tonight
	settings.Shard = 1
	n.export(settings)
	published, err := pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "tonight"})
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, published.Outcome)
	require.Nil(t, published.Comparison)
	require.Contains(t, published.NotCompared, "it was replaced, purged or pruned after this run had begun")

	// Then it is gone altogether.
	require.NotEqual(t, first.RunID, "replacing")
	n.next(edits{})
	settings = compared()
	settings.RunID, settings.Shards = "later", 2
	n.export(settings)
	require.NoError(t, os.Remove(filepath.Join(n.dest, "_runs", "tonight", "manifest.json")))
	settings.Shard = 1
	n.export(settings)
	published, err = pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "later"})
	require.NoError(t, err)
	require.Nil(t, published.Comparison)
	require.NotEmpty(t, published.NotCompared)
}

// TestComparisonDoesNotChangeFiles compares the hashes of all data files with a run that is not compared.
func TestComparisonDoesNotChangeFiles(t *testing.T) {
	t.Parallel()
	var hashes []map[string]string
	for _, compare := range []bool{true, false} {
		n := newNights(t)
		settings := compared()
		settings.Compare = compare
		settings.Changes.MaxRemoved.Off = true
		n.export(settings)
		n.next(churn())
		summary := n.export(settings)
		require.Equal(t, compare, summary.Comparison != nil)
		hashes = append(hashes, n.hashes())
	}
	require.Equal(t, hashes[0], hashes[1])
}
