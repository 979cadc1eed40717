package oracle

import "example.org/growthexport/internal/simulator"

// The reasons why a version has ended.
const (
	Changed     = "changed"
	Removed     = "removed"
	Moved       = "moved"
	Superseded  = "superseded"
	AgedOut     = "aged_out"
	LeftRoster  = "left_roster"
	Unexplained = "unexplained"
)

// explain sets, for each version that has just ended, the reason why it ended.
func (n *night) explain() {
	tables := map[string]simulator.Table{}
	for _, t := range simulator.Tables() {
		tables[t.Name] = t
	}
	s := n.currentResults()
	gone := map[string]string{} // the reasons why results are gone, by identity
	for _, v := range n.history.Ending {
		switch {
		case v.identity != "" && n.began[v.Table][v.identity] > 0 && tables[v.Table].Each == "":
			v.Because = Changed
		case v.Table == "test_results":
			v.Because = n.becauseOf(v, s)
			gone[v.identity] = v.Because
		}
	}
	for _, v := range n.history.Ending {
		t := tables[v.Table]
		switch {
		case v.Because != "":
		case t.Each == "" || v.identity == "":
			v.Because = Removed
		case n.parents(t.Dataset)[v.identity]:
			v.Because = Changed
		case t.Dataset == "test_results":
			v.Because = gone[v.identity]
		default:
			v.Because = Removed
		}
	}
}

// currentResults holds the current results and rosters. The reasons why test results have ended depend on them.
type currentResults struct {
	schools  map[string]int    // the number of schools that have a result, by the result's bid
	subjects map[[2]string]int // number of results, by student and subject
	rosters  map[[2]string]bool
}

func (n *night) currentResults() *currentResults {
	s := &currentResults{schools: map[string]int{}, subjects: map[[2]string]int{}, rosters: map[[2]string]bool{}}
	for _, versions := range n.history.current["test_results"] {
		for _, v := range versions {
			bid, student, subject := subjectOf(v)
			s.schools[bid]++
			s.subjects[[2]string{student, subject}]++
		}
	}
	for school, versions := range n.history.current["students"] {
		for _, v := range versions {
			student, _ := v.Row["student_bid"].(string)
			s.rosters[[2]string{school, student}] = true
		}
	}
	return s
}

func subjectOf(v *Version) (bid, student, subject string) {
	bid, _ = v.Row["test_result_bid"].(string)
	student, _ = v.Row["student_bid"].(string)
	subject, _ = v.Row["subject_area"].(string)
	return bid, student, subject
}

// becauseOf returns the reason why a test result is gone.
func (n *night) becauseOf(v *Version, s *currentResults) string {
	bid, student, subject := subjectOf(v)
	school := scopeOf(v.Row)
	at, known := v.Row["administration_end_date_time"].(int64)
	if !known {
		at, known = v.Row["administration_start_date_time"].(int64)
	}
	switch {
	case v.identity != "" && s.schools[bid] > 0:
		return Moved
	case student != "" && subject != "" && s.subjects[[2]string{student, subject}] > 0:
		return Superseded
	case known && at < n.yearAgo:
		return AgedOut
	case student != "" && n.read[[2]string{"students", school}] && !s.rosters[[2]string{school, student}]:
		return LeftRoster
	default:
		return Unexplained
	}
}

// parents returns the identities of the current records of a dataset.
func (n *night) parents(dataset string) map[string]bool {
	if n.current == nil {
		n.current = map[string]map[string]bool{}
	}
	if n.current[dataset] == nil {
		found := map[string]bool{}
		for _, versions := range n.history.current[dataset] {
			for _, v := range versions {
				found[v.identity] = true
			}
		}
		n.current[dataset] = found
	}
	return n.current[dataset]
}
