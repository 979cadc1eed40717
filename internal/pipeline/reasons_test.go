package pipeline_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

var turnoverNights = flag.Int("turnover-nights", 20, "nights of TestReasonsAgree")

// TestReasonsAgree adds and removes results over some nights, on some of which the service denies access to a school.
// The run, its report, diff and the history agree on how many results are gone and why.
func TestReasonsAgree(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newTurnoverSite(t)
	nights := short(8, *turnoverNights)
	var sum snapshot.TableComparison
	for night := range nights {
		if night > 0 {
			s.next()
		}
		denied := "" // the history compares the night after a denial with the night before it
		if night%5 == 3 {
			denied = s.schools[night%len(s.schools)]
		}
		afterDenied := *s.denied.Swap(&denied) != ""
		shards := 1 + night%4/2 // two of every four nights have two shards
		summary := s.exportIn(shards, night%3 == 1)
		if night == 0 {
			s.fold()
			continue
		}
		s.requireEqualsDiff(summary)
		s.requireInReport(summary)
		require.Equal(t, denied != "" || afterDenied, summary.Comparison.SchoolsNotCompared == 1)
		if folded := s.fold(); !afterDenied {
			s.requireEqualsFold(summary, folded)
		}
		sum.Add(summary.Comparison.Tables["test_results"])
		if night%10 == 9 {
			s.purge()
		}
	}
	for _, reason := range []string{snapshot.Moved, snapshot.Superseded, snapshot.AgedOut, snapshot.LeftRoster, snapshot.Unexplained} {
		require.Greater(t, sum.Because[reason], int64(nights/6-2), reason)
	}
}

// turnoverSite is a site whose students and results change at random.
type turnoverSite struct {
	*nights

	random  *rand.Rand
	schools []string
	lists   map[string]*schoolLists
	moved   map[string]string // districts of schools that have moved to another one
	made    int               // students and results so far
}

// schoolLists are the lists that the service returns for a school.
type schoolLists struct {
	students []string
	results  []object
}

func newTurnoverSite(t *testing.T) *turnoverSite {
	t.Helper()
	world := simulator.Options{Seed: 3, Districts: 3, SchoolSizes: slices.Repeat([]int{2}, 6)}
	s := &turnoverSite{
		nights: newNightsOf(t, world), random: rand.New(rand.NewPCG(3, 4)),
		lists: make(map[string]*schoolLists), moved: make(map[string]string),
	}
	for _, school := range s.world.Schools() {
		s.schools = append(s.schools, school.Bid)
		lists := new(schoolLists)
		s.lists[school.Bid] = lists
		for range 8 {
			lists.students = append(lists.students, s.name("student"))
		}
		for _, student := range lists.students {
			lists.results = append(lists.results, s.result(student, "Mathematics"), s.result(student, "Reading"))
		}
	}
	e := s.edits()
	s.tonight.Store(&e)
	return s
}

func (s *turnoverSite) name(kind string) string {
	s.made++
	return fmt.Sprintf("%s-%04d", kind, s.made)
}

func (s *turnoverSite) result(student, subject string) object {
	return object{
		"testResultBid": s.name("result"), "studentBid": student, "subjectArea": subject, "rit": 180 + s.random.IntN(60),
		"administrationEndDateTime": s.day.AddDate(-1, 0, s.random.IntN(120)).Format("2006-01-02T15:04:05Z"),
		"norms":                     []any{object{"percentile": s.random.IntN(99)}, object{"percentile": s.random.IntN(99)}},
	}
}

func (s *turnoverSite) edits() edits {
	return edits{
		resultsPath: func(school string, _ []object) []object { return s.lists[school].results },
		studentsPath: func(school string, _ []object) []object {
			var records []object
			for _, student := range s.lists[school].students {
				records = append(records, object{"studentBid": student})
			}
			return records
		},
		"/v1/schools": func(_ string, records []object) []object {
			for _, r := range records {
				if district := s.moved[r["schoolBid"].(string)]; district != "" {
					r["districtBid"] = district
				}
			}
			return records
		},
	}
}

// next begins a day on which a few things happen.
func (s *turnoverSite) next() {
	s.nights.next(s.edits())
	for range 2 + s.random.IntN(6) {
		s.happen()
	}
}

