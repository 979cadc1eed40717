package maintenance

import (
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
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// isOf reports whether a report belongs to a purge of this list of students. The report of a purge without a privacy
// key has no digest. For such a report, isOf returns true if the purge was killed, and the method continues decides
// once the rows are counted.
func (p *purger) isOf(r *PurgeReport) bool {
	asked := r.Asked.Students
	if asked == nil || asked.ByNumber != p.students.ByNumber || asked.Listed != len(p.students.Listed()) {
		return false
	}
	if asked.Digest == "" {
		return r.State == purgeBegun
	}
	return asked.Digest == p.digest()
}

// digest returns the digest of the list of students, or "" without a privacy key.
func (p *purger) digest() string {
	if p.opts.Key == nil {
		return ""
	}
	return p.opts.Key.ListDigest(p.students.Listed())
}

// continues reports whether the purge has the same list as the killed purge that it resumes. The rows already changed
// and the rows left must add up to the rows that the killed purge was about to change. Runs that were published after
// the killed purge began do not count.
func (p *purger) continues() bool {
	r := p.report
	if !r.resumed || r.planned == nil {
		return true
	}
	earlier := maps.Clone(p.all)
	maps.DeleteFunc(earlier, func(_ string, m *snapshot.Manifest) bool { return m.PublishedAt.After(r.BegunAt) })
	counts := PurgeReport{ID: r.ID}
	counts.countChanges(earlier)
	for run, m := range earlier {
		if found, ok := p.found[run]; ok {
			counts.add(m, found)
		}
	}
	return maps.Equal(counts.changed(), r.planned)
}

// learnNumbers finds the numbers in the rows of the listed students, in runs and in the history. Rows without a bid are
// found by these numbers and may contain further numbers, so the search is repeated until it finds no new numbers.
func (p *purger) learnNumbers(ctx context.Context) error {
	if p.students == nil {
		return nil
	}
	for learned := true; learned; {
		learned = false
		for _, run := range slices.Sorted(maps.Keys(p.runs)) {
			found, err := p.numbersIn(ctx, p.runs[run].Tables)
			if err := p.unlessPruned(ctx, run, err); err != nil {
				return fmt.Errorf("look for student numbers in run %s: %w", run, err)
			}
			learned = p.learn(found) || learned
		}
		current, err := p.catalog.ReadHistory(ctx)
		if current != nil && err == nil {
			var found []numbersFound
			found, err = p.numbersIn(ctx, current.Manifest.Tables)
			learned = p.learn(found) || learned
		}
		if err != nil && !errors.Is(err, sink.ErrDamaged) { // if the history is damaged, the search for rows reports it
			return fmt.Errorf("look for student numbers in the history: %w", err)
		}
	}
	return nil
}

// numbersFound are the numbers that were found in a file.
type numbersFound struct {
	// given are the numbers in rows of the students.
	given map[string]erase.Given
	// own are the listed bids and numbers that own rows. ofOthers are the listed bids and numbers that are the number of a
	// student with another bid.
	own, ofOthers erase.Set
	// carriers maps each number by which rows are found to the students with a bid who have it.
	carriers map[string]erase.Set
}

// learn adds the numbers that were found to the search, and reports whether the search may now find more rows.
func (p *purger) learn(found []numbersFound) bool {
	all, carriers := make(map[string]erase.Given), make(map[string]erase.Set)
	for _, f := range found {
		erase.AddGiven(all, f.given)
		maps.Copy(p.own, f.own)
		maps.Copy(p.ofOthers, f.ofOthers)
		for number, bids := range f.carriers {
			for bid := range bids {
				erase.Put(carriers, number, bid)
			}
		}
	}
	for number, bids := range carriers { // not the sum, because another run may contain pseudonyms of the same students
		p.carriers[number] = max(p.carriers[number], len(bids))
	}
	return p.students.Learn(all)
}

// numbersIn returns, for each file of the given tables, the numbers that were found in the file.
func (p *purger) numbersIn(ctx context.Context, tables map[string]snapshot.ManifestTable) ([]numbersFound, error) {
	var files []purgeFile
	for _, table := range schemas.Tables() {
		if erase.GivesNumbers(table) {
			for _, file := range tables[table.Name].Files {
				files = append(files, purgeFile{table: table, file: file})
			}
		}
	}
	target := &erase.Target{Students: p.students}
	return sink.Map(ctx, scanConcurrency, files, func(ctx context.Context, f purgeFile) (numbersFound, error) {
		found := numbersFound{own: make(erase.Set), ofOthers: make(erase.Set), carriers: make(map[string]erase.Set)}
		var match *erase.Match
		pick := func(own *schemas.Table) *schemas.Table {
			columns := erase.TextColumns(own)
			match = target.NewMatch(columns, f.table, nil, make(erase.Records))
			return columns
		}
		err := erase.ReadFile(ctx, p.catalog, f.file.Path, f.table, pick, func(batch *rows.Batch) error {
			for i := range batch.N {
				match.Carriers(batch, i, found.carriers)
				if _, own := match.Owner(batch, i); own {
					match.Owners(found.own)
				} else {
					match.NumbersOfOthers(batch, i, found.ofOthers)
				}
			}
			return nil
		})
		if match != nil {
			found.given = match.Gives
		}
		return found, err
	})
}

// purgeRuns removes the rows that were found in runs. Rows that were found by a number are removed from all runs before
// the rows that associate the number with the student, so that they can still be found if the purge is killed and
// resumed. For disturbed, see changeAndVerify.
func (p *purger) purgeRuns(ctx context.Context) (disturbed, err error) {
	levels := p.deepest
	for least := levels; ; least-- {
		if levels > 0 {
			p.students.Least = least
			if err := p.survey(ctx); err != nil {
				return disturbed, err
			}
			if err := p.findRows(ctx, nil); err != nil {
				return disturbed, err
			}
		}
		for _, run := range slices.Sorted(maps.Keys(p.found)) {
			err := p.purgeRun(ctx, run)
			switch {
			case errors.Is(err, sink.ErrConflict), errors.Is(err, sink.ErrStagedLost):
				disturbed = errors.Join(disturbed, err)
			case err != nil && !p.isPruned(ctx, run, err):
				return disturbed, err
			}
		}
		if least == 0 {
			return disturbed, nil
		}
	}
}

// ask returns the request of the purge, and the reports of earlier purges with the same request, oldest first. For a
// purge of ended schools, the schools come from the report of a killed purge. If there is no such report, the caller
// has to find the schools.
func (p *purger) ask(ctx context.Context) (asked PurgeAsked, same []*PurgeReport, err error) {
	asked = PurgeAsked{
		Schools:   slices.Compact(slices.Sorted(slices.Values(p.opts.Schools))),
		Districts: slices.Compact(slices.Sorted(slices.Values(p.opts.Districts))),
	}
	if p.opts.EndedForDays > 0 {
		asked.EndedFor = fmt.Sprintf("%dd", p.opts.EndedForDays)
	}
	switch {
	case len(p.opts.Students) > 0:
		p.students = erase.NewStudents(p.opts.Students, false, p.opts.Key)
	case len(p.opts.StudentNumbers) > 0:
		p.students = erase.NewStudents(p.opts.StudentNumbers, true, p.opts.Key)
	}
	entries, err := sink.ListAll(ctx, p.catalog, snapshot.PurgesPrefix)
	if err != nil {
		return asked, nil, err
	}
	for _, entry := range entries {
		byName := asked.EndedFor == "" && p.students == nil
		if !snapshot.IsPurgeReport(entry.Path) || byName && !strings.HasSuffix(entry.Path, "-"+asked.id()+".json") {
			continue
		}
		report, _, err := snapshot.ReadDocument[PurgeReport](ctx, p.catalog, entry.Path)
		if err != nil {
			return asked, nil, err
		}
		switch {
		case byName:
		case asked.EndedFor != "":
			if report.Asked.EndedFor != asked.EndedFor {
				continue
			}
			if report.State != purgeDone { // the schools of a finished purge may differ
				asked = report.Asked
			}
		case !p.isOf(report):
			continue
		}
		same = append(same, report)
	}
	if p.students != nil {
		asked.Students = &AskedStudents{Listed: len(p.students.Listed()), Digest: p.digest(), ByNumber: p.students.ByNumber}
	}
	return asked, same, nil
}

// inOtherForms returns the listed bids that differ from the bid of a student only in case or hyphens. It reads the
// tables about students in the runs that contain bids rather than pseudonyms.
func (p *purger) inOtherForms(ctx context.Context, listed []string) ([]string, error) {
	if len(listed) == 0 || p.students.ByNumber {
		return nil, nil
	}
	form := func(bid string) string { return strings.ToLower(strings.ReplaceAll(bid, "-", "")) }
	wanted, found := make(erase.Set), make(erase.Set)
	for _, bid := range listed {
		wanted[form(bid)] = true
	}
	column := schemas.StudentColumns()[0]
	for _, run := range slices.Sorted(maps.Keys(p.runs)) {
		for _, table := range schemas.Tables() {
			if !erase.GivesNumbers(table) || table.Column(column) < 0 || p.runs[run].Parameters.PrivacyKey != "" {
				continue
			}
			for _, file := range p.runs[run].Tables[table.Name].Files {
				err := erase.ReadFile(ctx, p.catalog, file.Path, table, erase.SelectText(column), func(batch *rows.Batch) error {
					for i := range batch.N {
						if bid := form(erase.TextOf(batch, i, column)); wanted[bid] {
							found[bid] = true
						}
					}
					return nil
				})
				if err != nil && !errors.Is(err, sink.ErrNotFound) {
					return nil, err
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(listed), func(bid string) bool { return !found[form(bid)] }), nil
}

// HasBidError means that listed numbers belong only to rows of students with a bid. A purge by number would not erase
// any of these rows.
type HasBidError struct {
	// Numbers are the listed numbers. They must not be logged.
	Numbers []string
}

func (e *HasBidError) Error() string {
	return wording.Many(len(e.Numbers), "listed number") + " found only in rows of students with a bid"
}

// NotIDError means that listed bids or numbers occur only in columns that do not contain such ids of students. The
// listed texts may be names, or bids of something other than a student. A purge could erase rows that merely mention
// them.
type NotIDError struct {
	// Listed are the bids or numbers. They must not be logged.
	Listed []string
	// ByNumber is true if the students were listed by number.
	ByNumber bool
	// Columns are the columns in which the listed texts occur, as table.column.
	Columns []string
}

func (e *NotIDError) Error() string {
	kind := "bid"
	if e.ByNumber {
		kind = "number"
	}
	return wording.Many(len(e.Listed), "listed "+kind) + " found only in columns that do not hold ids of students: " + strings.Join(e.Columns, ", ")
}

// NotAloneError means that listed texts do not match any row and contain more than a bid or number, such as quotes,
// braces or a whole line of a table. On the suppression list, such texts would have no effect.
type NotAloneError struct {
	// Listed are the texts. They must not be logged.
	Listed []string
}

func (e *NotAloneError) Error() string {
	return wording.Many(len(e.Listed), "listed text") + " not consisting of just a bid or number"
}

// isAlone reports whether a text may consist of just a bid or number. It returns false only for a bid or number of the
// usual form to which a spreadsheet or program has added something, such as quotes.
func isAlone(text string) bool {
	value := strings.TrimLeft(text, "\"'{")
	if end := strings.IndexAny(value, "\"'},;\t"); end >= 0 {
		value = value[:end]
	}
	usual := len(value) >= 4 && strings.Trim(value, "0123456789abcdefABCDEF-") == ""
	return value == text || !usual
}

// trimStudents removes the whitespace around listed bids and numbers, except if they occur in rows with the whitespace.
// A bid may begin or end with whitespace, but whitespace at the end of a line in a list is usually a mistake.
func trimStudents(ctx context.Context, catalog snapshot.Catalog, opts PurgeOptions) (PurgeOptions, error) {
	list := &opts.Students
	if len(opts.StudentNumbers) > 0 {
		list = &opts.StudentNumbers
	}
	blank := func(text string) bool {
		_, differs := privacy.WithoutBlanks(text)
		return differs
	}
	if !slices.ContainsFunc(*list, blank) {
		return opts, nil
	}
	asWritten := slices.DeleteFunc(slices.Clone(*list), func(text string) bool { return !blank(text) })
	search := opts
	search.DryRun = true
	if len(opts.StudentNumbers) > 0 {
		search.StudentNumbers = asWritten
	} else {
		search.Students = asWritten
	}
	p, err := newPurger(ctx, catalog, search)
	if err == nil {
		err = p.survey(ctx)
	}
	if err == nil {
		err = p.findAndCount(ctx)
	}
	if err != nil {
		return opts, err
	}
	occur := erase.SetOf(p.students.Among(p.seen)...)
	trimmed := slices.Clone(*list)
	for i, text := range trimmed {
		if !occur[text] {
			trimmed[i], _ = privacy.WithoutBlanks(text)
		}
	}
	*list = trimmed
	return opts, nil
}

// KeyNeededError means that runs contain pseudonyms of students, and that the purge does not have the key of these
// pseudonyms.
type KeyNeededError struct {
	// Fingerprints identify the keys of the runs.
	Fingerprints []string
}

func (e *KeyNeededError) Error() string {
	keys := "the privacy key with the fingerprint "
	if len(e.Fingerprints) > 1 {
		keys = "the privacy keys with the fingerprints "
	}
	return "runs hold pseudonyms of students under " + keys + strings.Join(e.Fingerprints, ", ")
}

// PseudonymError means that listed texts are pseudonyms, with which the students cannot be found in all exports at the
// destination. Some exports contain the bids themselves, or pseudonyms under another key.
type PseudonymError struct {
	Listed []string // must not be logged
}

func (e *PseudonymError) Error() string { return "the list holds pseudonyms of students" }

// checkKeys returns a *KeyNeededError if runs or the history contain pseudonyms for which the purge needs another key.
// A purge without a key cannot search for pseudonyms. A purge with a key leaves rows under other keys to another purge,
// but only if there are also rows under its own key or rows with bids. If AllowUnknown is set, it leaves such rows in
// any case, so that students can be added to the suppression list of a new key.
func (p *purger) checkKeys(ctx context.Context) error {
	if p.students == nil {
		return nil
	}
	given := ""
	if p.opts.Key != nil {
		given = p.opts.Key.Fingerprint()
	}
	fits := false
	need := func(fingerprint string) {
		switch fingerprint {
		case "":
			p.clear = true
		case given:
			fits = true
		default:
			p.otherKeys[fingerprint] = true
		}
	}
	for _, m := range p.runs {
		need(m.Parameters.PrivacyKey)
	}
	history, err := p.catalog.ReadHistory(ctx)
	if err != nil && !errors.Is(err, sink.ErrDamaged) {
		return err
	}
	if history != nil {
		need(history.Manifest.Scope.PrivacyKey)
	}
	if len(p.otherKeys) > 0 && !fits && (given == "" || !p.clear && !p.opts.AllowUnknown) {
		return &KeyNeededError{Fingerprints: p.otherKeys.Sorted()}
	}
	p.report.OtherKeys, p.report.NotReached = p.otherKeys.Sorted(), p.notReached()
	return nil
}

// summarizeStudents adds to the report how many of the students were found, or returns an error if the list must be
// corrected first. It also adds all unfinished runs to DroppedRuns, because they may contain the students but cannot be
// searched.
func (p *purger) summarizeStudents(ctx context.Context) error {
	own := p.students.Among(p.own)
	others := slices.DeleteFunc(p.students.Among(p.ofOthers), func(text string) bool { return slices.Contains(own, text) })
	if len(others) > 0 {
		return &HasBidError{Numbers: others}
	}
	if listed, columns := p.students.OnlyElsewhere(p.occurs); len(listed) > 0 {
		return &NotIDError{Listed: listed, ByNumber: p.students.ByNumber, Columns: columns}
	}
	pseudonyms := slices.DeleteFunc(slices.Clone(p.students.Listed()), func(text string) bool { return !p.pseudonyms[text] })
	if len(pseudonyms) > 0 && (p.clear || len(p.otherKeys) > 0) {
		return &PseudonymError{Listed: pseudonyms}
	}
	p.report.RowsByNumber = p.byNumber
	for number := range p.numbers {
		if n := p.carriers[number]; n > 1 {
			p.report.NumberStudents = max(p.report.NumberStudents, n)
		}
	}
	found := p.students.Among(p.seen)
	matched := len(found)
	p.report.Asked.Students.Matched = &matched
	if p.report.Earlier == nil {
		p.report.Unmatched = slices.DeleteFunc(slices.Clone(p.students.Listed()), func(text string) bool { return slices.Contains(found, text) })
	}
	if wrong := slices.DeleteFunc(slices.Clone(p.report.Unmatched), isAlone); len(wrong) > 0 {
		return &NotAloneError{Listed: wrong}
	}
	var err error
	if p.report.OtherForms, err = p.inOtherForms(ctx, p.report.Unmatched); err != nil {
		return err
	}
	if matched == 0 && p.report.Earlier == nil && !p.opts.AllowUnknown {
		return &UnknownBidsError{Students: len(p.students.Listed()), OtherForms: p.report.OtherForms}
	}
	p.report.DroppedRuns = append(p.report.DroppedRuns, slices.Sorted(maps.Values(p.unfinished))...)
	return nil
}
