package maintenance

import (
	"context"
	"maps"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// locate counts the rows of the students in all tables, and collects the rows themselves if FindOptions.Records is set.
func (f *finder) locate(ctx context.Context, students []*FoundStudent) error {
	if len(students) == 0 {
		return nil
	}
	for _, s := range students {
		s.found = make(erase.Set)
		l := &locator{finder: f, student: s, records: make(map[string]int)}
		switch bids := []string{s.Bid}; {
		case s.Bid == "":
			l.target = &erase.Target{Students: erase.NewStudents(s.gives.Sorted(), true, f.opts.Key)}
		case s.Pseudonym:
			l.target = &erase.Target{Students: erase.NewStudents(bids, false, nil)}
		default:
			l.target = &erase.Target{Students: erase.NewStudents(bids, false, f.opts.Key)}
		}
		given := make(map[string]erase.Given)
		for number := range s.gives {
			given[number] = erase.Given{}
		}
		l.target.Students.Learn(given)
		for i := range f.sources {
			if err := l.source(ctx, &f.sources[i]); err != nil {
				return err
			}
		}
		s.Records = l.found
	}
	return nil
}

// owners returns the requested bids that own a row, as rows contain them. For many students, it is faster than locate.
func (f *finder) owners(ctx context.Context) (erase.Set, error) {
	l := &locator{
		finder: f, student: &FoundStudent{found: make(erase.Set)}, records: make(map[string]int), owners: make(erase.Set),
		target: &erase.Target{Students: erase.NewStudents(f.opts.Bids, false, f.opts.Key)},
	}
	for i := range f.sources {
		if err := l.source(ctx, &f.sources[i]); err != nil {
			return nil, err
		}
	}
	return l.owners, nil
}

// locator looks for the rows of one student, or of all requested students if owners is set.
type locator struct {
	*finder

	student *FoundStudent
	owners  erase.Set // collects the requested bids that own a row; nil if the search is for one student
	target  *erase.Target
	found   []FoundRecord
	records map[string]int // by table and row, the index in found
}

// source searches one source: a run, the history, or the files that are listed in neither.
func (l *locator) source(ctx context.Context, s *findSource) error {
	if s.place.RunID == "" {
		for _, dataset := range schemas.Datasets() {
			var files []purgeFile
			for _, table := range dataset.Tables {
				for _, file := range s.tables[table.Name].Files {
					files = append(files, purgeFile{table: table, file: file})
				}
			}
			if err := l.files(ctx, s, dataset, files); err != nil {
				return err
			}
		}
		return nil
	}
	units := purgeUnits(&snapshot.Manifest{Kind: s.place.Kind, SnapshotDate: s.place.SnapshotDate, Tables: s.tables})
	for _, unit := range units {
		if err := l.files(ctx, s, unit.dataset, unit.files); err != nil {
			return err
		}
	}
	return nil
}

// span is the range of days for which a version is valid, not including the day to. All rows of a run have the same
// span.
type span struct{ from, to int32 }

// files searches the files of a dataset, whose rows come from the same records.
func (l *locator) files(ctx context.Context, s *findSource, dataset *schemas.Dataset, files []purgeFile) error {
	owned := make(map[string][]span) // the student's records, by key
	for i := range files {
		table, file := files[i].table, files[i].file
		to := int32(0)
		if s.place.RunID == "" && !s.unnamed {
			var err error
			if to, err = snapshot.ValidTo(file.Path); err != nil {
				return err
			}
		}
		var match *erase.Match
		from := -1
		pick := func(own *schemas.Table) *schemas.Table {
			from = own.Column("valid_from")
			match = l.target.NewMatch(own, table, dataset, make(erase.Records))
			return own
		}
		place := FoundPlace{Kind: s.place.Kind, SnapshotDate: s.place.SnapshotDate, RunID: s.place.RunID, Table: table.Name}
		if s.unnamed {
			place.File = file.Path
		}
		err := l.read(ctx, s, file.Path, table, pick, func(batch *rows.Batch) error {
			for i := range batch.N {
				days := span{0, 1}
				if from >= 0 && !s.unnamed {
					days = span{batch.Cols[from].I32[i], to}
				}
				_, own := match.Owner(batch, i)
				if own && l.owners != nil {
					match.Owners(l.owners)
				}
				switch {
				case own && match.IsFirst() && match.HasRecords():
					key := match.Record(batch, i)
					owned[key] = append(owned[key], days)
				case own:
				case !match.IsFirst() && len(owned) > 0 && slices.ContainsFunc(owned[match.Record(batch, i)], days.overlaps):
				default:
					if match.LosesExtra(batch, i) || match.Mentions(batch, i) != "" {
						place.Mentions++
					}
					continue
				}
				place.Rows++
				if len(match.ByNumber) > 0 {
					place.ByNumber++
					maps.Copy(l.student.found, match.ByNumber)
				}
				if l.opts.Records && l.owners == nil {
					l.record(table, batch, i, s.placeOf(days, file.Path), len(match.ByNumber) > 0)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.addPlace(place)
	}
	return nil
}

func (d span) overlaps(other span) bool { return d.from < other.to && other.from < d.to }

// placeOf describes the place of a row in words, for FoundRecord.Places.
func (s *findSource) placeOf(days span, path string) string {
	switch {
	case s.unnamed:
		return "file " + path
	case s.place.RunID == "":
		to := snapshot.DateOf(days.to)
		if to == snapshot.Open {
			return "history from " + snapshot.DateOf(days.from)
		}
		return "history from " + snapshot.DateOf(days.from) + " until " + to
	case s.place.Kind == snapshot.Full:
		return "snapshot " + s.place.SnapshotDate
	default:
		return string(s.place.Kind) + " " + s.place.SnapshotDate
	}
}

// addPlace adds a place. If the last place has the same run, table and file, addPlace adds the counts to it instead.
func (l *locator) addPlace(place FoundPlace) {
	if place.Rows+place.Mentions == 0 {
		return
	}
	if n := len(l.student.Places); n > 0 {
		last := &l.student.Places[n-1]
		if last.RunID == place.RunID && last.Table == place.Table && last.File == place.File {
			last.Rows += place.Rows
			last.ByNumber += place.ByNumber
			last.Mentions += place.Mentions
			return
		}
	}
	l.student.Places = append(l.student.Places, place)
}

// record adds a row with its place. If an equal row was found before, it adds only the place.
func (l *locator) record(table *schemas.Table, batch *rows.Batch, i int, place string, byNumber bool) {
	row := rowOf(batch, i)
	key := table.Name + "\x00" + row.text()
	at, known := l.records[key]
	if !known {
		at = len(l.found)
		l.records[key] = at
		l.found = append(l.found, FoundRecord{Table: table.Name, Row: row, ByNumber: byNumber})
	}
	l.found[at].Places = append(l.found[at].Places, place)
}
