package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
)

// cohort is the list of students that a run is restricted to, and the key of the digest that represents the list in
// documents. A nil cohort means all students.
type cohort struct {
	bids []string
	key  *privacy.Key
	// text is the key in the form in which the plan stores it. It is set only if the run has no privacy key and
	// therefore needs a key of its own.
	text string
}

func newCohort(s *Settings) *cohort {
	if len(s.Students) == 0 {
		return nil
	}
	return &cohort{bids: canonical(s.Students)}
}

// listed returns how many students are on the list. Bids that differ only in surrounding whitespace belong to the same
// student.
func (c *cohort) listed() int {
	bare := make(map[string]bool, len(c.bids))
	for _, bid := range c.bids {
		text, _ := privacy.WithoutBlanks(bid)
		bare[text] = true
	}
	return len(bare)
}

// students returns the description of the list for documents. The description has no digest if there is no key.
func (c *cohort) students() *snapshot.Students {
	if c == nil {
		return nil
	}
	students := &snapshot.Students{Listed: c.listed()}
	if c.key != nil {
		students.Digest = c.key.ListDigest(c.bids)
	}
	return students
}

// useKeyOf adopts the key of a plan if the plan has the same list of students, and reports whether the lists are the
// same. If neither the run nor the plan has a list, it returns true.
func (c *cohort) useKeyOf(plan *snapshot.Plan, own *privacy.Key) bool {
	if c == nil || plan.Scope.Students == nil {
		return c == nil && plan.Scope.Students == nil
	}
	key := privacy.KeyOfList(c.bids, plan.Scope.Students.Digest, plan.StudentsKey, own)
	if key == nil || plan.Scope.Students.Listed != c.listed() {
		return false
	}
	c.key, c.text = key, plan.StudentsKey
	return true
}

// chooseKey chooses the key for a new run: the privacy key if there is one, otherwise the key of a published run of the
// same list, so that the digests are equal, and otherwise a random key.
func (c *cohort) chooseKey(ctx context.Context, catalog snapshot.Catalog, own *privacy.Key) error {
	if c == nil {
		return nil
	}
	if own != nil {
		c.key = own
		return nil
	}
	published, _, err := catalog.PublishedRuns(ctx)
	if err != nil {
		return fmt.Errorf("look for runs of the same students: %w", err)
	}
	for _, m := range slices.SortedFunc(maps.Values(published), snapshot.ByPlan) {
		if m.Parameters.Students == nil || m.Parameters.Students.Listed != c.listed() {
			continue
		}
		plan, err := catalog.ReadPlan(ctx, m.RunID)
		if err != nil && !snapshot.Unreadable(err) {
			return err
		}
		if err == nil && plan.StudentsKey != "" && c.useKeyOf(plan, nil) {
			return nil
		}
	}
	c.key, c.text = privacy.NewKey()
	return nil
}

// setBit sets bit i of a bit set, which grows as needed, and returns the set.
func setBit(set []byte, i int) []byte {
	if missing := i/8 + 1 - len(set); missing > 0 {
		set = append(set, make([]byte, missing)...)
	}
	set[i/8] |= 1 << (i % 8)
	return set
}
