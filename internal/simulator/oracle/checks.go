package oracle

import (
	"time"

	"example.org/growthexport/internal/simulator"
)

// fullPage is the number of records in every page of 4.6 except the last (specification, "Limits").
const fullPage = 1000

// checks counts how often the expected rows break each rule, in the order of [simulator.Rules]. Rules that need a
// dataset outside the export are left out.
func (h *exporter) checks(expected *Expected) []Check {
	results, exported := expected.Rows["test_results"]
	if !exported {
		return nil
	}
	schools := h.scopes(h.operation("test_results"))
	counts := map[string]int64{
		simulator.RuleOneResultPerSubject: repeatedSubjects(results),
		simulator.RulePageSize:            h.partialPages(schools),
		simulator.RuleOlderThanAYear:      older(results, h.world.AsOf()),
		simulator.RuleRITOrder:            disordered(results, "rit_score_low", "rit", "rit_score_high"),
		simulator.RuleItemsOrder:          disordered(results, "items_correct", "items_shown", "items_total"),
	}
	if students, ok := expected.Rows["students"]; ok {
		counts[simulator.RuleUnknownStudent] = unknownStudents(results, students)
	}
	if sessions, ok := expected.Rows["enrollment_sessions"]; ok {
		inRun := map[string]bool{}
		for _, s := range schools {
			inRun[h.world.SchoolBid(s.school)] = true
		}
		counts[simulator.RuleUnknownTerm] = unknownTerms(results, sessions, inRun)
	}
	var checks []Check
	for _, rule := range simulator.Rules() {
		if n, made := counts[rule]; made && len(schools) > 0 {
			checks = append(checks, Check{Check: rule, Table: "test_results", Count: n, Schools: int64(len(schools))})
		}
	}
	return checks
}

// repeatedSubjects counts the pairs of student and subject with several results in a school.
func repeatedSubjects(results []Row) (n int64) {
	seen := map[[3]string]int{}
	for _, row := range results {
		school, _ := row["requested_school_bid"].(string)
		student, _ := row["student_bid"].(string)
		subject, _ := row["subject_area"].(string)
		if student == "" || subject == "" {
			continue
		}
		key := [3]string{school, student, subject}
		if seen[key]++; seen[key] == 2 {
			n++
		}
	}
	return n
}

// partialPages counts the pages that are not full, except the last page of each school.
func (h *exporter) partialPages(schools []scope) (n int64) {
	op := h.operation("test_results")
	usual := h.options.PageSize
	if usual == 0 {
		usual = fullPage
	}
	for _, s := range schools {
		c := h.newCall(op, s)
		list := h.world.List(c)
		count := 0
		for i := list.Next(0); i < list.Count; i = list.Next(i + 1) {
			count++
		}
		for first := true; ; first = false {
			if !first {
				c.From = 1 // any page other than the first
			}
			size := h.world.PageSize(c, usual)
			if count -= size; count <= 0 {
				break
			}
			if size != fullPage {
				n++
			}
		}
	}
	return n
}

// older counts the results whose administration ended, or began if its end is unknown, more than a year ago.
func older(results []Row, today time.Time) (n int64) {
	year, month, dayOfMonth := today.Date()
	if month == time.February && dayOfMonth == 29 {
		dayOfMonth = 28
	}
	limit := time.Date(year-1, month, dayOfMonth, 0, 0, 0, 0, time.UTC).UnixMicro()
	for _, row := range results {
		at, ended := row["administration_end_date_time"].(int64)
		if !ended {
			at, ended = row["administration_start_date_time"].(int64)
		}
		if ended && at < limit {
			n++
		}
	}
	return n
}

// descends reports whether the value in lower is greater than the value in upper. It returns false if one of them is
// null.
func descends(row Row, lower, upper string) bool {
	a, known := row[lower].(int64)
	b, alsoKnown := row[upper].(int64)
	return known && alsoKnown && a > b
}

func disordered(results []Row, lowest, middle, highest string) (n int64) {
	for _, row := range results {
		if descends(row, lowest, middle) || descends(row, middle, highest) {
			n++
		}
	}
	return n
}

// unknownStudents counts the results of students whom 4.4 does not list for the school.
func unknownStudents(results, students []Row) (n int64) {
	listed := map[[2]any]bool{}
	for _, row := range students {
		listed[[2]any{row["requested_school_bid"], row["student_bid"]}] = true
	}
	for _, row := range results {
		student, _ := row["student_bid"].(string)
		if student != "" && !listed[[2]any{row["requested_school_bid"], student}] {
			n++
		}
	}
	return n
}

// unknownTerms counts the results whose term is not a session of 4.7. It skips schools outside the run, whose sessions
// are unknown.
func unknownTerms(results, sessions []Row, inRun map[string]bool) (n int64) {
	known := map[any]bool{}
	for _, row := range sessions {
		known[row["enrollment_session_bid"]] = true
	}
	for _, row := range results {
		of, _ := row["school_bid"].(string)
		if of == "" {
			of, _ = row["requested_school_bid"].(string)
		}
		term, _ := row["term_bid"].(string)
		if term != "" && inRun[of] && !known[term] {
			n++
		}
	}
	return n
}