// happen changes something in one school.
func (s *turnoverSite) happen() {
	school := s.schools[s.random.IntN(len(s.schools))]
	from, to := s.lists[school], s.lists[s.schools[s.random.IntN(len(s.schools))]]
	if len(from.students) == 0 || len(from.results) == 0 {
		return
	}
	who, which := s.random.IntN(len(from.students)), s.random.IntN(len(from.results))
	student, result := from.students[who], maps.Clone(from.results[which])
	drop := func(gone func(object) bool) { from.results = slices.DeleteFunc(from.results, gone) }
	switch s.random.IntN(12) {
	case 0, 1: // a student moves to another school, with or without the results
		from.students = slices.Delete(from.students, who, who+1)
		to.students = append(to.students, student)
		of := func(r object) bool { return r["studentBid"] == student }
		for _, r := range from.results {
			if of(r) && s.random.IntN(4) > 0 {
				to.results = append(to.results, r)
			}
		}
		drop(of)
	case 2: // a student leaves
		from.students = slices.Delete(from.students, who, who+1)
		drop(func(r object) bool { return r["studentBid"] == student })
	case 3: // students arrive
		for range 3 {
			arrived := s.name("student")
			from.students = append(from.students, arrived)
			from.results = append(from.results, s.result(arrived, "Reading"), s.result(arrived, "Mathematics"))
		}
	case 4, 5: // superseded, here or at another school
		drop(func(r object) bool { return r["testResultBid"] == result["testResultBid"] })
		newer := s.result(fmt.Sprint(result["studentBid"]), fmt.Sprint(result["subjectArea"]))
		to.results = append(to.results, newer)
	case 6: // all results that are older than a year are gone
		limit := s.day.AddDate(-1, 0, 0).Format("2006-01-02T15:04:05Z")
		drop(func(r object) bool { return fmt.Sprint(r["administrationEndDateTime"]) < limit })
	case 7: // gone
		from.results = slices.Delete(from.results, which, which+1)
	case 8: // other key columns, or none
		result[[]string{"testResultBid", "studentBid", "subjectArea"}[s.random.IntN(3)]] = nil
		from.results[which] = result
	case 9: // corrected, with another list of norms
		result["rit"], result["norms"] = s.random.IntN(300), []any{object{"percentile": 1}}
		from.results[which] = result
	case 10: // another order
		slices.Reverse(from.results)
		result["norms"] = slices.Clone(result["norms"].([]any))
		slices.Reverse(result["norms"].([]any))
	case 11: // the school moves to another district
		districts := s.world.Districts()
		s.moved[school] = districts[s.random.IntN(len(districts))].Bid
	}
}

// exportIn takes a snapshot in as many processes as there are shards. The store of a blind run cannot read back staged
// files.
func (s *turnoverSite) exportIn(shards int, blind bool) *pipeline.Summary {
	s.t.Helper()
	settings := compared()
	settings.Datasets = []string{"districts", "schools", "students", "test_results"}
	settings.SchoolsPerFile, settings.Shards, settings.RunID = 2, shards, s.day.Format("run-0102")
	off := review.Share{Off: true}
	settings.Limits = review.Limits{MaxShrink: off, MaxRemoved: off, MaxChanged: off, MaxEmptied: off}
	deps := s.deps()
	if blind {
		deps.Catalog = snapshot.At(struct{ sink.Store }{deps.Catalog.Store()})
	}
	var summary *pipeline.Summary
	var err error
	for settings.Shard = range shards {
		summary, err = pipeline.Run(s.t.Context(), deps, settings)
		require.NoError(s.t, err)
	}
	if shards > 1 {
		if summary.Comparison != nil {
			page, err := pipeline.Report(s.t.Context(), deps.Catalog, summary.RunID)
			require.NoError(s.t, err)
			requireWhy(s.t, page, summary.Comparison)
		}
		summary, err = pipeline.Publish(s.t.Context(), deps, pipeline.PublishSettings{RunID: settings.RunID})
		require.NoError(s.t, err)
	}
	left, err := sink.ListAll(s.t.Context(), deps.Catalog, "_runs/"+settings.RunID+"/journal/")
	require.NoError(s.t, err)
	require.Empty(s.t, left, "a published run has neither checkpoints nor the files beside them")
	return summary
}

func (s *turnoverSite) requireInReport(summary *pipeline.Summary) {
	s.t.Helper()
	page, err := pipeline.Report(s.t.Context(), s.deps().Catalog, summary.RunID)
	require.NoError(s.t, err)
	requireWhy(s.t, page, summary.Comparison)
}

