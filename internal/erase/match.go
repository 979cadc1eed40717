package erase

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// schoolColumns returns the names of the columns that contain the bid of a school.
func schoolColumns() []string { return []string{"requested_school_bid", "school_bid"} }

// districtColumns returns the names of the columns that contain the bid of a district.
func districtColumns() []string {
	return []string{"requested_district_bid", "requested_perspective_bid", "district_bid", "perspective_bid"}
}

// numberColumns returns the names of the columns that contain a number of a student.
func numberColumns() []string {
	return []string{"student_id", "state_student_id", "district_student_id"}
}

// GivesNumbers reports whether a table has a column with numbers of students.
func GivesNumbers(table *schemas.Table) bool {
	return slices.ContainsFunc(numberColumns(), func(name string) bool { return table.Column(name) >= 0 })
}

// extraColumn is the name of the column for members of a record that do not have a column of their own.
const extraColumn = "_extra"

// Columns returns the columns of a file that a Match needs: for students all text columns, and otherwise the text
// columns that hold the bid of a school or district, or identify the record of a child row.
func (t *Target) Columns(file, table *schemas.Table, dataset *schemas.Dataset) *schemas.Table {
	if t.Students != nil {
		return TextColumns(file)
	}
	wanted := slices.Concat(schoolColumns(), districtColumns())
	for _, key := range recordKey(table, dataset) {
		wanted = append(wanted, table.Columns[key].Name)
	}
	return SelectText(wanted...)(file)
}

// recordKey returns the columns of this table that identify the record of a row: the key of the dataset's first table.
// It returns no columns for a dataset with only one table, or for a table that is not declared.
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

// Records holds the keys of erased records whose elements cannot be recognized by the call that returned them. These
// are the records of erased students, and the records of erased schools and districts that were returned by calls for
// other schools and districts, such as results of students who have moved. Records with an incomplete key cannot be
// told apart. If one of them is erased, so are the elements of all such records in the response to the same call.
type Records map[string]bool

// Match determines the fate of the rows of one table. The table must be read with all columns, or with the columns that
// Target.Columns returns. Tables of one dataset and bucket share the Records, and must be read in the order of their
// declaration.
type Match struct {
	*Target

	// Seen holds the bids and numbers of the target that were found in rows.
	Seen Set
	// Gives describes the numbers found in rows of the students, by number.
	Gives map[string]Given
	// Deepest is the highest level of an erased row.
	Deepest int
	// Occurs says where rows passed to Locate have listed bids and numbers.
	Occurs Occurs
	// ByNumber holds the numbers by which the last row was found to belong to a student, if the row has no bid and does
	// not mention a bid.
	ByNumber Set

	schoolAt, districtAt, studentAt, numberAt []int
	// searched are the text columns in which a number may be mentioned. Grades are left out, because they look like
	// numbers.
	searched []int
	extraAt  int // -1 if the table has no _extra
	// requests marks the columns with parameters of the call. Child rows have these columns too.
	requests map[int]bool
	table    string
	level    int   // level of the last row of a student
	of       Set   // the bids and listed numbers by which the last row was found to belong to a student
	key      []int // columns of the record's key; -1 for a column that the file does not have as text
	first    bool  // the table is the first of its dataset
	records  Records
	scratch  []byte
}

// NewMatch returns a Match for the rows of a table that are read with the given columns.
func (t *Target) NewMatch(columns, table *schemas.Table, dataset *schemas.Dataset, r Records) *Match {
	m := &Match{
		Target: t, first: dataset == nil || table == dataset.Tables[0], extraAt: -1, records: r, requests: make(map[int]bool),
		Seen: make(Set), Gives: make(map[string]Given), Occurs: NewOccurs(), table: table.Name,
	}
	find := func(names []string) []int {
		var found []int
		for _, name := range names {
			if at := columns.Column(name); at >= 0 && IsText(&columns.Columns[at]) {
				found = append(found, at)
				m.requests[at] = strings.HasPrefix(name, "requested_")
			}
		}
		return found
	}
	m.schoolAt, m.districtAt = find(schoolColumns()), find(districtColumns())
	if t.Students != nil {
		m.studentAt, m.numberAt = find(schemas.StudentColumns()), find(numberColumns())
		if at := columns.Column(extraColumn); at >= 0 && IsText(&columns.Columns[at]) {
			m.extraAt = at
		}
		for i := range columns.Columns {
			if c := &columns.Columns[i]; IsText(c) && c.Class != schemas.Grade {
				m.searched = append(m.searched, i)
			}
		}
	}
	for _, key := range recordKey(table, dataset) {
		at := columns.Column(table.Columns[key].Name)
		if at >= 0 && !IsText(&columns.Columns[at]) {
			at = -1
		}
		m.key = append(m.key, at)
	}
	return m
}

