package history

import (
	"slices"
	"sort"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// visitor receives the outcome for every row when the rows of a unit on two sides are compared. Rows in a range are in
// the order of their batch. Both batches are valid only during the call.
type visitor interface {
	// same is called for n pairs of equal rows, starting with rows i and j.
	same(from *rows.Batch, i int, to *rows.Batch, j, n int) error
	// changed is called for two different rows with the same identity.
	changed(from *rows.Batch, i int, to *rows.Batch, j int) error
	// removed is called for a row that only the from side has. parentStands is true for a child row if the other side
	// has rows of the same parent.
	removed(from *rows.Batch, i int, parentStands bool) error
	added(to *rows.Batch, j int) error
}

// merger compares the rows of a table, unit by unit.
type merger struct {
	table *schemas.Table
	// group lists the columns whose values the rows of a group share: the key without the unit and the ordinal.
	group []int
	// values lists the columns that are compared: all except the unit and the ordinal.
	values []int
	child  bool
	block  int // number of rows to compare at once
	visit  visitor
	// began is the column of the first side that orders equal rows, or -1 if there is none. If the first side has more
	// equal rows than the other side, the last of these rows end.
	began int
	// groupDone, if not nil, is called when all rows of one or more groups of both sides have been visited.
	groupDone func() error
	// matcher compares rows of the batches that the cursors have loaded.
	matcher rows.Matcher
	seen    [2]loaded
}

// loaded identifies the rows that a cursor has loaded.
type loaded struct {
	by    *cursor
	times int
}

func newMerger(table *schemas.Table, visit visitor) *merger {
	m := &merger{table: table, block: minBlock, visit: visit, began: -1}
	unit, ordinal := unitColumn(table), ordinalColumn(table)
	m.child = ordinal >= 0
	for _, column := range table.KeyColumns() {
		if column != unit && column != ordinal {
			m.group = append(m.group, column)
		}
	}
	for column := range table.Columns {
		if column != ordinal && column != unit {
			m.values = append(m.values, column)
		}
	}
	return m
}

// ordinalColumn returns the position of the column that counts the elements of a record's array, or -1 if there is
// none.
func ordinalColumn(table *schemas.Table) int {
	return slices.IndexFunc(table.Columns, func(c schemas.Column) bool { return c.Source == schemas.SourceOrdinal })
}

// unit compares the rows of one unit, and passes each outcome to the visitor.
func (m *merger) unit(from, to *cursor, name []byte) error {
	if err := from.seek(name); err != nil {
		return err
	}
	if err := to.seek(name); err != nil {
		return err
	}
	for {
		if n := m.equalGroups(from, to, name); n > 0 {
			if err := m.visit.same(from.batch, from.at, to.batch, to.at, n); err != nil {
				return err
			}
			if err := m.endGroup(); err != nil {
				return err
			}
			from.at, to.at = from.at+n, to.at+n
			continue
		}
		i, err := from.group(name, m.group)
		if err != nil {
			return err
		}
		j, err := to.group(name, m.group)
		if err != nil {
			return err
		}
		if i == from.at && j == to.at {
			return nil
		}
		m.resetMatcher(from, to)
		if err := m.groups(from, i, to, j); err != nil {
			return err
		}
	}
}

// groups visits the next group of each side if their keys are equal, or only the group that sorts first.
func (m *merger) groups(from *cursor, i int, to *cursor, j int) error {
	var order int
	switch {
	case i == from.at:
		order = 1
	case j == to.at:
		order = -1
	default:
		order = m.compare(m.group, from.batch, from.batch.Row(from.at), to.batch, to.batch.Row(to.at))
	}
	var err error
	switch {
	case order < 0:
		for ; from.at < i && err == nil; from.at++ {
			err = m.visit.removed(from.batch, from.at, false)
		}
	case order > 0:
		for ; to.at < j && err == nil; to.at++ {
			err = m.visit.added(to.batch, to.at)
		}
	default:
		err = m.match(from.batch, span(from.at, i), to.batch, span(to.at, j))
		from.at, to.at = i, j
	}
	if err != nil {
		return err
	}
	return m.endGroup()
}

func (m *merger) endGroup() error {
	if m.groupDone == nil {
		return nil
	}
	return m.groupDone()
}

// span returns the numbers from i up to, but not including, j.
func span(i, j int) []int {
	numbers := make([]int, j-i)
	for k := range numbers {
		numbers[k] = i + k
	}
	return numbers
}

// match pairs the equal rows of two groups with the same key, and then the remaining rows if they have an identity.
func (m *merger) match(from *rows.Batch, old []int, to *rows.Batch, current []int) error {
	identified := !m.child && m.complete(from, from.Row(old[0]))
	if len(old) > 1 || len(current) > 1 {
		m.sort(from, old)
		m.sort(to, current)
	}
	var ended, begun []int
	for len(old) > 0 && len(current) > 0 {
		switch order := m.compareValues(from, old[0], to, current[0]); {
		case order < 0:
			ended, old = append(ended, old[0]), old[1:]
		case order > 0:
			begun, current = append(begun, current[0]), current[1:]
		default:
			if err := m.visit.same(from, old[0], to, current[0], 1); err != nil {
				return err
			}
			old, current = old[1:], current[1:]
		}
	}
	ended, begun = append(ended, old...), append(begun, current...)
	for identified && len(ended) > 0 && len(begun) > 0 {
		if err := m.visit.changed(from, ended[0], to, begun[0]); err != nil {
			return err
		}
		ended, begun = ended[1:], begun[1:]
	}
	for _, i := range ended {
		if err := m.visit.removed(from, i, m.child); err != nil {
			return err
		}
	}
	for _, j := range begun {
		if err := m.visit.added(to, j); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether a row has a value, neither null nor an empty text, in every column of its key except the
// unit and the ordinal.
func (m *merger) complete(b *rows.Batch, row int) bool {
	for _, column := range m.group {
		v := &b.Cols[column]
		if v.Null(row) || v.IsText() && len(v.Text(row)) == 0 {
			return false
		}
	}
	return true
}

// sort orders rows by the values that are compared, and equal rows by the column began, if the batch has it.
func (m *merger) sort(b *rows.Batch, numbers []int) {
	sort.SliceStable(numbers, func(x, y int) bool {
		order := m.compareValues(b, numbers[x], b, numbers[y])
		if order == 0 && m.began >= 0 && m.began < len(b.Cols) {
			v := &b.Cols[m.began]
			order = rows.Compare(v, b.Row(numbers[x]), v, b.Row(numbers[y]))
		}
		return order < 0
	})
}

// compareValues compares the i-th row of a with the j-th row of b by the columns in values, and returns their order.
func (m *merger) compareValues(a *rows.Batch, i int, b *rows.Batch, j int) int {
	return m.compare(m.values, a, a.Row(i), b, b.Row(j))
}

func (m *merger) compare(columns []int, a *rows.Batch, i int, b *rows.Batch, j int) int {
	for _, column := range columns {
		if order := rows.Compare(&a.Cols[column], i, &b.Cols[column], j); order != 0 {
			return order
		}
	}
	return 0
}

// minBlock and maxBlock bound the number of rows that are compared at once, column by column. The number doubles while
// the rows are equal, so that few rows have to be compared again after a row that differs.
const (
	minBlock = 64
	maxBlock = 4096
)

// resetMatcher resets the matcher if a cursor has loaded other rows.
func (m *merger) resetMatcher(from, to *cursor) {
	if now := [2]loaded{{from, from.loads}, {to, to.loads}}; now != m.seen {
		m.matcher.Reset(now[0] != m.seen[0])
		m.seen = now
	}
}

// equalGroups returns how many of the next rows are equal on both sides and form whole groups.
func (m *merger) equalGroups(from, to *cursor, name []byte) int {
	m.resetMatcher(from, to)
	endFrom, wholeFrom := from.end(name)
	endTo, wholeTo := to.end(name)
	n := min(endFrom-from.at, endTo-to.at, m.block)
	all := n
	for _, column := range m.values {
		if n == 0 {
			m.block = minBlock
			return 0
		}
		n = m.matcher.EqualPrefix(from.batch, to.batch, column, from.at, to.at, n)
	}
	m.block = minBlock
	if n == all {
		m.block = min(2*all, maxBlock)
	}
	if n == 0 || m.groupEnds(from, from.at+n, endFrom, wholeFrom) && m.groupEnds(to, to.at+n, endTo, wholeTo) {
		return n
	}
	n-- // the last group may continue
	for n > 0 && sameGroup(from.batch, from.at+n-1, m.group) {
		n--
	}
	return n
}

// groupEnds reports whether a group is known to end before row i of the available rows. The available rows end at end.
// whole is true if the available rows are all remaining rows of the unit.
func (m *merger) groupEnds(c *cursor, i, end int, whole bool) bool {
	if i == end {
		return whole
	}
	return !sameGroup(c.batch, i-1, m.group)
}
