package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// purgedHistory is what a purge has found in the history.
type purgedHistory struct {
	manifest *snapshot.HistoryManifest
	tables   []*historyTable
	// bids are all schools that are purged on some date, and days on which ones, as a school may change districts.
	bids
	days map[string][]span
	// rehashed are the snapshots folded, with the hashes of their manifests after their purges.
	rehashed []snapshot.FoldedSnapshot
	seen     set
}

// span is a range of days since 1970, the last one excluded.
type span struct{ from, to int32 }

// historyTable is a table of the history.
type historyTable struct {
	table   *schemas.Table // as it is declared, without the columns of versions
	dataset *schemas.Dataset
	files   []historyFile
	// spans are the days on which records are purged that were not requested for a purged school or district, by their
	// keys. All tables of a dataset share them.
	spans map[string][]span
	// merges are what becomes of versions that lose _extra and then equal a neighbour.
	merges merges
}

// historyFile is a file of the history and what is purged from it.
type historyFile struct {
	sink.File

	open    bool
	to      int32 // valid_to
	removed int64
	trimmed int64 // rows that begin on another day
	cleared int64 // rows that lose _extra
	merged  int64 // rows of these that are part of a later one
	// firstGone is set if the first school of the file has no rows left, or the file no row.
	firstGone  bool
	mentioning int64
}

func (f *historyFile) changes() bool { return f.removed+f.trimmed+f.cleared+f.merged > 0 }

// pending reports whether the history has to be changed.
func (h *purgedHistory) pending() bool {
	return h != nil && (h.report("") != nil || !slices.Equal(h.rehashed, h.manifest.Snapshots))
}

// report returns what is removed from the history, or nil if it loses nothing.
func (h *purgedHistory) report(id string) *snapshot.HistoryPurge {
	if h == nil {
		return nil
	}
	purge := &snapshot.HistoryPurge{ID: id, RowsRemoved: make(map[string]int64)}
	for _, t := range h.tables {
		for i := range t.files {
			if f := &t.files[i]; f.changes() {
				snapshot.AddRows(&purge.RowsRemoved, t.table.Name, f.removed)
				snapshot.AddRows(&purge.ExtraRemoved, t.table.Name, f.cleared)
				purge.FilesRewritten++
			}
		}
	}
	if purge.FilesRewritten == 0 {
		return nil
	}
	return purge
}

// scanHistory looks for what is purged in the files of the history; again counts what was read, and has all texts read.
func (p *purger) scanHistory(ctx context.Context, again *PurgeVerification) error {
	p.history = nil
	current, err := p.catalog.ReadHistory(ctx)
	if err != nil {
		return fmt.Errorf("%w: growth-export history --rebuild makes the history again, then purge again", err)
	}
	if current == nil {
		return nil
	}
	h := &purgedHistory{manifest: current.Manifest, seen: make(set)}
	if err := h.addDays(p); err != nil {
		return err
	}
	if h.rehashed, err = p.rehash(h.manifest.Snapshots); err != nil {
		return err
	}
	if err := h.addTables(); err != nil {
		return err
	}
	for _, t := range h.tables {
		found, err := sink.Map(ctx, verifyConcurrency, t.files, func(ctx context.Context, f historyFile) (*historyScanner, error) {
			s := &historyScanner{history: h, table: t, file: f, whole: again != nil, seen: make(set), spans: make(map[string][]span)}
			return s, s.scan(ctx, p.catalog)
		})
		if err != nil {
			return fmt.Errorf("look for rows in the history: %w", err)
		}
		var bare []bareVersion
		for i, s := range found {
			t.files[i] = s.file
			maps.Copy(p.seen, s.seen)
			for key, spans := range s.spans {
				t.spans[key] = append(t.spans[key], spans...)
			}
			for _, v := range s.bare {
				v.file = i
				bare = append(bare, v)
			}
		}
		t.mergeBare(bare)
		for i := range t.files {
			if again != nil {
				again.addHistory(t.table.Name, &t.files[i])
			}
		}
	}
	p.history = h
	return nil
}

