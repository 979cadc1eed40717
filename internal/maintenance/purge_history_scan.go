package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

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
			s := &historyScanner{history: h, table: t, file: f, whole: again != nil, seen: make(set), spans: make(map[string][]span), endings: make(map[int32]int64)}
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
		for _, s := range found {
			for day, n := range s.endings {
				t.addEnding(day, n)
			}
		}
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
	r.RowsFound += f.removed + f.moved + f.trimmed + f.cleared + f.merged
	if f.mentioning > 0 {
		r.RowsMentioning[table] += f.mentioning
	}
}

// historyScanner looks for what is purged in a file of the history.
type historyScanner struct {
	history *purgedHistory
	table   *historyTable
	file    historyFile
	whole   bool
	seen    set
	spans   map[string][]span // to be added to the table's
	endings map[int32]int64   // by day
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
			from, stays, endings := match.row(batch, i)
			for _, e := range endings {
				s.endings[e.to]++
				s.file.endings++
			}
			switch {
			case !stays && len(endings) > 0:
				s.file.moved++
				continue
			case !stays:
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
			if to, err = snapshot.DayOf(h.manifest.Snapshots[i+1].Date); err != nil {
				return err
			}
		}
		schools := p.index.schoolsOf(folded.RunID, h.districts)
		if p.runs[folded.RunID] == nil {
			day, err := snapshot.DayOf(folded.Date)
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
