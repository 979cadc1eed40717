package snapshot

// CheckCounts are the counts of one or more schools by check.
type CheckCounts map[string]CheckCount

// CheckCount is how often a rule was broken, and how many schools were checked.
type CheckCount struct {
	Count   int64 `json:"count"`
	Schools int64 `json:"schools"` // as in Check
}

// Add adds other counts.
func (c CheckCounts) Add(other CheckCounts) {
	for name, n := range other {
		sum := c[name]
		sum.Count += n.Count
		sum.Schools += n.Schools
		c[name] = sum
	}
}

// TermCounts counts test results by school and term. The pipeline hashes terms: a checkpoint holds no value of a
// record.
type TermCounts map[string]map[string]int64

// Add counts n more results.
func (c TermCounts) Add(school, term string, n int64) {
	terms := c[school]
	if terms == nil {
		terms = make(map[string]int64)
		c[school] = terms
	}
	terms[term] += n
}

// Merge adds other counts.
func (c TermCounts) Merge(other TermCounts) {
	for school, terms := range other {
		for term, n := range terms {
			c.Add(school, term, n)
		}
	}
}
