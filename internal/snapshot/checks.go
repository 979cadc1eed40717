package snapshot

// CheckCounts are the counts of one or more schools, by check.
type CheckCounts map[string]CheckCount

// CheckCount counts violations of a rule and the schools that were checked.
type CheckCount struct {
	Count   int64 `json:"count"`
	Schools int64 `json:"schools"` // the schools that were checked
}

// Add adds the counts in other to c.
func (c CheckCounts) Add(other CheckCounts) {
	for name, n := range other {
		sum := c[name]
		sum.Count += n.Count
		sum.Schools += n.Schools
		c[name] = sum
	}
}

// TermCounts counts test results by school and term. Terms are hashed, because a checkpoint must not hold values of
// records.
type TermCounts map[string]map[string]int64

// Add counts n more results of a school and term.
func (c TermCounts) Add(school, term string, n int64) {
	terms := c[school]
	if terms == nil {
		terms = make(map[string]int64)
		c[school] = terms
	}
	terms[term] += n
}

// Merge adds the counts in other to c.
func (c TermCounts) Merge(other TermCounts) {
	for school, terms := range other {
		for term, n := range terms {
			c.Add(school, term, n)
		}
	}
}
