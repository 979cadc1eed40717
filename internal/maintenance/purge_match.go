package maintenance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// bids are the schools, districts and students whose rows are purged from a run. A row is theirs if
//
//   - requested_school_bid or school_bid is one of the schools,
//   - student_bid or requested_student_bid is one of the students,
//   - district_bid or requested_district_bid is one of the districts: the
//     districts themselves, their schools, the lists that they were asked for,
//     and details of their students,
//   - requested_perspective_bid or perspective_bid is one of the districts:
//     what they say of other districts' schools,
//   - it was made from an element of a record that is theirs: a norm, an
//     instructional area, an enrollment session, a student or an educator of a
//     class.
//
// A class that lists one of the students in _extra loses that column alone.
type bids struct {
	schools, districts, students set
}

// has reports whether a text is one of the bids.
func (b *bids) has(text []byte) bool {
	return b.schools[string(text)] || b.districts[string(text)] || b.students[string(text)]
}

// namedIn reports whether a sentence names one of the schools or districts.
func (b *bids) namedIn(sentence string) bool {
	for _, some := range []set{b.schools, b.districts} {
		for bid := range some {
			if bid != "" && containsWord(sentence, wording.Bid(bid)) {
				return true
			}
		}
	}
	return false
}

// containsWord reports whether a text contains a word that is not a part of a longer word or identifier: a short bid may
// occur in those by chance.
func containsWord(text, word string) bool {
	inWord := func(r rune, _ int) bool { return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; at++ {
		found := strings.Index(text[at:], word)
		if found < 0 {
			return false
		}
		at += found
		if !inWord(utf8.DecodeLastRuneInString(text[:at])) && !inWord(utf8.DecodeRuneInString(text[at+len(word):])) {
			return true
		}
	}
}

// named reports whether the plan names one of the bids.
func (b *bids) named(plan *snapshot.Plan) bool {
	for _, school := range plan.Schools {
		if b.schools[school.Bid] || b.districts[school.District] ||
			slices.ContainsFunc(school.Perspectives, func(p string) bool { return b.districts[p] }) {
			return true
		}
	}
	return slices.ContainsFunc(plan.Districts, func(d string) bool { return b.districts[d] })
}

// schoolColumns returns the columns with the bid of a school, districtColumns the ones with the bid of a district.
func schoolColumns() []string { return []string{"requested_school_bid", "school_bid"} }

func districtColumns() []string {
	return []string{"requested_district_bid", "requested_perspective_bid", "district_bid", "perspective_bid"}
}

// matchColumns returns the names of the columns that decide whether a row of a table is purged: those that hold a bid,
// and those that identify the record of a child row.
func (b *bids) matchColumns(table *schemas.Table, dataset *schemas.Dataset) []string {
	wanted := slices.Concat(schoolColumns(), districtColumns())
	if len(b.students) > 0 {
		wanted = append(wanted, schemas.StudentColumns()...)
		if dataset != nil && dataset.ExtraListsStudents() {
			wanted = append(wanted, extraColumn)
		}
	}
	for _, key := range recordKey(table, dataset) {
		wanted = append(wanted, table.Columns[key].Name)
	}
	slices.Sort(wanted)
	return slices.Compact(wanted)
}

// recordKey returns the columns that identify the record of a row: the key of the dataset's first table, within this
// table. It returns none for a dataset of one table, or for a table that is not declared.
func recordKey(table *schemas.Table, dataset *schemas.Dataset) []int {
	if dataset == nil || len(dataset.Tables) < 2 {
		return nil
	}
	parent := dataset.Tables[0]
	var key []int
	for _, k := range parent.KeyColumns() {
		source := parent.Columns[k].Source
		if table != parent && !strings.HasPrefix(source, string(schemas.SourceParam)) {
			source = string(schemas.SourceParent) + source
		}
		at := slices.IndexFunc(table.Columns, func(c schemas.Column) bool { return c.Source == source })
		if at >= 0 {
			key = append(key, at)
		}
	}
	return key
}

// extraColumn holds the members of a record that no other column takes.
const extraColumn = "_extra"

// match decides which rows of one table are purged; the table is read whole or in matchColumns. Tables of one dataset
// and bucket share the records, and are read in the order in which they are declared.
type match struct {
	bids
	schoolAt, districtAt, studentAt []int
	// extraAt is _extra of a table whose records list students in it, or -1.
	extraAt int
	// requests are the columns with parameters of the call, which child rows have too.
	requests map[int]bool
	key      []int // of the record; -1 for a column that the file lacks
	first    bool  // the table is the first of its dataset
	records  records
	seen     set // bids that rows hold
	scratch  []byte
}

// records are the keys of records that are purged though the call that they answered is not one of a purged school or
// perspective. They are few: results of students who have moved. Records with an incomplete key cannot be told apart;
// of those that one call has sent, all elements go if one record does.
type records map[string]bool

// newMatch returns the match of a table's rows that are read in these columns.
func newMatch(b bids, columns, table *schemas.Table, dataset *schemas.Dataset, r records) *match {
	m := &match{
		bids: b, first: dataset == nil || table == dataset.Tables[0], extraAt: -1, records: r, requests: make(map[int]bool), seen: make(set),
	}
	find := func(names []string) []int {
		var found []int
		for _, name := range names {
			if at := columns.Column(name); at >= 0 && isText(&columns.Columns[at]) {
				found = append(found, at)
				m.requests[at] = strings.HasPrefix(name, "requested_")
			}
		}
		return found
	}
	m.schoolAt, m.districtAt, m.studentAt = find(schoolColumns()), find(districtColumns()), find(schemas.StudentColumns())
	if len(b.students) > 0 && dataset != nil && dataset.ExtraListsStudents() {
		m.extraAt = columns.Column(extraColumn)
	}
	for _, key := range recordKey(table, dataset) {
		at := columns.Column(table.Columns[key].Name)
		if at >= 0 && !isText(&columns.Columns[at]) {
			at = -1
		}
		m.key = append(m.key, at)
	}
	return m
}

// row reports whether row i is purged.
func (m *match) row(batch *rows.Batch, i int) bool {
	requested, told := m.among(batch, i, m.schoolAt, m.schools)
	requestedDistrict, toldDistrict := m.among(batch, i, m.districtAt, m.districts)
	switch {
	case requested || requestedDistrict:
		return true
	case told || toldDistrict || m.ofStudent(batch, i):
		if m.first && len(m.key) > 0 {
			m.records[string(m.recordOf(batch, i))] = true
		}
		return true
	}
	return !m.first && len(m.records) > 0 && m.records[string(m.recordOf(batch, i))]
}

// ofStudent reports whether row i is about one of the students.
func (m *match) ofStudent(batch *rows.Batch, i int) bool {
	requested, told := m.among(batch, i, m.studentAt, m.students)
	return requested || told
}

// losesExtra reports whether _extra of row i, which is not purged, lists one of the students.
func (m *match) losesExtra(batch *rows.Batch, i int) bool {
	return m.extraAt >= 0 && !batch.Cols[m.extraAt].Null(i) && m.inJSON(batch.Cols[m.extraAt].Text(i), m.seen)
}

// clearTexts makes a text column null in some rows of a batch.
func clearTexts(v *rows.Vector, cleared []int) {
	was := *v
	*v = rows.Vector{Type: was.Type}
	for i := range was.Present {
		switch {
		case len(cleared) > 0 && cleared[0] == i:
			cleared = cleared[1:]
			v.AppendNull()
		case was.Null(i):
			v.AppendNull()
		default:
			v.AppendText(was.Text(i))
		}
	}
}

// among reports whether a column holds one of the bids: a column with a parameter of the call, or another one.
func (m *match) among(batch *rows.Batch, i int, columns []int, of set) (requested, told bool) {
	if len(of) == 0 {
		return false, false
	}
	for _, c := range columns {
		if v := &batch.Cols[c]; !v.Null(i) && of[string(v.Text(i))] {
			if !m.seen[string(v.Text(i))] {
				m.seen[string(v.Text(i))] = true
			}
			if m.requests[c] {
				return true, told
			}
			told = true
		}
	}
	return false, told
}

// recordOf returns the key of the row's record, valid until the next call.
func (m *match) recordOf(batch *rows.Batch, i int) []byte {
	m.scratch = m.scratch[:0]
	for _, c := range m.key {
		if c < 0 || batch.Cols[c].Null(i) {
			m.scratch = append(m.scratch, 0)
			continue
		}
		v := &batch.Cols[c]
		m.scratch = append(m.scratch, 1)
		m.scratch = binary.AppendUvarint(m.scratch, uint64(len(v.Text(i))))
		m.scratch = append(m.scratch, v.Text(i)...)
	}
	return m.scratch
}

// mentions reports whether a text of the row, or a text within its JSON, is one of the bids, in any column. The file
// need not say which texts are JSON.
func (b *bids) mentions(batch *rows.Batch, i int) bool {
	for c := range batch.Cols {
		v := &batch.Cols[c]
		if !v.IsText() || v.Null(i) {
			continue
		}
		text := v.Text(i)
		if b.has(text) || len(text) > 0 && (text[0] == '{' || text[0] == '[') && b.inJSON(text, nil) {
			return true
		}
	}
	return false
}

// inJSON reports whether a text or number within JSON is one of the bids. With seen it looks for all of them and adds
// them.
func (b *bids) inJSON(text []byte, seen set) (found bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '-' || '0' <= text[i] && text[i] <= '9' {
			end := i + 1
			for end < len(text) && !bytes.ContainsRune([]byte(",]} "), rune(text[end])) {
				end++
			}
			if b.has(text[i:end]) {
				if found = true; seen == nil {
					return true
				}
				seen[string(text[i:end])] = true
			}
			i = end
			continue
		}
		if text[i] != '"' {
			continue
		}
		end, escaped := i+1, false
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		if end >= len(text) {
			return found
		}
		inner := text[i+1 : end]
		if escaped {
			var plain string
			if json.Unmarshal(text[i:end+1], &plain) == nil {
				inner = []byte(plain)
			}
		}
		if b.has(inner) {
			if found = true; seen == nil {
				return true
			}
			seen[string(inner)] = true
		}
		i = end
	}
	return found
}
