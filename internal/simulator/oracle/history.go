package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/simulator"
)

// Open is the end of versions that have not ended.
const Open = "9999-12-31"

// Version is a row with the same values over a span of dates: from From until the day before To.
type Version struct {
	Table    string `json:"table"`
	Row      Row    `json:"row"`
	From     string `json:"valid_from"`
	To       string `json:"valid_to"`
	Because  string `json:"ended_because,omitempty"`
	identity string // see identityOf
	values   string // all values except the ordinal, as text
}

// Coverage is the status of a dataset and school over a span of dates.
type Coverage struct {
	Dataset string `json:"dataset"`
	School  string `json:"requested_school_bid"`
	Status  string `json:"status"`
	From    string `json:"valid_from"`
	To      string `json:"valid_to"`
}

// History is the expected history of a world over several nights. It is made directly from the definitions, by
// comparing all rows of each night in memory.
type History struct {
	// Ended holds all versions that have ended. Ending holds the versions that ended on the last night.
	Ended, Ending []*Version
	Coverage      []*Coverage
	current       map[string]map[string][]*Version // by table and scope, see scopeOf
	covered       map[[2]string]*Coverage          // by dataset and school
}

// NewHistory returns a history without nights.
func NewHistory() *History {
	return &History{current: map[string]map[string][]*Version{}, covered: map[[2]string]*Coverage{}}
}

// Nights returns the history of a service over the given nights, which must be in order. The service's AsOf is ignored.
func Nights(service simulator.Options, options Options, nights []time.Time) *History {
	h := NewHistory()
	for _, night := range nights {
		service.AsOf = night
		h.Fold(simulator.NewWorld(service), options)
	}
	return h
}

// Current returns the versions that have not ended.
func (h *History) Current() []*Version {
	var all []*Version
	for _, table := range slices.Sorted(maps.Keys(h.current)) {
		for _, scope := range slices.Sorted(maps.Keys(h.current[table])) {
			all = append(all, h.current[table][scope]...)
		}
	}
	return all
}

// Write writes every version and then every coverage, each as a line of JSON. Dates are text, and timestamps are
// microseconds.
func (h *History) Write(w io.Writer) error {
	lines := json.NewEncoder(w)
	for _, v := range slices.Concat(h.Ended, h.Current()) {
		if err := lines.Encode(v); err != nil {
			return fmt.Errorf("write a version: %w", err)
		}
	}
	for _, c := range h.Coverage {
		if err := lines.Encode(c); err != nil {
			return fmt.Errorf("write coverage: %w", err)
		}
	}
	return nil
}

// Fold adds a night, on which the world is exported with these options.
func (h *History) Fold(w *simulator.World, options Options) {
	expected := Expect(w, options)
	n := &night{
		history: h, date: w.AsOf().Format(time.DateOnly), yearAgo: yearBefore(w.AsOf()), expected: expected,
		read: map[[2]string]bool{}, began: map[string]map[string]int{},
	}
	for _, l := range expected.Ledger {
		n.read[[2]string{l.Dataset, l.School + l.District}] = !l.Denied
		n.cover(l)
	}
	n.coverAbsent()
	h.Ending = nil
	for _, t := range simulator.Tables() {
		if rows, exported := expected.Rows[t.Name]; exported {
			n.foldTable(&t, rows)
		}
	}
	n.explain()
	h.Ended = append(h.Ended, h.Ending...)
}

// night is the state while a night is added to the history.
type night struct {
	history  *History
	date     string
	yearAgo  int64 // microseconds
	expected *Expected
	read     map[[2]string]bool        // whether a dataset was read, by dataset and by school or district
	began    map[string]map[string]int // number of versions that began, by table and identity
	current  map[string]map[string]bool
}

// cover adds the status of a dataset and school from a row of the ledger.
func (n *night) cover(l LedgerRow) {
	status := "ok"
	if l.Denied {
		status = "denied"
	}
	if l.School != "" {
		n.setCoverage(l.Dataset, l.School, status)
	}
}

// coverAbsent records "absent" as the status of schools and datasets that are covered but missing from the night.
func (n *night) coverAbsent() {
	for key, c := range n.history.covered {
		if _, known := n.read[key]; !known {
			n.setCoverage(c.Dataset, c.School, "absent")
		}
	}
}

func (n *night) setCoverage(dataset, school, status string) {
	key := [2]string{dataset, school}
	before := n.history.covered[key]
	if before != nil && before.Status == status {
		return
	}
	if before != nil {
		before.To = n.date
	}
	c := &Coverage{Dataset: dataset, School: school, Status: status, From: n.date, To: Open}
	n.history.covered[key] = c
	n.history.Coverage = append(n.history.Coverage, c)
}

// foldTable compares the rows of each scope that was read with the current versions, and updates these versions.
func (n *night) foldTable(t *simulator.Table, rows []Row) {
	byScope := map[string][]Row{}
	for _, row := range rows {
		scope := scopeOf(row)
		byScope[scope] = append(byScope[scope], row)
	}
	current := n.history.current[t.Name]
	if current == nil {
		current = map[string][]*Version{}
		n.history.current[t.Name] = current
	}
	n.began[t.Name] = map[string]int{}
	for key, read := range n.read {
		if scope := key[1]; key[0] == t.Dataset && read {
			current[scope] = n.foldScope(t, current[scope], byScope[scope])
		}
	}
}

