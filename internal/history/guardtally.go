package history

import (
	"hash/maphash"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// guardTally is a tally with the additional counts that the limits on changes need.
type guardTally struct {
	tally

	district *districtCounts
	group    guardGroup
	// gone and came hold hashes of the content of rows that only one side has in this unit. They are empty for child
	// tables. If a removed row and a row added under another key have equal content by which a row can be recognized, the
	// row counts as changed. Rows with equal hashes count as equal, because a rare collision hardly affects a count.
	gone, came []uint64
}

// guardGroup counts the outcomes of the rows of one group, or of several groups of equal rows. A group of child rows
// consists of the rows of one parent.
type guardGroup struct {
	blocks, same, parents int
	parentGone            bool
	gone, came            []uint64
}

// districtCounts holds the counts of a table in a district while they are being added up.
type districtCounts struct {
	snapshot.DistrictComparison

	table *schemas.Table
	child bool
	// columns lists the columns that can lack a value. The other slices hold counts by column. had and has count the rows
	// with a value in the baseline and in the run. values counts the identified rows that are on both sides and had a
	// value. emptied counts the rows among these that no longer have a value.
	columns                   []int
	had, has, values, emptied []int64
	// quiet is true for columns whose changes the limits ignore. A row that changes only in such columns does not count as
	// altered. content lists the other optional columns outside the key.
	quiet   []bool
	content []int
	// telling lists the columns in content by which a row can be recognized.
	telling []int
	seed    maphash.Seed
	scratch []byte
}

// quietColumns are columns that may change in every row without being suspicious, because of a new school year, a new
// field of the service, or any edit.
var quietColumns = []string{"grade", "_extra", "modified_date_time"}

// tellingColumns identify a person or the day on which something began. A row without a value in any of them cannot be
// recognized under another key, because classes, for example, have the same names every year.
var tellingColumns = []string{"student_bid", "student_id", "educator_bid", "begin_date"}

func newDistrictCounts(table *schemas.Table) *districtCounts {
	n := len(table.Columns)
	d := &districtCounts{
		DistrictComparison: snapshot.DistrictComparison{TableComparison: *snapshot.NewTableComparison()},
		table:              table, child: ordinalColumn(table) >= 0, seed: maphash.MakeSeed(),
		had: make([]int64, n), has: make([]int64, n), values: make([]int64, n), emptied: make([]int64, n), quiet: make([]bool, n),
	}
	for i := range table.Columns {
		column := &table.Columns[i]
		d.quiet[i] = slices.Contains(quietColumns, column.Name)
		if !column.Required {
			d.columns = append(d.columns, i)
		}
		if !column.Required && !column.Key && !d.quiet[i] {
			d.content = append(d.content, i)
			if slices.Contains(tellingColumns, column.Name) {
				d.telling = append(d.telling, i)
			}
		}
	}
	return d
}

func (t *guardTally) same(from *rows.Batch, i int, to *rows.Batch, j, n int) error {
	d, g := t.district, &t.group
	for _, column := range d.columns {
		count := t.merger.matcher.CountValues(from, column, i, n)
		d.had[column] += count
		d.has[column] += count
		d.values[column] += count
	}
	if g.blocks++; g.blocks == 1 && d.child {
		g.parents = t.merger.groupsIn(from, i, n)
	}
	g.same += n
	return t.tally.same(from, i, to, j, n)
}

func (t *guardTally) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	d := t.district
	row, now := from.Row(i), to.Row(j)
	altered := false
	for column := range from.Cols {
		altered = altered || !d.quiet[column] && rows.Compare(&from.Cols[column], row, &to.Cols[column], now) != 0
	}
	if altered {
		d.Altered++
	}
	for _, column := range d.columns {
		had, has := from.Cols[column].HasValue(row), to.Cols[column].HasValue(now)
		switch {
		case had && has:
			d.had[column]++
			d.has[column]++
			d.values[column]++
		case had:
			d.had[column]++
			d.values[column]++
			d.emptied[column]++
		case has:
			d.has[column]++
		}
	}
	return t.tally.changed(from, i, to, j)
}

func (t *guardTally) removed(from *rows.Batch, i int, parentStands bool) error {
	d, row := t.district, from.Row(i)
	for _, column := range d.columns {
		if from.Cols[column].HasValue(row) {
			d.had[column]++
		}
	}
	t.group.gone = append(t.group.gone, d.hash(from, row))
	standing := t.counts.Because[snapshot.ElementsChanged]
	err := t.tally.removed(from, i, parentStands)
	t.group.parentGone = t.counts.Because[snapshot.ElementsChanged] == standing
	return err
}

