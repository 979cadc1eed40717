package maintenance

import (
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// historyMatch decides which versions of a table are purged, and what is left of those that are purged on some days only:
// because a school has changed districts, or because the record of a child row has changed its school or student.
type historyMatch struct {
	*match

	days    map[string][]span
	records map[string][]span // as historyTable.spans
	found   map[string][]span // what rows add to the records
	from    int               // the column valid_from, or -1
	to      int32             // the day of valid_to
	unit    int               // the column of the school or district that was requested, or -1
	// identity are the key columns of a table whose rows may lose _extra.
	identity    []int
	spans, left []span
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

// row returns what is left of a version: the day on which it begins if it stays, and the days of other versions, valid
// until the next call, that end earlier. A school that is purged on later days is not covered then, which ends no version.
// A record of another school that is purged on some days is missing there: its version ends before them, and another
// begins after them.
func (m *historyMatch) row(batch *rows.Batch, i int) (from int32, stays bool, endings []span) {
	began := batch.Cols[m.from].I32[i]
	requested, told := m.among(batch, i, m.districtAt, m.districts)
	if requested {
		return began, false, nil
	}
	requestedSpans, toldSpans := m.spansOf(batch, i)
	if told || m.ofStudent(batch, i) {
		toldSpans = append(toldSpans, span{began, m.to})
	}
	if !m.first && len(m.records) > 0 {
		toldSpans = append(toldSpans, m.records[string(m.recordOf(batch, i))]...)
	}
	m.left = append(m.left[:0], span{began, m.to})
	for _, s := range toldSpans {
		n := len(m.left)
		for _, l := range m.left[:n] {
			m.left = append(m.left, span{l.from, min(l.to, s.from)}, span{max(l.from, s.to), l.to})
		}
		m.left = slices.DeleteFunc(slices.Delete(m.left, 0, n), span.empty)
	}
	for _, s := range requestedSpans {
		for k, l := range m.left {
			if s.from <= l.from {
				m.left[k].from = max(l.from, s.to)
			}
		}
	}
	m.left = slices.DeleteFunc(m.left, span.empty)
	if m.first && len(m.key) > 0 && len(toldSpans) > 0 {
		key := string(m.recordOf(batch, i))
		for _, s := range toldSpans {
			if s = (span{max(began, s.from), min(m.to, s.to)}); !s.empty() {
				m.found[key] = append(m.found[key], s)
			}
		}
	}
	if last := len(m.left) - 1; last >= 0 && m.left[last].to == m.to {
		return m.left[last].from, true, m.left[:last]
	}
	return began, false, m.left
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
