package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// FindOptions select the students that Find looks for: by bids, by numbers, or by one name.
type FindOptions struct {
	Bids, Numbers []string
	Name          string
	// Key is the privacy key of runs that contain pseudonyms.
	Key *privacy.Key
	// Records is true if the students' rows are added to the report.
	Records bool
}

// maxFound is the maximum number of students that Find looks up in all tables.
const maxFound = 20

// FindReport is the result of Find. It contains personal data.
type FindReport struct {
	// Students are the students who were found, sorted by bid, with the students without a bid at the end.
	Students []*FoundStudent `json:"students"`
	// WithoutBid counts rows with a requested number or name that have neither a bid nor a number that identifies a
	// student.
	WithoutBid int64 `json:"rows_without_bid"`
	// Runs is the number of searched runs, and History reports whether a history was also searched.
	Runs    int  `json:"runs"`
	History bool `json:"history"`
	// Unnamed is the number of data files that are listed neither in a run nor in the history. They were also searched,
	// except for the files in Unreadable.
	Unnamed    int      `json:"unnamed_files"`
	Unreadable []string `json:"unreadable_files,omitempty"`
	// Unknown are other files at the destination, which were not searched because they are not Parquet files.
	Unknown []string `json:"unknown_files,omitempty"`
	// Unsearchable counts the runs, and the history, that could not be searched, because they contain no names, or because
	// they contain pseudonyms made with a key that was not given.
	Unsearchable int `json:"unsearchable"`
}

// FoundStudent is a student and the places where the student's rows are.
type FoundStudent struct {
	// Bid is the student's bid as rows contain it. It is empty for a student who has only numbers, whose rows a purge can
	// erase by number. If Pseudonym is set, only the pseudonym of the bid is known or, for a student without a bid, only
	// pseudonyms of the numbers.
	Bid       string   `json:"student_bid"`
	Pseudonym bool     `json:"pseudonym,omitempty"`
	Names     []string `json:"names"`
	Numbers   []string `json:"numbers"`
	Schools   []string `json:"school_bids"` // the schools that list the student
	// Places are the places of the rows, and Records are the rows themselves. Both are empty if more than maxFound
	// students were found.
	Places  []FoundPlace  `json:"places"`
	Records []FoundRecord `json:"records,omitempty"`
	// SharedNumbers maps each number by which rows without a bid were found to the number of students with a bid who have
	// it, if there are several such students.
	SharedNumbers map[string]int `json:"shared_numbers,omitempty"`

	forms erase.Set // the bid as rows may contain it; empty for a student without a bid
	gives erase.Set // the numbers in the student's rows
	found erase.Set // the numbers by which rows without a bid were found
}

// FoundPlace counts the rows of a table in a run or in the history.
type FoundPlace struct {
	Kind         snapshot.Kind `json:"kind,omitempty"` // of the run; empty for the history
	SnapshotDate string        `json:"snapshot_date,omitempty"`
	RunID        string        `json:"run_id,omitempty"`
	// File is the path of a data file that is listed neither in a run nor in the history. It is empty for other places.
	File  string `json:"file,omitempty"`
	Table string `json:"table"`
	Rows  int64  `json:"rows"` // about the student
	// ByNumber counts those of Rows that have no bid and were found only by a number of the student.
	ByNumber int64 `json:"rows_by_number,omitempty"`
	// Mentions counts the other rows that mention the student in _extra or in another column.
	Mentions int64 `json:"mentions,omitempty"`
}

// FoundRecord is a row of a student, with all places that contain it.
type FoundRecord struct {
	Table string `json:"table"`
	Row   Row    `json:"row"`
	// Places describe where the row is: snapshots, ranges of days in the history, and unlisted files.
	Places []string `json:"places"`
	// ByNumber is true if the row has no bid and was found only by a number of the student.
	ByNumber bool `json:"by_number,omitempty"`
}

// Find looks for students in all published runs, in the history, and in data files that are listed in neither, and
// reports where their rows are. It changes nothing. The rules of package erase decide which rows belong to the
// students. A name matches if each of its words is the beginning of a word in the student's names, so that "Ruth M"
// finds Ruth Miller. Accents, apostrophes, hyphens and dots do not matter.
func Find(ctx context.Context, catalog snapshot.Catalog, opts FindOptions) (*FindReport, error) {
	if len(opts.Bids) == 0 && len(opts.Numbers) == 0 && len(nameOf(opts.Name).whole) == 0 {
		return nil, errors.New("find: no students were given")
	}
	f := &finder{catalog: catalog, opts: opts, students: make(map[string]*FoundStudent), report: &FindReport{Students: []*FoundStudent{}}, unreadable: make(erase.Set)}
	if err := f.listSources(ctx); err != nil {
		return nil, err
	}
	defer func() { f.report.Unreadable = f.unreadable.Sorted() }()
	for _, bid := range opts.Bids {
		f.add(bid, false)
	}
	if len(opts.Bids) == 0 {
		if err := f.identify(ctx); err != nil {
			return nil, err
		}
	}
	if err := f.describe(ctx); err != nil {
		return nil, err
	}
	if err := f.addNumbered(ctx); err != nil {
		return nil, err
	}
	found := append(f.sorted(), f.numbered...)
	if len(found) > maxFound && len(opts.Bids) > 0 {
		owners, err := f.owners(ctx)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(s *FoundStudent) bool { return !intersects(s.forms, owners) })
	}
	if len(found) <= maxFound {
		if err := f.locate(ctx, found); err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(s *FoundStudent) bool { return len(s.Places) == 0 })
		if err := f.countShared(ctx, found); err != nil {
			return nil, err
		}
	}
	f.report.Students = append(f.report.Students, found...)
	return f.report, nil
}