// foldScope returns the current versions of a scope after the night. Of versions with equal values, those that began
// last end first.
func (n *night) foldScope(t *simulator.Table, before []*Version, rows []Row) []*Version {
	counts := map[string]int{}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = textOf(t, row)
		counts[texts[i]]++
	}
	var after []*Version
	for _, v := range before { // oldest first
		if counts[v.values] > 0 {
			counts[v.values]--
			after = append(after, v)
			continue
		}
		v.To = n.date
		n.history.Ending = append(n.history.Ending, v)
	}
	for i, row := range rows {
		if counts[texts[i]] == 0 {
			continue
		}
		counts[texts[i]]--
		v := &Version{Table: t.Name, Row: row, From: n.date, To: Open, identity: identityOf(t, row), values: texts[i]}
		n.began[t.Name][v.identity]++
		after = append(after, v)
	}
	return after
}

// scopeOf returns the scope in which a row is compared: its school, its district in district_schools, or "" for tables
// that are compared as a whole.
func scopeOf(row Row) string {
	school, _ := row["requested_school_bid"].(string)
	district, _ := row["requested_district_bid"].(string)
	return school + district
}

// textOf returns all values of a row except the ordinal, as text.
func textOf(t *simulator.Table, row Row) string {
	var text []byte
	for i := range t.Columns {
		if t.Columns[i].Source == "#" {
			continue
		}
		switch value := row[t.Columns[i].Name].(type) {
		case string:
			text = strconv.AppendQuote(text, value)
		case int64:
			text = strconv.AppendInt(text, value, 10)
		case float64:
			text = strconv.AppendFloat(text, value, 'g', -1, 64)
		case bool:
			text = strconv.AppendBool(text, value)
		}
		text = append(text, ',')
	}
	return string(text)
}

// identityOf returns the key of a row, or of a child row's parent. It returns "" if the key is not complete.
func identityOf(t *simulator.Table, row Row) string {
	var key []string
	for _, col := range t.Columns {
		if !col.Key || col.Source == "#" {
			continue
		}
		text, _ := row[col.Name].(string)
		if text == "" {
			return ""
		}
		key = append(key, text)
	}
	return strings.Join(key, "\x00")
}

func yearBefore(day time.Time) int64 {
	year, month, dayOfMonth := day.Date()
	if month == time.February && dayOfMonth == 29 {
		dayOfMonth = 28
	}
	return time.Date(year-1, month, dayOfMonth, 0, 0, 0, 0, time.UTC).UnixMicro()
}

// ResultsEver returns the newest version of every test result, by the bid of the result.
func (h *History) ResultsEver() map[string]*Version {
	ever := map[string]*Version{}
	for _, v := range slices.Concat(h.Ended, h.Current()) {
		bid, _ := v.Row["test_result_bid"].(string)
		if before := ever[bid]; v.Table == "test_results" && bid != "" && (before == nil || newer(v, before)) {
			ever[bid] = v
		}
	}
	return ever
}

// Pair is two consecutive results of a student in a subject, from different terms.
type Pair struct{ From, To Row }

// GrowthPairs returns the pairs of consecutive results among all results ever seen, each in its newest version. Results
// are ordered by start time, then test_result_bid. Pairs from the same term are left out.
func (h *History) GrowthPairs() []Pair {
	type student struct{ bid, subject string }
	results := map[student][]Row{}
	for _, v := range h.ResultsEver() {
		key := student{}
		key.bid, _ = v.Row["student_bid"].(string)
		key.subject, _ = v.Row["subject_area"].(string)
		if key.bid != "" && key.subject != "" {
			results[key] = append(results[key], v.Row)
		}
	}
	var pairs []Pair
	for _, key := range slices.SortedFunc(maps.Keys(results), func(a, b student) int {
		return cmp.Or(strings.Compare(a.bid, b.bid), strings.Compare(a.subject, b.subject))
	}) {
		rows := results[key]
		slices.SortFunc(rows, func(a, b Row) int {
			return cmp.Or(compare(a["administration_start_date_time"], b["administration_start_date_time"]),
				compare(a["test_result_bid"], b["test_result_bid"]))
		})
		for i := 1; i < len(rows); i++ {
			before, _ := rows[i-1]["term_bid"].(string)
			if term, _ := rows[i]["term_bid"].(string); before != term {
				pairs = append(pairs, Pair{rows[i-1], rows[i]})
			}
		}
	}
	return pairs
}

// newer reports whether version a of a result is newer than version b. The version that ends later is newer or, if both
// end on the same date, the version that began later. Current versions end last.
func newer(a, b *Version) bool {
	return cmp.Or(strings.Compare(a.To, b.To), strings.Compare(a.From, b.From)) > 0
}