// requireWhy expects a report to list the reasons in a comparison. It does not check tables with more than three
// reasons, because the report shows only three, or tables with only the usual reason, which the report does not show.
func requireWhy(t testing.TB, page []byte, of *snapshot.Comparison) {
	t.Helper()
	for _, table := range []string{"test_results", "test_result_norms"} {
		because := of.Tables[table].Because
		for reason, n := range because {
			if reason != snapshot.ElementsChanged && len(because) <= 3 && because[snapshot.Removed] < of.Tables[table].Removed {
				text := fmt.Sprintf("%s %d", strings.ReplaceAll(reason, "_", " "), n)
				require.True(t, bytes.Contains(page, []byte(text)), "%s: %s", table, text)
			}
		}
	}
}

// fold adds the night to the history.
func (s *turnoverSite) fold() *history.Folded {
	s.t.Helper()
	report, err := history.Update(s.t.Context(), s.deps().Catalog, history.Options{})
	require.NoError(s.t, err)
	require.Len(s.t, report.Folded, 1)
	return report.Folded[0]
}

// requireEqualsFold expects that, for each reason, the number of versions that ended equals the count in the comparison
// of the run. The history also has rows of schools that the run could not read.
func (s *turnoverSite) requireEqualsFold(summary *pipeline.Summary, folded *history.Folded) {
	s.t.Helper()
	for table, counts := range summary.Comparison.Tables {
		got := folded.Tables[table]
		want := maps.Clone(counts.Because)
		want[snapshot.ElementsChanged] += counts.Changed
		maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
		require.Equal(s.t, want, got.Because, table)
		require.Equal(s.t, []int64{counts.Added + counts.Changed, counts.Removed + counts.Changed}, []int64{got.Begun, got.Ended}, table)
		if summary.Schools.Denied == 0 {
			require.Equal(s.t, counts.Same, got.Same, table)
		}
	}
}

// purge erases a student from the destination and at the service.
func (s *turnoverSite) purge() {
	s.t.Helper()
	for _, lists := range s.lists {
		if len(lists.students) == 0 {
			continue
		}
		student := lists.students[0]
		_, err := maintenance.Purge(s.t.Context(), s.deps().Catalog, maintenance.PurgeOptions{
			Students: []string{student}, AllowUnknown: true, Now: s.deps().Now, ToolVersion: "test",
		})
		require.NoError(s.t, err)
		for _, lists := range s.lists {
			lists.students = slices.DeleteFunc(lists.students, func(other string) bool { return other == student })
			lists.results = slices.DeleteFunc(lists.results, func(r object) bool { return r["studentBid"] == student })
		}
		return
	}
}

// TestAgeOfWhatIsWritten checks that results of last year are counted and explained by the dates that are written.
// Under a profile that keeps only the month, all results of that month are older than a year, so those that are gone
// are explained.
func TestAgeOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	for profile, older := range map[schemas.Profile]int64{schemas.Full: 2, schemas.Pseudonymous: 2, schemas.Minimal: 3} {
		n := newNightsOf(t, simulator.Options{Seed: 3, SchoolSizes: []int{1}})
		settings := pseudonymous(t, 0)
		settings.Privacy, settings.Compare, settings.MaxShrink.Off = profile, true, true
		settings.Datasets = []string{"schools", "students", "test_results"}
		n.tonight.Store(&edits{
			studentsPath: func(string, []object) []object { return []object{{"studentBid": "s"}} },
			resultsPath: func(string, []object) (results []object) {
				for _, day := range []string{"10-31", "11-05", "11-28"} {
					results = append(results, object{
						"testResultBid": day, "studentBid": "s", "subjectArea": day, "administrationEndDateTime": "2025-" + day + "T12:00:00Z",
					})
				}
				return results
			},
		})
		require.Equal(t, older, counted(n.export(settings).Checks, simulator.RuleOlderThanAYear), profile)
		n.next(edits{
			studentsPath: func(string, []object) []object { return []object{{"studentBid": "s"}} },
			resultsPath:  func(string, []object) []object { return nil },
		})
		summary := n.export(settings)
		n.requireEqualsDiff(summary)
		want := map[string]int64{snapshot.AgedOut: older}
		if older < 3 {
			want[snapshot.Unexplained] = 3 - older
		}
		require.Equal(t, want, summary.Comparison.Tables["test_results"].Because, profile)
	}
}
