package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
)

// PurgeSuppression records that the students of a purge are on the suppression list, so that runs with the key omit
// them.
type PurgeSuppression struct {
	// Key is the fingerprint of the privacy key.
	Key string `json:"key_fingerprint"`
	// Students is how many of the purge's students are on the list.
	Students int `json:"students"`
	// Added is the number of these students that this command added. It is not part of the proof, so that the proof is the
	// same if the purge was killed and resumed.
	Added int `json:"-"`
}

// suppress adds the students of the purge to the suppression list before any rows are erased, so that a run that begins
// later does not export them again. In a dry run, it only counts them.
func (p *purger) suppress(ctx context.Context) error {
	key := p.opts.Key
	if p.students == nil || key == nil {
		return nil
	}
	before, err := p.catalog.ReadSuppressed(ctx, key.Fingerprint())
	if err != nil {
		return err
	}
	var students []snapshot.SuppressedStudent
	numbers := p.numbersOfStudents()
	for _, listed := range p.students.Listed() {
		if p.students.ByNumber {
			students = append(students, snapshot.SuppressedStudent{Numbers: append(numbers[listed], key.SuppressedNumber(listed))})
			continue
		}
		student := snapshot.SuppressedStudent{Bid: key.SuppressedBid(listed), Numbers: numbers[listed]}
		// Once the rows are gone, only an earlier entry in the suppression list shows that the listed text is a pseudonym.
		if of := key.SuppressedPseudonym(listed); p.pseudonyms[listed] || before.HasBid(of) {
			student.Bid = of
		}
		students = append(students, student)
	}
	r := p.report
	purges, err := p.catalog.PurgesLike(ctx, len(students), r.Asked.Students.Digest, p.students.ByNumber)
	if err != nil {
		return err
	}
	r.Suppressed = &PurgeSuppression{Key: key.Fingerprint(), Students: len(students)}
	r.NotReached = p.notReached()
	if !p.opts.DryRun && !r.Nothing() { // If the purge is killed after this, the stored report shows that it had begun.
		if err := p.record(ctx); err != nil {
			return err
		}
	}
	r.Suppressed.Added, err = p.catalog.Suppress(ctx, key.Fingerprint(), students, append(purges, r.ID), p.opts.DryRun)
	if err != nil || p.opts.DryRun {
		return err
	}
	list, err := p.catalog.ReadSuppressed(ctx, key.Fingerprint())
	if err != nil {
		return err
	}
	p.suppressed, err = list.Describe(key.Fingerprint())
	return err
}

// numbersOfStudents returns, for each listed bid, the digests of the numbers in the student's rows, sorted.
func (p *purger) numbersOfStudents() map[string][]string {
	key := p.opts.Key
	found := make(map[string][]string)
	for bid, numbers := range p.students.NumbersOf() {
		var digests []string
		for number := range numbers {
			// Rows contain either the number or its pseudonym, and a number may look like a pseudonym.
			digests = append(digests, key.SuppressedNumber(number))
			if len(number) == privacy.PseudonymLength {
				digests = append(digests, key.SuppressedPseudonym(number))
			}
		}
		found[bid] = slices.Compact(slices.Sorted(slices.Values(digests)))
	}
	return found
}

// UnsuppressReport is the result of removing students from the suppression list.
type UnsuppressReport struct {
	DryRun bool `json:"dry_run,omitempty"` // nothing was changed
	// Key is the fingerprint of the privacy key.
	Key string `json:"key_fingerprint"`
	// Students is the number of students who were removed from the list.
	Students int `json:"students"`
	// Given is the number of bids and numbers that were given. NotFound is how many of them are not on the list.
	Given    int `json:"given"`
	NotFound int `json:"not_found"`
	// Unmatched are the given bids and numbers that are not on the list. They must not be logged.
	Unmatched []string `json:"-"`
}

// SharedNumberError means that several students on the suppression list have one of the given numbers in common.
// Nothing was changed.
type SharedNumberError struct {
	// Numbers are the given numbers that several students have. They must not be logged. Students contains, for each
	// number, the count of students on the list who have it.
	Numbers  []string
	Students []int
}

func (e *SharedNumberError) Error() string {
	return "several students on the suppression list have the same number"
}

// Unsuppress removes students, given by bid or number, from the suppression list of a privacy key, so that runs export
// them again. It returns an *UnknownBidsError if none of the students is on the list and allowUnknown is not set, and a
// *SharedNumberError if several students on the list have one of the numbers.
func Unsuppress(ctx context.Context, catalog snapshot.Catalog, key *privacy.Key, students []string, allowUnknown, dryRun bool) (*UnsuppressReport, error) {
	if key == nil {
		return nil, errors.New("unsuppress: the privacy key of the list is needed")
	}
	given := slices.Compact(slices.Sorted(slices.Values(students)))
	digests := make([][]string, len(given))
	for i, text := range given {
		bare, _ := privacy.WithoutBlanks(text)
		digests[i] = []string{
			key.SuppressedBid(text), key.SuppressedBid(bare), key.SuppressedPseudonym(bare), key.SuppressedNumber(text), key.SuppressedNumber(bare),
		}
	}
	taken, found, err := catalog.Unsuppress(ctx, key.Fingerprint(), digests, dryRun)
	if shared, ok := errors.AsType[*snapshot.SharedNumberError](err); ok {
		e := &SharedNumberError{}
		for _, i := range slices.Sorted(maps.Keys(shared.Students)) {
			e.Numbers, e.Students = append(e.Numbers, given[i]), append(e.Students, shared.Students[i])
		}
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	r := &UnsuppressReport{DryRun: dryRun, Key: key.Fingerprint(), Students: taken, Given: len(given)}
	for i, ok := range found {
		if !ok {
			r.NotFound++
			r.Unmatched = append(r.Unmatched, given[i])
		}
	}
	if taken == 0 && !allowUnknown {
		return nil, &UnknownBidsError{Students: len(given)}
	}
	return r, nil
}