// finder is the state of one search.
type finder struct {
	catalog  snapshot.Catalog
	opts     FindOptions
	sources  []findSource
	students map[string]*FoundStudent // by each form of the bid
	report   *FindReport
	// bare contains, for each found row without a bid, the set of its numbers. numbered are the students without a bid.
	bare     []erase.Set
	numbered []*FoundStudent
	// unreadable are data files, listed neither in a run nor in the history, that cannot be read or whose table is
	// unknown.
	unreadable erase.Set
}

// findSource is a run, the history, or the files that are listed in neither.
type findSource struct {
	place  FoundPlace
	tables map[string]snapshot.ManifestTable
	// named is true if the rows contain names. pseudonyms is true if their identifiers are pseudonyms. known is true if
	// the identifiers are not pseudonyms, or if the key of the pseudonyms was given.
	named, pseudonyms, known bool
	// unnamed is true for the files that are listed neither in a run nor in the history.
	unnamed bool
}

// listSources lists the runs to search, the history, and the data files that are listed in neither. All files are
// listed first, because a run may be published while listSources is running.
func (f *finder) listSources(ctx context.Context) error {
	listed, err := sink.ListAll(ctx, f.catalog, "")
	if err != nil {
		return err
	}
	runs, unreadable, err := f.catalog.PublishedRuns(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return fmt.Errorf("find: cannot list the files of a run: %w", err)
	}
	add := func(place FoundPlace, tables map[string]snapshot.ManifestTable, profile schemas.Profile, key string) {
		s := findSource{place: place, tables: tables, named: !profile.NeedsKey(), pseudonyms: profile.NeedsKey()}
		s.known = !s.pseudonyms || f.opts.Key != nil && f.opts.Key.Fingerprint() == key
		if !s.known || f.opts.Name != "" && !s.named {
			f.report.Unsearchable++
		}
		f.sources = append(f.sources, s)
	}
	ordered := slices.SortedFunc(maps.Values(runs), func(a, b *snapshot.Manifest) int {
		return cmp.Or(strings.Compare(a.SnapshotDate, b.SnapshotDate), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.RunID, b.RunID))
	})
	for _, m := range ordered {
		if m.Status == snapshot.Published {
			add(FoundPlace{Kind: m.Kind, SnapshotDate: m.SnapshotDate, RunID: m.RunID}, m.Tables, m.Parameters.Profile(), m.Parameters.PrivacyKey)
			f.report.Runs++
		}
	}
	current, err := f.catalog.ReadHistory(ctx)
	if err != nil {
		return err
	}
	var history *snapshot.HistoryManifest
	if current != nil {
		f.report.History, history = true, current.Manifest
		add(FoundPlace{}, history.Tables, schemas.Profile(cmp.Or(history.Scope.Privacy, string(schemas.Full))), history.Scope.PrivacyKey)
	}
	maps.DeleteFunc(runs, func(_ string, m *snapshot.Manifest) bool { return m.Status != snapshot.Published })
	others, err := findOtherFiles(ctx, f.catalog, listed, runs, history)
	if err != nil {
		return err
	}
	f.report.Unknown = others.unknown
	if f.report.Unnamed = len(others.data); f.report.Unnamed == 0 {
		return nil
	}
	tables := make(map[string]snapshot.ManifestTable)
	for _, path := range others.data {
		table, dataset, err := tableOf(ctx, f.catalog, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound): // the file was removed
			continue
		case err != nil || dataset == nil:
			f.unreadable[path] = true
			continue
		}
		t := tables[table.Name]
		t.Files = append(t.Files, sink.File{Path: path})
		tables[table.Name] = t
	}
	f.sources = append(f.sources, findSource{tables: tables, named: true, known: true, unnamed: true})
	return nil
}

// read reads a file of a source. An unlisted file that cannot be read is added to unreadable instead of causing an
// error.
func (f *finder) read(
	ctx context.Context, s *findSource, path string, table *schemas.Table, pick func(*schemas.Table) *schemas.Table, use func(*rows.Batch) error,
) error {
	err := erase.ReadFile(ctx, f.catalog, path, table, pick, use)
	if err == nil || !s.unnamed || ctx.Err() != nil {
		return err
	}
	if !errors.Is(err, sink.ErrNotFound) { // otherwise the file was removed
		f.unreadable[path] = true
	}
	return nil
}

