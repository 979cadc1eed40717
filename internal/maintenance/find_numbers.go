package maintenance

import (
	"context"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/erase"
)

// addNumbered adds the students to whom the found rows without a bid belong. Rows belong to the same student if they
// have a number in common, or if their numbers occur together in another row. If a student with a bid has the number of
// a row, the row belongs to that student.
func (f *finder) addNumbered(ctx context.Context) error {
	ofBids := make(erase.Set)
	for _, s := range f.students {
		maps.Copy(ofBids, s.gives)
	}
	var groups []erase.Set
	for _, group := range f.bare {
		switch {
		case len(group) == 0:
			f.report.WithoutBid++
		case !intersects(group, ofBids):
			groups = joined(groups, group)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	for learned := true; learned; {
		learned = false
		err := f.eachPerson(ctx, func(s *findSource, p person) {
			numbers := f.identifying(s, p.numbers)
			if len(p.bids) > 0 || !slices.ContainsFunc(groups, func(g erase.Set) bool { return intersects(g, numbers) && !includes(g, numbers) }) {
				return
			}
			groups, learned = joined(groups, numbers), true
		})
		if err != nil {
			return err
		}
	}
	for _, group := range groups {
		f.numbered = append(f.numbered, &FoundStudent{gives: group, Names: []string{}, Numbers: []string{}, Schools: []string{}, Places: []FoundPlace{}})
	}
	slices.SortFunc(f.numbered, func(a, b *FoundStudent) int { return strings.Compare(a.gives.Sorted()[0], b.gives.Sorted()[0]) })
	return f.describeNumbered(ctx)
}

// countShared sets SharedNumbers. The same student may occur in runs with pseudonyms and in runs without pseudonyms, so
// each source is counted separately, and the highest count is kept.
func (f *finder) countShared(ctx context.Context, found []*FoundStudent) error {
	wanted := make(erase.Set)
	for _, s := range found {
		maps.Copy(wanted, s.found)
	}
	if len(wanted) == 0 {
		return nil
	}
	bids := make(map[*findSource]map[string]erase.Set)
	err := f.eachPerson(ctx, func(source *findSource, p person) {
		for _, number := range p.numbers {
			for _, bid := range p.bids {
				if wanted[number] {
					if bids[source] == nil {
						bids[source] = make(map[string]erase.Set)
					}
					erase.Put(bids[source], number, bid)
				}
			}
		}
	})
	for _, s := range found {
		for _, of := range bids {
			for number := range s.found {
				if n := len(of[number]); n > 1 {
					if s.SharedNumbers == nil {
						s.SharedNumbers = make(map[string]int)
					}
					s.SharedNumbers[number] = max(s.SharedNumbers[number], n)
				}
			}
		}
	}
	return err
}

// describeNumbered collects the names, numbers and schools of the students without a bid.
func (f *finder) describeNumbered(ctx context.Context) error {
	names, numbers, schools := make([]erase.Set, len(f.numbered)), make([]erase.Set, len(f.numbered)), make([]erase.Set, len(f.numbered))
	for i := range f.numbered {
		names[i], numbers[i], schools[i] = make(erase.Set), make(erase.Set), make(erase.Set)
	}
	err := f.eachPerson(ctx, func(source *findSource, p person) {
		rowNumbers := f.identifying(source, p.numbers)
		i := slices.IndexFunc(f.numbered, func(s *FoundStudent) bool { return intersects(s.gives, rowNumbers) })
		if i < 0 || len(p.bids) > 0 {
			return
		}
		if p.name != "" {
			names[i][p.name] = true
		}
		if p.school != "" {
			schools[i][p.school] = true
		}
		for number := range rowNumbers {
			if !source.pseudonyms && slices.Contains(p.numbers, number) {
				numbers[i][number] = true
			}
		}
	})
	for i, s := range f.numbered {
		s.Names, s.Numbers, s.Schools = names[i].Sorted(), numbers[i].Sorted(), schools[i].Sorted()
		s.Pseudonym = len(s.Numbers) == 0
	}
	return err
}

// identifying returns the numbers of a row that can identify a student, and their pseudonyms, which other runs may
// contain.
func (f *finder) identifying(s *findSource, numbers []string) erase.Set {
	found := make(erase.Set)
	for _, number := range numbers {
		if !erase.Identifies([]byte(number)) {
			continue
		}
		found[number] = true
		if f.opts.Key != nil && !s.pseudonyms {
			found[f.opts.Key.Pseudonym("student_number", number)] = true
		}
	}
	return found
}

// joined adds a set to groups, which are disjoint sets, and merges it with the groups that share a member with it. It
// returns the new groups.
func joined(groups []erase.Set, set erase.Set) []erase.Set {
	var others []erase.Set
	all := maps.Clone(set)
	for _, g := range groups {
		if intersects(g, set) {
			maps.Copy(all, g)
		} else {
			others = append(others, g)
		}
	}
	return append(others, all)
}

// intersects reports whether two sets have a member in common. The function includes reports whether the first set has
// all members of the second.
func intersects(a, b erase.Set) bool {
	for member := range b {
		if a[member] {
			return true
		}
	}
	return false
}

func includes(a, b erase.Set) bool {
	for member := range b {
		if !a[member] {
			return false
		}
	}
	return true
}
