package history

import (
	"context"
	"maps"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// eraseConcurrency is the maximum number of files that are searched at once.
const eraseConcurrency = 4

// erasedTable is a table of the history from which rows may be erased.
type erasedTable struct {
	table   *schemas.Table // the declared table, without the columns of versions
	dataset *schemas.Dataset
	files   []erasedFile
	// records maps the keys of erased records to the days on which each is erased. It omits records that were requested
	// for an erased school or district. All tables of a dataset share the map.
	records map[string][]days
	merges  map[place]merge
}

// erasedFile is a file of the history, with counts of the rows that a purge removes or changes.
type erasedFile struct {
	sink.File

	open    bool
	to      int32 // valid_to
	removed int64
	trimmed int64 // rows that begin on a later day after the purge
	cleared int64 // rows that lose _extra
	merged  int64 // rows that were merged into others
	began   int64 // rows that begin earlier because others were merged into them
	// firstGone is true if no rows of the file's first school are left.
	firstGone bool
}

func (f *erasedFile) found() int64 { return f.removed + f.trimmed + f.cleared }

func (f *erasedFile) changes() bool { return f.found()+f.merged+f.began > 0 }

// left returns how many rows the file has after the purge.
func (f *erasedFile) left() int64 { return f.Rows - f.removed - f.merged }

// search finds the rows to be erased from a table, and adds their counts to e.
func (e *Erasure) search(ctx context.Context, catalog snapshot.Catalog, t *erasedTable) error {
	for _, file := range e.Manifest.Tables[t.table.Name].Files {
		to, err := snapshot.ValidTo(file.Path)
		if err != nil {
			return err
		}
		t.files = append(t.files, erasedFile{File: file, to: to, open: snapshot.DateOf(to) == snapshot.Open})
	}
	found, err := sink.Map(ctx, eraseConcurrency, t.files, func(ctx context.Context, f erasedFile) (*fileSearch, error) {
		s := &fileSearch{erasure: e, table: t, file: f, records: make(map[string][]days), cleared: make(erase.Set), mentioning: make(map[string]int64), numbers: make(erase.Set)}
		return s, s.run(ctx, catalog)
	})
	if err != nil {
		return err
	}
	cleared := make(erase.Set)
	for i, s := range found {
		t.files[i] = s.file
		for key, spans := range s.records {
			t.records[key] = append(t.records[key], spans...)
		}
		maps.Copy(cleared, s.cleared)
		e.add(t, s)
	}
	if len(cleared) == 0 {
		return nil
	}
	return e.findMerges(ctx, catalog, t, cleared)
}

func (e *Erasure) add(t *erasedTable, s *fileSearch) {
	e.Files++
	e.Rows += s.file.Rows
	e.Bytes += s.file.Bytes
	e.RowsFound += s.file.found()
	e.cuts = e.cuts || s.cuts
	e.ByNumber += s.byNumber
	maps.Copy(e.Numbers, s.numbers)
	for column, n := range s.mentioning {
		e.Mentioning[t.table.Name+"."+column] += n
	}
	if s.match != nil {
		maps.Copy(e.Seen, s.match.Seen)
		e.Occurs.Add(s.match.Occurs)
	}
}

// fileSearch finds the rows to be erased from a file of the history.
type fileSearch struct {
	erasure *Erasure
	table   *erasedTable
	file    erasedFile
	match   *versionMatch
	records map[string][]days // to be added to the records of the table
	cleared erase.Set         // the keys of rows that lose _extra
	cuts    bool
	// mentioning counts, by column, the rows of others that mention the target.
	mentioning map[string]int64
	byNumber   int64     // see Erasure.ByNumber
	numbers    erase.Set // see Erasure.Numbers
}

func (s *fileSearch) run(ctx context.Context, catalog snapshot.Catalog) error {
	e, table := s.erasure, s.table.table
	pick := func(own *schemas.Table) *schemas.Table {
		columns := e.target.Columns(own, table, s.table.dataset)
		if e.opts.All {
			columns = erase.TextColumns(own)
		}
		names := []string{validFrom, coverageStatus}
		for i := range columns.Columns {
			names = append(names, columns.Columns[i].Name)
		}
		for _, key := range table.KeyColumns() {
			names = append(names, table.Columns[key].Name)
		}
		columns = snapshot.SelectColumns(own, names...)
		s.match = e.match(s.table, s.file.to, columns)
		return columns
	}
	first, left, row := "", false, 0
	err := erase.ReadFile(ctx, catalog, s.file.Path, table, pick, func(batch *rows.Batch) error {
		if s.match.from < 0 {
			return errNoVersions
		}
		for i := range batch.N {
			unit := s.match.unitOf(batch, i)
			if row++; row == 1 {
				first = unit
			}
			if s.row(batch, i) && !left {
				left, s.file.firstGone = true, unit != first
			}
		}
		return nil
	})
	s.file.firstGone = s.file.firstGone || !left
	return err
}

// row determines and counts the effect of the purge on row i, and reports whether the row stays.
func (s *fileSearch) row(batch *rows.Batch, i int) bool {
	m := s.match
	if s.erasure.opts.All {
		m.Locate(batch, i)
	}
	v := m.version(batch, i)
	s.cuts = s.cuts || v.cut
	if m.IsFirst() && m.HasRecords() && len(v.own) > 0 {
		key := m.Record(batch, i)
		s.records[key] = append(s.records[key], v.own...)
	}
	if !v.stays {
		s.file.removed++
		if len(m.ByNumber) > 0 {
			s.byNumber++
			maps.Copy(s.numbers, m.ByNumber)
		}
		return false
	}
	switch {
	case m.LosesExtra(batch, i):
		s.file.cleared++
		if key, ok := m.keyOf(batch, i); ok {
			s.cleared[key] = true
		}
	case v.from != batch.Cols[m.from].I32[i]:
		s.file.trimmed++
	case s.erasure.opts.All:
		if column := m.Mentions(batch, i); column != "" {
			s.mentioning[column]++
		}
	}
	return true
}

// versionMatch determines the effect of a purge on the versions of a table.
type versionMatch struct {
	*erase.Match

	erasure  *Erasure
	records  map[string][]days // see erasedTable.records
	from     int               // the column valid_from, or -1
	to       int32             // the day of valid_to
	unit     int               // the column of the school or district that was requested, or -1
	schoolAt []int
	status   int   // the column of the coverage's status, or -1
	ordinal  int   // the column ordinal, or -1
	keys     []int // the columns of the key without the ordinal; -1 for a column that the file lacks
}

// validFrom is the name of the column with a version's first day.
const validFrom = "valid_from"

// coverageStatus is the name of the status column of the coverage table.
const coverageStatus = "status"

// match returns the versionMatch for a file that is read with the given columns and whose versions end on the day to.
func (e *Erasure) match(t *erasedTable, to int32, columns *schemas.Table) *versionMatch {
	m := &versionMatch{
		Match: e.target.NewMatch(columns, t.table, t.dataset, make(erase.Records)), erasure: e, records: t.records,
		from: columns.Column(validFrom), to: to, unit: columns.Column("requested_school_bid"), ordinal: columns.Column("ordinal"),
	}
	m.status = -1
	if t.table.Name == snapshot.CoverageTable().Name {
		m.status = columns.Column(coverageStatus)
	}
	if m.unit < 0 {
		m.unit = columns.Column("requested_district_bid")
	}
	for _, name := range []string{"requested_school_bid", "school_bid"} {
		if at := columns.Column(name); at >= 0 {
			m.schoolAt = append(m.schoolAt, at)
		}
	}
	for _, key := range t.table.KeyColumns() {
		if name := t.table.Columns[key].Name; name != "ordinal" {
			m.keys = append(m.keys, columns.Column(name))
		}
	}
	return m
}

// unitOf returns the school or district that a row was requested for.
func (m *versionMatch) unitOf(batch *rows.Batch, i int) string {
	if m.unit < 0 || batch.Cols[m.unit].Null(i) {
		return ""
	}
	return string(batch.Cols[m.unit].Text(i))
}

// movedDays returns the days on which a version belongs to the target because its school was in one of the districts.
// Days of a school that appears only in the row itself are added to f.own instead, because the record's child rows do
// not contain that school.
func (m *versionMatch) movedDays(batch *rows.Batch, i int, f *versionFate, began int32) (requested []days) {
	if len(m.erasure.moved) == 0 || m.isAbsent(batch, i) {
		return nil
	}
	unit := m.unitOf(batch, i)
	for _, c := range m.schoolAt {
		v := &batch.Cols[c]
		if v.Null(i) || c != m.unit && string(v.Text(i)) == unit {
			continue
		}
		for _, s := range m.erasure.moved[string(v.Text(i))] {
			m.Seen[string(v.Text(i))] = true
			switch s = (days{max(began, s.from), min(m.to, s.to)}); {
			case s.from >= s.to:
			case c == m.unit:
				requested = append(requested, s)
			case s.from == began: // otherwise the version belonged to another owner first, and stays
				f.own = append(f.own, s)
			}
		}
	}
	return requested
}

// isAbsent reports whether a row of the coverage table says that a school was absent. An absent school does not belong
// to a district.
func (m *versionMatch) isAbsent(batch *rows.Batch, i int) bool {
	return m.status >= 0 && string(batch.Cols[m.status].Text(i)) == string(absent)
}

// versionFate is the effect of a purge on a version.
type versionFate struct {
	stays bool
	from  int32  // the version's first day after the purge
	own   []days // the days on which the row itself belongs to the target
	cut   bool   // true for a child row that belonged to another owner on some days
}

// version determines the effect of a purge on a version. A version that began while it belonged to the target now
// begins when that period ended, or is removed. A version that began earlier stays, because it belonged to another
// owner first. A child row may not contain its owner, so it is shortened or removed even if it belonged to the target
// only later.
func (m *versionMatch) version(batch *rows.Batch, i int) versionFate {
	began := batch.Cols[m.from].I32[i]
	requested, own := m.Owner(batch, i)
	if requested {
		return versionFate{}
	}
	f := versionFate{from: began}
	if own {
		f.own = append(f.own, days{began, m.to})
	}
	erased := m.movedDays(batch, i, &f, began)
	erased = append(erased, f.own...)
	if !m.IsFirst() && len(m.records) > 0 {
		for _, s := range m.records[m.Record(batch, i)] {
			if s.from < m.to && began < s.to {
				f.cut = f.cut || began < s.from || s.to < m.to
				erased = append(erased, days{began, s.to})
			}
		}
	}
	slices.SortFunc(erased, func(a, b days) int { return int(a.from) - int(b.from) })
	for _, s := range erased {
		if s.from <= f.from {
			f.from = max(f.from, s.to)
		}
	}
	f.stays = f.from < m.to
	return f
}