// add adds the student with a bid, or with a pseudonym of a bid, unless the student was already added.
func (f *finder) add(bid string, pseudonym bool) {
	if f.students[bid] != nil {
		return
	}
	s := &FoundStudent{Bid: bid, Pseudonym: pseudonym, forms: erase.SetOf(bid), gives: make(erase.Set), Names: []string{}, Numbers: []string{}, Schools: []string{}, Places: []FoundPlace{}}
	if !pseudonym && f.opts.Key != nil {
		form := f.opts.Key.Pseudonym("student", bid)
		s.forms[form] = true
		if known := f.students[form]; known != nil { // the student was found in another run
			known.Bid, known.Pseudonym, known.forms[bid] = bid, false, true
			s = known
		}
	}
	for form := range s.forms {
		f.students[form] = s
	}
}

// sorted returns the students in the order of their bids, without duplicates.
func (f *finder) sorted() []*FoundStudent {
	all := slices.Collect(maps.Values(f.students))
	slices.SortFunc(all, func(a, b *FoundStudent) int { return strings.Compare(a.Bid, b.Bid) })
	return slices.Compact(all)
}

// personColumns are the columns that are searched for a student's name or number.
var personColumns = []string{"first_name", "middle_name", "last_name", "student_id", "state_student_id", "district_student_id"}

// eachPerson calls use with the bids, names and numbers of each row of the tables about students.
func (f *finder) eachPerson(ctx context.Context, use func(s *findSource, p person)) error {
	names := slices.Concat(schemas.StudentColumns(), personColumns, []string{"requested_school_bid"})
	for i := range f.sources {
		s := &f.sources[i]
		for _, table := range schemas.Tables() {
			if table.Column("student_bid") < 0 || !slices.ContainsFunc(personColumns, func(c string) bool { return table.Column(c) >= 0 }) {
				continue
			}
			for _, file := range s.tables[table.Name].Files {
				err := f.read(ctx, s, file.Path, table, erase.SelectText(names...), func(batch *rows.Batch) error {
					for i := range batch.N {
						use(s, personIn(batch, i))
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// person is the student that a row is about, as the row describes the student.
type person struct {
	bids, numbers []string
	name, school  string
}

func personIn(batch *rows.Batch, i int) person {
	p := person{school: erase.TextOf(batch, i, "requested_school_bid")}
	for _, name := range schemas.StudentColumns() {
		if bid := erase.TextOf(batch, i, name); bid != "" {
			p.bids = append(p.bids, bid)
		}
	}
	var words []string
	for _, name := range personColumns {
		switch text := erase.TextOf(batch, i, name); {
		case text == "":
		case strings.HasSuffix(name, "_name"):
			words = append(words, text)
		default:
			p.numbers = append(p.numbers, text)
		}
	}
	p.name = strings.Join(words, " ")
	return p
}

// identify finds the bids of the students who have one of the requested numbers or the requested name, and collects the
// numbers in matching rows that have no bid.
func (f *finder) identify(ctx context.Context) error {
	numbers := erase.SetOf(f.opts.Numbers...)
	if f.opts.Key != nil {
		for _, number := range f.opts.Numbers {
			numbers[f.opts.Key.Pseudonym("student_number", number)] = true
		}
	}
	wanted := nameOf(f.opts.Name)
	return f.eachPerson(ctx, func(s *findSource, p person) {
		if !slices.ContainsFunc(p.numbers, func(n string) bool { return numbers[n] }) && (len(wanted.whole) == 0 || !wanted.matches(nameOf(p.name))) {
			return
		}
		if len(p.bids) == 0 {
			f.bare = append(f.bare, f.identifying(s, p.numbers))
		}
		for _, bid := range p.bids {
			f.add(bid, s.pseudonyms)
		}
	})
}

// describe collects the names, numbers and schools of the students from all rows with their bids.
func (f *finder) describe(ctx context.Context) error {
	names, numbers, schools := make(map[*FoundStudent]erase.Set), make(map[*FoundStudent]erase.Set), make(map[*FoundStudent]erase.Set)
	put := func(sets map[*FoundStudent]erase.Set, s *FoundStudent, text string) {
		if sets[s] == nil {
			sets[s] = make(erase.Set)
		}
		if text != "" {
			sets[s][text] = true
		}
	}
	err := f.eachPerson(ctx, func(source *findSource, p person) {
		for _, bid := range p.bids {
			s := f.students[bid]
			if s == nil {
				continue
			}
			put(names, s, p.name)
			put(schools, s, p.school)
			for _, number := range p.numbers {
				if erase.Identifies([]byte(number)) {
					s.gives[number] = true
				}
				if !source.pseudonyms {
					put(numbers, s, number)
				}
			}
		}
	})
	for _, s := range f.sorted() {
		s.Names, s.Numbers, s.Schools = names[s].Sorted(), numbers[s].Sorted(), schools[s].Sorted()
	}
	return err
}