// Fate is the effect of a purge on a row.
type Fate uint8

// The fates of rows.
const (
	Stays Fate = iota
	// Goes is the fate of a row that belongs to the target. The row is erased.
	Goes
	// LosesExtra is the fate of a row that does not belong to the target, but mentions one of the students in _extra. Only
	// its _extra is cleared.
	LosesExtra
)

// Fate returns the fate of row i.
func (m *Match) Fate(batch *rows.Batch, i int) Fate {
	requested, own := m.Owner(batch, i)
	switch {
	case own && m.Students != nil && m.level < m.Students.Least:
		return Stays
	case requested || own:
		if own && m.first && len(m.key) > 0 {
			m.records[m.Record(batch, i)] = true
		}
		m.Deepest = max(m.Deepest, m.level)
		return Goes
	case !m.first && len(m.records) > 0 && m.records[m.Record(batch, i)]:
		return Goes
	case (m.Students == nil || m.Students.Least == 0) && m.LosesExtra(batch, i):
		return LosesExtra
	}
	return Stays
}

// LosesExtra reports whether the _extra of row i mentions one of the students. The row must not belong to the target.
func (m *Match) LosesExtra(batch *rows.Batch, i int) bool {
	return m.extraAt >= 0 && !batch.Cols[m.extraAt].Null(i) && m.inJSON(batch.Cols[m.extraAt].Text(i), m.sees)
}

// Owner reports whether row i belongs to the target, because of the call that returned it (requested) or because of its
// own columns (own). If requested is true, own may be false although a column of the row matches. Owner does not
// recognize elements of an erased record.
func (m *Match) Owner(batch *rows.Batch, i int) (requested, own bool) {
	if m.Students != nil {
		return false, m.ofStudent(batch, i)
	}
	requested, own = m.among(batch, i, m.schoolAt, m.Schools)
	if requested {
		return true, own
	}
	ofDistrict, ownDistrict := m.among(batch, i, m.districtAt, m.Districts)
	return ofDistrict, own || ownDistrict
}

// NumbersOfOthers adds the listed values in the number columns of row i to a set, if the row has the bid of a student.
// The row must not belong to the target.
func (m *Match) NumbersOfOthers(batch *rows.Batch, i int, to Set) {
	filled := func(c int) bool { return !batch.Cols[c].Null(i) && len(batch.Cols[c].Text(i)) > 0 }
	if !slices.ContainsFunc(m.studentAt, filled) {
		return
	}
	for _, c := range m.numberAt {
		if filled(c) && m.Students.asked[string(batch.Cols[c].Text(i))] {
			to.add(batch.Cols[c].Text(i))
		}
	}
}

// Owners adds to a set the listed bids and numbers by which the last row was found to belong to a student.
func (m *Match) Owners(to Set) { maps.Copy(to, m.of) }

// HasRecords reports whether the rows of the dataset's tables come from records that a key identifies.
func (m *Match) HasRecords() bool { return len(m.key) > 0 }

// IsFirst reports whether the table is the first table of its dataset. The rows of that table determine the erased
// records.
func (m *Match) IsFirst() bool { return m.first }

// among reports whether a column holds one of the bids, separately for parameters of the call (requested) and other
// columns (own).
func (m *Match) among(batch *rows.Batch, i int, columns []int, of Set) (requested, own bool) {
	if len(of) == 0 {
		return false, false
	}
	for _, c := range columns {
		if v := &batch.Cols[c]; !v.Null(i) && of[string(v.Text(i))] {
			m.Seen.add(v.Text(i))
			if m.requests[c] {
				return true, own
			}
			own = true
		}
	}
	return false, own
}

