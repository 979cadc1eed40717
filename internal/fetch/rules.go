package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"math/bits"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// The functions in this file count rows of one school that break the service's own rules. A null or an empty identifier
// does not break a rule, because there is nothing to compare. Identifiers are text, so sets of students are kept as
// 64-bit hashes, with a seed that only this process knows.

// resultsPerPage is the number of results in every page of 4.6 except the last (specification, "Limits").
const resultsPerPage = 1000

// identifier returns the identifier in a row, or nil if the value is null.
func identifier(v *rows.Vector, row int) []byte {
	if v.Null(row) {
		return nil
	}
	return v.Text(row)
}

// repeatedSubjects finds the pairs of student and subject that have more than one result. Usually the hashes show that
// no pair repeats. Pairs with equal hashes are compared in a second pass.
type repeatedSubjects struct {
	seed  maphash.Seed
	seen  hashSet
	again map[uint64]bool
	pairs map[[2]string]int
}

func newRepeatedSubjects(results int64, seed maphash.Seed) *repeatedSubjects {
	return &repeatedSubjects{seed: seed, seen: newHashSet(int(results)), again: make(map[uint64]bool), pairs: make(map[[2]string]int)}
}

// addHashes makes the first pass over a batch.
func (s *repeatedSubjects) addHashes(results *rows.Batch) {
	s.eachPair(results, func(hash uint64, _, _ []byte) {
		if !s.seen.add(hash) {
			s.again[hash] = true
		}
	})
}

// addPairs makes the second pass over a batch.
func (s *repeatedSubjects) addPairs(results *rows.Batch) {
	s.eachPair(results, func(hash uint64, student, subject []byte) {
		if s.again[hash] {
			s.pairs[[2]string{string(student), string(subject)}]++
		}
	})
}

// count returns the number of pairs that have more than one result. It must be called after both passes.
func (s *repeatedSubjects) count() int64 {
	var n int64
	for _, results := range s.pairs {
		if results > 1 {
			n++
		}
	}
	return n
}

// eachPair calls use with the student and subject of each result that has both.
func (s *repeatedSubjects) eachPair(results *rows.Batch, use func(hash uint64, student, subject []byte)) {
	cols := results.Columns("student_bid", "subject_area")
	for i := range results.Len() {
		row := results.Row(i)
		student, subject := identifier(cols[0], row), identifier(cols[1], row)
		if len(student) > 0 && len(subject) > 0 {
			// The second hash is rotated, so that swapping the two values changes the result.
			use(maphash.Bytes(s.seed, student)^bits.RotateLeft64(maphash.Bytes(s.seed, subject), 1), student, subject)
		}
	}
}

// countOlder counts the results whose administration ended (or started, if it has no end) before a moment.
func countOlder(results *rows.Batch, moment int64) int64 {
	var n int64
	cols := results.Columns("administration_end_date_time", "administration_start_date_time")
	for i := range results.Len() {
		row, at := results.Row(i), cols[0]
		if at.Null(row) {
			at = cols[1]
		}
		if !at.Null(row) && at.I64[row] < moment {
			n++
		}
	}
	return n
}

// itemColumns are the columns of a result's numbers of items, which are in ascending order.
var itemColumns = []string{"items_correct", "items_shown", "items_total"}

// countDisordered counts the rows in which a value is lower than the value of the column before it. The values should
// ascend.
func countDisordered(results *rows.Batch, names ...string) int64 {
	var n int64
	cols := results.Columns(names...)
	for i := range results.Len() {
		row := results.Row(i)
		for c, lower := range cols[:len(cols)-1] {
			upper := cols[c+1]
			if !lower.Null(row) && !upper.Null(row) && lower.I32[row] > upper.I32[row] {
				n++
				break
			}
		}
	}
	return n
}

// maxTerms and maxSessions limit the terms that one school adds to a checkpoint. No district has that many terms, so
// any further terms must be errors of the service.
const (
	maxTerms    = 1000
	maxSessions = 10_000
)

// otherTerms is the entry for results with any term beyond the first maxTerms. It is not the hash of any term, so these
// results count as results with unknown terms.
const otherTerms = "others"

// termCounter counts the results of a school by term and by the school that is given in the result. A result without a
// school is counted for the school that was read. Results of schools outside the run are not counted.
type termCounter struct {
	school   string
	inRun    map[string]bool
	uses     map[string]map[string]*int64
	distinct int
}

func newTermCounter(school string, inRun map[string]bool) *termCounter {
	return &termCounter{school: school, inRun: inRun, uses: make(map[string]map[string]*int64)}
}

func (c *termCounter) add(results *rows.Batch) {
	var lastOf, lastTerm []byte // most results have the same values as the one before
	var last *int64
	cols := results.Columns("school_bid", "term_bid")
	for i := range results.Len() {
		row := results.Row(i)
		of, term := identifier(cols[0], row), identifier(cols[1], row)
		if last != nil && bytes.Equal(term, lastTerm) && bytes.Equal(of, lastOf) {
			*last++
			continue
		}
		lastOf, lastTerm, last = of, term, nil
		if len(of) == 0 {
			of = []byte(c.school)
		}
		if len(term) == 0 || !c.inRun[string(of)] {
			continue
		}
		terms := c.uses[string(of)]
		if terms == nil {
			terms = make(map[string]*int64)
			c.uses[string(of)] = terms
		}
		n := terms[string(term)]
		if n == nil && c.distinct >= maxTerms {
			term = nil
			n = terms[""]
		}
		if n == nil {
			n = new(int64)
			terms[string(term)] = n
			c.distinct++
		}
		*n++
		last = n
	}
}

func (c *termCounter) counts() snapshot.TermCounts {
	counts := make(snapshot.TermCounts)
	for of, terms := range c.uses {
		for term, n := range terms {
			hash := otherTerms
			if term != "" {
				hash = hashTerm(term)
			}
			counts.Add(of, hash, *n)
		}
	}
	return counts
}

// addSessions adds the hashes of a school's enrollment sessions to found, up to maxSessions.
func addSessions(found map[string]bool, sessions *rows.Batch) {
	bid := sessions.Columns("enrollment_session_bid")[0]
	for i := range sessions.Len() {
		if text := identifier(bid, sessions.Row(i)); len(text) > 0 && len(found) < maxSessions {
			found[hashTerm(string(text))] = true
		}
	}
}

// hashTerm hashes the identifier of a term for a checkpoint, which must neither hold values of records nor grow with
// their length.
func hashTerm(bid string) string {
	sum := sha256.Sum256([]byte(bid))
	return hex.EncodeToString(sum[:8])
}

// checker checks the service's own rules for each school before its rows are written. The counts go to the checkpoint
// of test_results, and from there to the manifest.
type checker struct {
	oldest  int64           // results from before this time are older than a year
	items   bool            // whether the privacy profile keeps the numbers of items
	terms   bool            // whether results and academic years are compared
	schools map[string]bool // the schools of the run, by bid
	seed    maphash.Seed
}

func newChecker(p *Parameters, results *schemas.Table, profile schemas.Profile) (checker, error) {
	oldest, err := snapshot.YearBefore(p.Date)
	if err != nil {
		return checker{}, err
	}
	c := checker{oldest: oldest, seed: maphash.MakeSeed(), schools: make(map[string]bool)}
	c.items = results.Columns[results.Column(itemColumns[0])].Under(profile) != schemas.Withhold
	c.terms = slices.Contains(p.Datasets, schemas.TestResults) && slices.Contains(p.Datasets, schemas.AcademicYears)
	for i := range p.Schools {
		c.schools[p.Schools[i].Bid] = true
	}
	return c, nil
}