func (t *guardTally) added(to *rows.Batch, j int) error {
	d, row := t.district, to.Row(j)
	for _, column := range d.columns {
		if to.Cols[column].HasValue(row) {
			d.has[column]++
		}
	}
	t.group.came = append(t.group.came, d.hash(to, row))
	return t.tally.added(to, j)
}

// endGroup adds the counts of a group to the district's counts.
func (t *guardTally) endGroup() error {
	d, g := t.district, &t.group
	if d.child && (g.same > 0 || len(g.gone) > 0) && !g.parentGone {
		parents := 1
		if g.blocks == 1 && len(g.gone) == 0 && len(g.came) == 0 {
			parents = g.parents
		}
		d.Parents += int64(parents)
		if g.same == 0 && len(g.came) == 0 {
			d.Childless++
		}
	}
	if len(g.gone) > 0 && len(g.came) > 0 {
		d.Paired += pairEqual(&g.gone, &g.came)
		if d.child {
			replaced := int64(min(len(g.gone), len(g.came)))
			d.Paired += replaced
			d.Altered += replaced
		}
	}
	if !d.child {
		t.gone, t.came = append(t.gone, g.gone...), append(t.came, g.came...)
	}
	*g = guardGroup{gone: g.gone[:0], came: g.came[:0]}
	return nil
}

// endUnit counts the rows that were removed while equal rows were added under other keys.
func (t *guardTally) endUnit() {
	unknown := func(hash uint64) bool { return hash&1 == 0 }
	t.gone, t.came = slices.DeleteFunc(t.gone, unknown), slices.DeleteFunc(t.came, unknown)
	moved := pairEqual(&t.gone, &t.came)
	t.district.Paired += moved
	t.district.Altered += moved
	t.gone, t.came = t.gone[:0], t.came[:0]
}

// pairEqual sorts two lists, removes equal pairs from them, and returns the number of these pairs.
func pairEqual(a, b *[]uint64) (pairs int64) {
	slices.Sort(*a)
	slices.Sort(*b)
	x, y := (*a)[:0], (*b)[:0]
	i, j := 0, 0
	for i < len(*a) && j < len(*b) {
		switch p, q := (*a)[i], (*b)[j]; {
		case p == q:
			pairs, i, j = pairs+1, i+1, j+1
		case p < q:
			x, i = append(x, p), i+1
		default:
			y, j = append(y, q), j+1
		}
	}
	x, y = append(x, (*a)[i:]...), append(y, (*b)[j:]...)
	*a, *b = x, y
	return pairs
}

// hash returns a hash of a row's content. The hash is odd if the row can be recognized by its content.
func (d *districtCounts) hash(b *rows.Batch, row int) uint64 {
	d.scratch = d.scratch[:0]
	for _, column := range d.content {
		d.scratch = appendValue(d.scratch, &b.Cols[column], row)
	}
	hash := maphash.Bytes(d.seed, d.scratch)
	if slices.ContainsFunc(d.telling, func(column int) bool { return b.Cols[column].HasValue(row) }) {
		return hash | 1
	}
	return hash &^ 1
}

// groupsIn counts the groups in n rows, starting with the i-th.
func (m *merger) groupsIn(b *rows.Batch, i, n int) int {
	groups := 1
	for k := i + 1; k < i+n; k++ {
		if !sameGroup(b, k-1, m.group) {
			groups++
		}
	}
	return groups
}

// finish returns the counts in the form in which a checkpoint stores them.
func (d *districtCounts) finish() snapshot.DistrictComparison {
	counts := d.DistrictComparison
	counts.Had, counts.Has = make(map[string]int64), make(map[string]int64)
	counts.Values, counts.Emptied = make(map[string]int64), make(map[string]int64)
	for _, column := range d.columns {
		add := func(to map[string]int64, n int64) {
			if n > 0 {
				to[d.table.Columns[column].Name] = n
			}
		}
		add(counts.Had, d.had[column])
		add(counts.Has, d.has[column])
		if !d.child && !d.table.Columns[column].Key {
			add(counts.Values, d.values[column])
			add(counts.Emptied, d.emptied[column])
		}
	}
	return counts
}
