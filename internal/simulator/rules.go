package simulator

import "slices"

// These are the service's own rules for test results (specification, "What the service does", 4, and "Limits"), and
// rules that follow from the meaning of the values. A world breaks only the rules in [Options.Break].
const (
	RuleOneResultPerSubject = "one_result_per_subject"
	RulePageSize            = "page_size"
	RuleOlderThanAYear      = "older_than_a_year"
	RuleRITOrder            = "rit_order"
	RuleItemsOrder          = "items_order"
	RuleUnknownStudent      = "unknown_student"
	RuleUnknownTerm         = "unknown_term"
)

// Rules returns the names of all rules, in the order of the contract.
func Rules() []string {
	return []string{
		RuleOneResultPerSubject, RulePageSize, RuleOlderThanAYear, RuleRITOrder, RuleItemsOrder, RuleUnknownStudent, RuleUnknownTerm,
	}
}

func (w *World) broken(rule string) bool { return slices.Contains(w.breaks, rule) }

// Each rule except page_size is broken by one of every brokenPeriod results. The result before the one that breaks
// one_result_per_subject does not break a rule, because it is the other half of the pair.
const brokenPeriod = 20

func brokenAt(index int) string {
	switch index % brokenPeriod {
	case 0:
		return RuleOlderThanAYear
	case 1:
		return RuleRITOrder
	case 2:
		return RuleItemsOrder
	case 3:
		return RuleUnknownStudent
	case 5:
		return RuleOneResultPerSubject
	case 6:
		return RuleUnknownTerm
	}
	return ""
}

// servedResult returns an element of testResults as it is served, with broken rules and the effect of FaultListMoves.
func (w *World) servedResult(a *Arena, c *Call, index int) []Member {
	members := w.resultRecord(a, c.School, index)
	if rule := brokenAt(index); w.broken(rule) {
		w.breakRule(members, rule, c.School, index)
	}
	if results := w.schools[c.School].results; c.moved && index == c.From && results > 1 {
		w.pair(members, c.School, (index+1)%results)
	}
	return members
}

// breakRule makes a result break a rule. A result without the members that the rule concerns is not changed.
func (w *World) breakRule(members []Member, rule string, school, index int) {
	set := func(name string, change func(v *Value)) {
		if v := Find(members, name); v != nil {
			change(v)
		}
	}
	switch rule {
	case RuleOneResultPerSubject:
		w.pair(members, school, index-1)
	case RuleOlderThanAYear:
		back := func(v *Value) { v.N -= 400 * MillisPerDay }
		set("administrationStartDateTime", back)
		set("administrationEndDateTime", back)
	case RuleRITOrder:
		rit := Find(members, "rit").N
		set("ritScoreLow", func(v *Value) { v.N = rit + 1 })
	case RuleItemsOrder:
		items := Find(members, "items")
		if items == nil {
			return
		}
		if shown, correct := Find(items.Sub, "shown"), Find(items.Sub, "correct"); shown != nil && correct != nil {
			correct.N = shown.N + 1
		}
	case RuleUnknownStudent:
		set("studentBid", func(v *Value) { *v = idOf(w.BidOf(StudentEntity, school, w.schools[school].students+index)) })
	case RuleUnknownTerm:
		set("termBid", func(v *Value) { *v = idOf(w.BidOf(sessionEntity, w.schools[school].district, 1)) })
	}
}

// pair gives a result the student and subject of another result of the school.
func (w *World) pair(members []Member, school, other int) {
	seat, subject := w.schools[school].studentAndSubject(other)
	*Find(members, "studentBid") = idOf(w.student(school, seat).bid)
	*Find(members, "subjectArea") = TextOf(subjectNames[subject])
}

// brokenPage is the number of records that are missing from the first page of test results in a world that breaks
// page_size.
const brokenPage = 3

// PageSize returns the number of records in the page of a call, which is usually size.
func (w *World) PageSize(c *Call, size int) int {
	if w.broken(RulePageSize) && c.Op.Name == "test_results" && c.From == 0 {
		return max(1, size-brokenPage)
	}
	return size
}