// ofStudent reports whether row i belongs to one of the students.
func (m *Match) ofStudent(batch *rows.Batch, i int) bool {
	anonymous, byBid := len(m.studentAt) > 0, false
	m.ByNumber = nil
	for _, c := range m.studentAt {
		v := &batch.Cols[c]
		if v.Null(i) || len(v.Text(i)) == 0 {
			continue
		}
		anonymous = false
		if m.Students.bids[string(v.Text(i))] {
			m.Seen.add(v.Text(i))
			byBid = true
			m.of = SetOf(string(v.Text(i)))
		}
	}
	if !byBid && !anonymous {
		return false
	}
	m.level = noLevel
	if !byBid {
		m.of = make(Set)
	}
	if !byBid {
		for _, c := range m.searched {
			m.inText(&batch.Cols[c], i, func(text []byte) {
				m.sees(text)
				if m.Students.bids[string(text)] {
					byBid, m.of[string(text)] = true, true
				}
				if level, ok := m.Students.numbers[string(text)]; ok {
					if m.ByNumber == nil {
						m.ByNumber = make(Set)
					}
					m.ByNumber.add(text)
					m.level = min(m.level, level)
					maps.Copy(m.of, m.Students.owners[string(text)])
				}
			})
		}
	}
	if byBid {
		m.level, m.ByNumber = 0, nil
	}
	if byBid || m.level < noLevel && m.hasNumber(batch, i) {
		m.give(batch, i)
	}
	return m.level < noLevel
}

// Given describes a number in rows of the students: the lowest level of these rows, and the listed bids and numbers, in
// the form that rows hold, of the students to whom the rows belong.
type Given struct {
	Level int
	Of    Set
}

// addGiven adds a number to a map, or merges it with the entry that is already there.
func addGiven(to map[string]Given, number string, given Given) {
	known, ok := to[number]
	if !ok {
		to[number] = Given{Level: given.Level, Of: maps.Clone(given.Of)}
		return
	}
	maps.Copy(known.Of, given.Of)
	known.Level = min(known.Level, given.Level)
	to[number] = known
}

// AddGiven adds numbers to a map, or merges them with the entries that are already there.
func AddGiven(to, numbers map[string]Given) {
	for number, given := range numbers {
		addGiven(to, number, given)
	}
}

// noLevel is higher than every level.
const noLevel = math.MaxInt

// give records the numbers in row i, which belongs to one of the students.
func (m *Match) give(batch *rows.Batch, i int) {
	for _, c := range m.numberAt {
		v := &batch.Cols[c]
		if v.Null(i) || !Identifies(v.Text(i)) {
			continue
		}
		addGiven(m.Gives, string(v.Text(i)), Given{Level: m.level, Of: m.of})
	}
}

// hasNumber reports whether row i has a number of the students in one of its number columns. A row that only mentions
// such a number elsewhere may hold the numbers of another student, such as a sibling.
func (m *Match) hasNumber(batch *rows.Batch, i int) bool {
	return slices.ContainsFunc(m.numberAt, func(c int) bool {
		v := &batch.Cols[c]
		if v.Null(i) {
			return false
		}
		_, known := m.Students.numbers[string(v.Text(i))]
		return known
	})
}

// sees records that a bid or number of the target was found.
func (m *Match) sees(text []byte) { m.Seen.add(text) }

// Record returns the key of the record that row i comes from.
func (m *Match) Record(batch *rows.Batch, i int) string {
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
	return string(m.scratch)
}

// Mentions returns the first column of row i in which a text, or a text within JSON, equals one of the bids or listed
// numbers, or "" if there is no such column. Numbers that were only found in rows of a student do not count, because
// they may also belong to another student.
func (m *Match) Mentions(batch *rows.Batch, i int) (column string) {
	for c := range batch.Cols {
		m.inText(&batch.Cols[c], i, func(text []byte) {
			if m.Students == nil || m.Students.asked[string(text)] {
				m.Seen.add(text)
				column = cmp.Or(column, batch.Table.Columns[c].Name)
			}
		})
	}
	return column
}

// inText calls use with each bid or number of the target that a value contains. The value may be from any column. JSON
// is recognized even if the file does not declare the column as JSON.
func (t *Target) inText(v *rows.Vector, i int, use func([]byte)) {
	if !v.IsText() || v.Null(i) {
		return
	}
	text := v.Text(i)
	if t.named(text) {
		use(text)
	}
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		t.inJSON(text, use)
	}
}

// inJSON reports whether JSON contains any of the target's bids and numbers, and calls use with each of them.
func (t *Target) inJSON(text []byte, use func([]byte)) (found bool) {
	privacy.EachValue(text, func(value []byte) bool {
		if t.named(value) {
			found = true
			use(value)
		}
		return false
	})
	return found
}

// ClearExtra sets _extra to null in the given rows of a batch. The row numbers must be sorted.
func (m *Match) ClearExtra(batch *rows.Batch, cleared []int) {
	if len(cleared) == 0 {
		return
	}
	v := &batch.Cols[m.extraAt]
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
