package maintenance

import (
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// historyMatch decides which versions of a table are purged. A version of a school that was purged on some days only,
// because it has changed districts, begins on the first day that is left.
type historyMatch struct {
	*match

	days    map[string][]span
	records map[string][]span // as historyTable.spans
	found   map[string][]span // what rows add to the records
	from    int               // the column valid_from, or -1
	to      int32             // the day of valid_to
	unit    int               // the column of the school or district that was requested, or -1
	// identity are the key columns of a table whose rows may lose _extra.
	identity []int
	spans    []span
}

// match returns the match of the rows of a file that ended on a day and are read in these columns.
func (h *purgedHistory) match(t *historyTable, to int32, columns *schemas.Table) *historyMatch {
	m := &historyMatch{
		match: newMatch(h.bids, columns, t.table, t.dataset, nil), days: h.days, records: t.spans,
		found: make(map[string][]span), from: columns.Column(validFrom), to: to, unit: columns.Column("requested_school_bid"),
	}
	if m.unit < 0 {
		m.unit = columns.Column("requested_district_bid")
	}
	if h.clearsExtra(t) {
		for _, key := range t.table.KeyColumns() {
			m.identity = append(m.identity, columns.Column(t.table.Columns[key].Name))
		}
	}
	return m
}

// unitOf returns the school or district that a row was requested for.
func (m *historyMatch) unitOf(batch *rows.Batch, i int) string {
	if m.unit < 0 || batch.Cols[m.unit].Null(i) {
		return ""
	}
	return string(batch.Cols[m.unit].Text(i))
}

// row returns the first day of what is left of a version, and whether nothing is.
func (m *historyMatch) row(batch *rows.Batch, i int) (from int32, goes bool) {
	began := batch.Cols[m.from].I32[i]
	requested, told := m.among(batch, i, m.districtAt, m.districts)
	if requested {
		return began, true
	}
	requestedSpans, toldSpans := m.spansOf(batch, i)
	if told || m.ofStudent(batch, i) {
		toldSpans = append(toldSpans, span{began, m.to})
	}
	if !m.first && len(m.records) > 0 {
		toldSpans = append(toldSpans, m.records[string(m.recordOf(batch, i))]...)
	}
	from = began
	for again := true; again && from < m.to; {
		again = false
		for _, spans := range [][]span{requestedSpans, toldSpans} {
			for _, s := range spans {
				if s.from <= from && from < s.to {
					from, again = s.to, true
				}
			}
		}
	}
	goes = from >= m.to
	// A school that is purged on later days is not covered then, which ends no version. Another school's record would
	// have ended: nothing of it is kept.
	for _, s := range toldSpans {
		goes = goes || s.from < m.to && from < s.to
	}
	if m.first && len(m.key) > 0 && len(toldSpans) > 0 {
		end := from
		if goes {
			end = m.to
		}
		if began < end {
			key := string(m.recordOf(batch, i))
			m.found[key] = append(m.found[key], span{began, end})
		}
	}
	return from, goes
}

// spansOf returns the days on which a row is purged because of a school: the one that it was requested for, or one that
// it names. They are valid until the next call.
func (m *historyMatch) spansOf(batch *rows.Batch, i int) (requested, told []span) {
	for _, c := range m.schoolAt {
		v := &batch.Cols[c]
		if v.Null(i) {
			continue
		}
		days := m.days[string(v.Text(i))]
		if len(days) == 0 {
			continue
		}
		if !m.seen[string(v.Text(i))] {
			m.seen[string(v.Text(i))] = true
		}
		if m.requests[c] {
			requested = days
		} else {
			m.spans = append(m.spans[:0], days...)
			told = m.spans
		}
	}
	return requested, told
}
