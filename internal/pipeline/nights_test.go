package pipeline_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
)

type object = map[string]any

// edits maps path suffixes to functions that change the records of a list before they are sent. The functions get the
// school.
type edits map[string]func(school string, records []object) []object

// nights is a site whose service changes.
type nights struct {
	*site

	day     time.Time
	tonight atomic.Pointer[edits]
	swapped atomic.Pointer[string] // the path suffix of lists for which every school gets the next school's list; empty for none
	denied  atomic.Pointer[string] // the school whose results the service denies; empty for none
}

// renamed is the suffix of the bid of a school that edits have renamed. The simulated service does not know this bid.
const renamed = "-renamed"

// newNights returns a site of four districts with three schools each.
func newNights(t *testing.T) *nights {
	t.Helper()
	return newNightsOf(t, simulator.Options{Seed: 3, Districts: 4, SchoolSizes: slices.Repeat([]int{100}, 12)})
}

func newNightsOf(t *testing.T, world simulator.Options) *nights {
	t.Helper()
	n := &nights{site: newSite(t, world, simulator.ServerOptions{}), day: theDay}
	n.tonight.Store(&edits{})
	n.swapped.Store(new(string))
	n.denied.Store(new(string))
	server := httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + n.server.BasePath())
	require.NoError(t, err)
	n.url = base
	return n
}

// serve edits the answers of the simulated service.
func (n *nights) serve(w http.ResponseWriter, r *http.Request) {
	r.URL.Path, r.URL.RawQuery = strings.ReplaceAll(r.URL.Path, renamed, ""), strings.ReplaceAll(r.URL.RawQuery, renamed, "")
	if bid := *n.denied.Load(); bid != "" && strings.HasSuffix(r.URL.Path, resultsPath) && r.URL.Query().Get("school-bid") == bid {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if end := *n.swapped.Load(); end != "" && strings.HasSuffix(r.URL.Path, end) {
		schools := n.world.Schools()
		for i := range schools {
			if bid := schools[i].Bid; strings.Contains(r.URL.Path, bid) || strings.Contains(r.URL.RawQuery, bid) {
				next := schools[(i+1)%len(schools)].Bid
				r.URL.Path, r.URL.RawQuery = strings.Replace(r.URL.Path, bid, next, 1), strings.Replace(r.URL.RawQuery, bid, next, 1)
				break
			}
		}
	}
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

// deps returns the dependencies of a process on the current day.
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

// compared returns the settings for a run that is compared, with the usual limits.
func compared() pipeline.Settings {
	s := defaults()
	s.Compare = true
	s.MaxRemoved, s.MaxChanged, s.MaxEmptied = review.Share{Part: 0.1}, review.Share{Part: 0.75}, review.Share{Part: 0.5}
	return s
}

// results is the path suffix of test results.
const (
	resultsPath  = "/growth"
	studentsPath = "/students"
)

// churn changes a little of everything: some results of each school are gone, superseded, corrected or new, their norms
// are in another order, and students leave and arrive.
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

// diff compares a run's snapshot with the previous one, as the command diff does.
func (n *nights) diff(run string) *history.Difference {
	n.t.Helper()
	catalog := n.deps().Catalog
	later, err := catalog.ReadManifest(n.t.Context(), run)
	require.NoError(n.t, err)
	earlier, err := catalog.Previous(n.t.Context(), later)
	require.NoError(n.t, err)
	require.NotNil(n.t, earlier)
	found, err := history.Diff(n.t.Context(), catalog, earlier, later)
	require.NoError(n.t, err)
	return found
}

// requireEqualsDiff expects the comparison of a run to equal the result of diff.
func (n *nights) requireEqualsDiff(summary *pipeline.Summary) {
	n.t.Helper()
	require.Equal(n.t, pipeline.Published, summary.Outcome)
	require.NotNil(n.t, summary.Comparison, summary.NotCompared)
	want := n.diff(summary.RunID)
	plan, err := n.deps().Catalog.ReadPlan(n.t.Context(), summary.RunID)
	require.NoError(n.t, err)
	require.Subset(n.t, summary.Comparison.Warnings, pipeline.NameFindings(pipeline.Warnings(want.ByDistrict()), plan))
	want.Warnings = summary.Comparison.Warnings // a run has further warnings
	require.Equal(n.t, &want.Comparison, summary.Comparison)
	manifest, err := n.deps().Catalog.ReadManifest(n.t.Context(), summary.RunID)
	require.NoError(n.t, err)
	require.Equal(n.t, manifest.Comparison, summary.Comparison)
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