func (r *PurgeVerification) addHistory(table string, f *historyFile) {
	r.Files++
	r.Rows += f.Rows
	r.Bytes += f.Bytes
	r.RowsFound += f.removed + f.trimmed + f.cleared + f.merged
	if f.mentioning > 0 {
		r.RowsMentioning[table] += f.mentioning
	}
}

// addTables lists the tables, the first of a dataset before its others: its rows say which records are purged.
func (h *purgedHistory) addTables() error {
	add := func(table *schemas.Table, dataset *schemas.Dataset, spans map[string][]span) error {
		t := &historyTable{table: table, dataset: dataset, spans: spans}
		for _, file := range h.manifest.Tables[table.Name].Files {
			folder, _, _ := strings.Cut(strings.TrimPrefix(file.Path, snapshot.HistoryFilesPrefix+table.Name+"/valid_to="), "/")
			day, err := dayOf(folder)
			if err != nil {
				return fmt.Errorf("read the name of %s: %w", file.Path, err)
			}
			t.files = append(t.files, historyFile{File: file, to: day, open: folder == snapshot.Open})
		}
		h.tables = append(h.tables, t)
		return nil
	}
	listed := make(set)
	for _, dataset := range schemas.Datasets() {
		spans := make(map[string][]span)
		for _, table := range dataset.Tables {
			listed[table.Name] = true
			if err := add(table, dataset, spans); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.manifest.Tables)) {
		if listed[name] {
			continue
		}
		table, ok := snapshot.FindHistoryTable(name)
		if !ok {
			table = &schemas.Table{Name: name}
		}
		if err := add(table, nil, make(map[string][]span)); err != nil {
			return err
		}
	}
	return nil
}

// addDays finds out which schools are purged on which days. A folded snapshot is current until the next one. What a
// pruned one said of its schools is what the history says.
func (h *purgedHistory) addDays(p *purger) error {
	h.bids = bids{schools: make(set), districts: make(set), students: p.students.texts}
	h.days = make(map[string][]span)
	for _, district := range p.report.Asked.Districts {
		h.districts[district] = true
	}
	for _, school := range p.report.Asked.Schools {
		h.schools[school] = true
		h.days[school] = []span{{math.MinInt32, math.MaxInt32}}
	}
	if len(h.districts) == 0 {
		return nil
	}
	from := int32(math.MinInt32)
	for i, folded := range h.manifest.Snapshots {
		to := int32(math.MaxInt32)
		if i+1 < len(h.manifest.Snapshots) {
			var err error
			if to, err = dayOf(h.manifest.Snapshots[i+1].Date); err != nil {
				return err
			}
		}
		schools := p.index.schoolsOf(folded.RunID, h.districts)
		if p.runs[folded.RunID] == nil {
			day, err := dayOf(folded.Date)
			if err != nil {
				return err
			}
			schools = p.index.schoolsAt(day, h.districts)
		}
		for school := range schools {
			h.schools[school] = true
			days := h.days[school]
			if n := len(days); n > 0 && days[n-1].to == from {
				days[n-1].to = to
			} else {
				h.days[school] = append(days, span{from, to})
			}
		}
		from = to
	}
	return nil
}

// rehash returns the snapshots folded with the hashes that their manifests have now, if only purges have changed them.
func (p *purger) rehash(folded []snapshot.FoldedSnapshot) ([]snapshot.FoldedSnapshot, error) {
	folded = slices.Clone(folded)
	for i := range folded {
		m := p.runs[folded[i].RunID]
		if m == nil || len(m.Purges) == 0 {
			continue
		}
		data, err := snapshot.EncodeDocument(m)
		if err != nil {
			return nil, err
		}
		folded[i].ManifestSHA256 = sink.Hash(data)
	}
	return folded, nil
}

// addHistory adds what the history's lookup tables say of schools.
func (k *districtIndex) addHistory(ctx context.Context, catalog snapshot.Catalog) error {
	current, err := catalog.ReadHistory(ctx)
	if current == nil || err != nil {
		return err
	}
	h := &purgedHistory{manifest: current.Manifest}
	if err := h.addTables(); err != nil {
		return err
	}
	k.spans = make(map[string][]districtSpan)
	for _, t := range h.tables {
		if t.table.Name != "schools" && t.table.Name != "district_schools" {
			continue
		}
		for i := range t.files {
			to := t.files[i].to
			pick := func(own *schemas.Table) *schemas.Table {
				return snapshot.SelectColumns(own, "school_bid", "district_bid", "requested_district_bid", validFrom)
			}
			err := readFile(ctx, catalog, t.files[i].Path, t.table, pick, func(batch *rows.Batch) error {
				from := batch.Cols[batch.Table.Column(validFrom)].I32
				for i := range batch.N {
					school, district := textOf(batch, i, "school_bid"), textOf(batch, i, "district_bid")
					put(k.listed, school, textOf(batch, i, "requested_district_bid"))
					put(k.everywhere, school, district)
					if school != "" && district != "" {
						k.spans[school] = append(k.spans[school], districtSpan{district, span{from[i], to}})
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// districtSpan is the district of a school on some days.
type districtSpan struct {
	district string
	span
}

// schoolsAt returns the schools of the districts on a day, by what the history says.
func (k *districtIndex) schoolsAt(day int32, districts set) set {
	own := make(map[string]set)
	for school, spans := range k.spans {
		for _, s := range spans {
			if s.from <= day && day < s.to {
				put(own, school, s.district)
			}
		}
	}
	return k.schools(own, districts)
}

// validFrom is the column of a version's first day.
const validFrom = "valid_from"

// dayOf returns the day of a date.
func dayOf(date string) (int32, error) {
	t, err := time.Parse(time.DateOnly, date)
	return int32(t.Unix() / (24 * 60 * 60)), err
}

// dateOf returns the date of a day.
func dateOf(day int32) string { return time.Unix(int64(day)*24*60*60, 0).UTC().Format(time.DateOnly) }

// historyScanner looks for what is purged in a file of the history.
type historyScanner struct {
	history *purgedHistory
	table   *historyTable
	file    historyFile
	whole   bool
	seen    set
	spans   map[string][]span // to be added to the table's
	bare    []bareVersion
}

func (s *historyScanner) scan(ctx context.Context, catalog snapshot.Catalog) error {
	var match *historyMatch
	pick := func(own *schemas.Table) *schemas.Table {
		columns := textColumns(own)
		if !s.whole {
			columns = selectText(s.history.matchColumns(s.table.table, s.table.dataset))(own)
		}
		if at := own.Column(validFrom); at >= 0 {
			columns.Columns = append(columns.Columns, own.Columns[at])
		}
		if s.history.clearsExtra(s.table) {
			columns = own // versions without _extra are compared
		}
		match = s.history.match(s.table, s.file.to, columns)
		match.seen, match.found = s.seen, s.spans
		return columns
	}
	first, left := "", false
	row := int64(0)
	err := readFile(ctx, catalog, s.file.Path, s.table.table, pick, func(batch *rows.Batch) error {
		if match.from < 0 {
			return errors.New("it has no column " + validFrom)
		}
		for i := range batch.N {
			unit := match.unitOf(batch, i)
			if row++; row == 1 {
				first = unit
			}
			from, goes := match.row(batch, i)
			switch {
			case goes:
				s.file.removed++
				continue
			case match.extraAt >= 0 && (batch.Cols[match.extraAt].Null(i) || match.losesExtra(batch, i)):
				v := match.bareVersion(batch, i, from)
				if v.cleared = !batch.Cols[match.extraAt].Null(i); v.cleared {
					s.file.cleared++
				}
				s.bare = append(s.bare, v)
			case from != batch.Cols[match.from].I32[i]:
				s.file.trimmed++
			case s.whole && match.mentions(batch, i):
				s.file.mentioning++
			}
			if !left {
				left, s.file.firstGone = true, unit != first
			}
		}
		return nil
	})
	s.file.firstGone = s.file.firstGone || !left
	return err
}
