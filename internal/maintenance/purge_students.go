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
	"example.org/growthexport/schemas"
)

// isOf reports whether a purge was asked for this list of students.
func (p *purger) isOf(asked *AskedStudents) bool {
	listed := p.students.Listed()
	return asked != nil && asked.ByNumber == p.students.ByNumber && asked.Listed == len(listed) && asked.Digest != "" &&
		privacy.KeyOfList(listed, asked.Digest, asked.Key, p.opts.Key) != nil
}

// learnNumbers finds the numbers that rows of the listed students give, in runs and in the history. Rows without a bid are
// found by them.
func (p *purger) learnNumbers(ctx context.Context) error {
	if p.students == nil {
		return nil
	}
	for _, run := range slices.Sorted(maps.Keys(p.runs)) {
		given, err := p.numbersIn(ctx, p.runs[run].Tables)
		if err := p.unlessPruned(ctx, run, err); err != nil {
			return fmt.Errorf("look for student numbers in run %s: %w", run, err)
		}
		p.gives[run] = given
	}
	current, err := p.catalog.ReadHistory(ctx)
	if current != nil && err == nil {
		p.gives[""], err = p.numbersIn(ctx, current.Manifest.Tables)
	}
	if err != nil && !errors.Is(err, sink.ErrDamaged) { // which the search reports
		return fmt.Errorf("look for student numbers in the history: %w", err)
	}
	for _, numbers := range p.gives {
		p.students.Learn(numbers)
	}
	return nil
}

// numbersIn returns the numbers that rows of the students give in some tables.
func (p *purger) numbersIn(ctx context.Context, tables map[string]snapshot.ManifestTable) (erase.Set, error) {
	var files []purgeFile
	for _, table := range schemas.Tables() {
		if erase.GivesNumbers(table) {
			for _, file := range tables[table.Name].Files {
				files = append(files, purgeFile{table: table, file: file})
			}
		}
	}
	target := &erase.Target{Students: p.students}
	given, err := sink.Map(ctx, verifyConcurrency, files, func(ctx context.Context, f purgeFile) (erase.Set, error) {
		var match *erase.Match
		pick := func(own *schemas.Table) *schemas.Table {
			columns := erase.TextColumns(own)
			match = target.NewMatch(columns, f.table, nil, make(erase.Records))
			return columns
		}
		err := erase.ReadFile(ctx, p.catalog, f.file.Path, f.table, pick, func(batch *rows.Batch) error {
			for i := range batch.N {
				match.Owner(batch, i)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return match.Gives, nil
	})
	all := make(erase.Set)
	for _, numbers := range given {
		maps.Copy(all, numbers)
	}
	return all, err
}

// inOrder returns the runs that lose rows, in an order in which a purge that is killed can be finished: a run that gives
// a number comes after the runs in which rows without a bid have that number. The history, which comes last, gives the
// numbers of its snapshots.
func (p *purger) inOrder() []string {
	runs := slices.Sorted(maps.Keys(p.found))
	var order []string
	for len(runs) > 0 {
		next := slices.IndexFunc(runs, func(run string) bool {
			return !slices.ContainsFunc(runs, func(other string) bool { return other != run && p.onlyGives(run, other, runs) })
		})
		next = max(next, 0)
		order = append(order, runs[next])
		runs = slices.Delete(runs, next, next+1)
	}
	return order
}

// onlyGives reports whether a run gives a number that another one needs, and no other of the runs left gives.
func (p *purger) onlyGives(run, other string, left []string) bool {
	for number := range p.needs[other] {
		given := p.gives[""][number] || slices.ContainsFunc(left, func(r string) bool { return r != run && p.gives[r][number] })
		if p.gives[run][number] && !given {
			return true
		}
	}
	return false
}

// ask returns what the purge is asked to remove, and the reports of earlier purges that were asked the same, oldest
// first. The report of a killed purge of ended schools names the schools; otherwise the caller finds them.
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
		if !strings.HasSuffix(entry.Path, ".json") || byName && !strings.HasSuffix(entry.Path, "-"+asked.id()+".json") {
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
			if report.State != purgeDone { // a finished purge may have had other schools
				asked = report.Asked
			}
		case !p.isOf(report.Asked.Students):
			continue
		default:
			again := *report.Asked.Students
			again.Matched = nil
			asked.Students = &again
		}
		same = append(same, report)
	}
	if p.students != nil && asked.Students == nil {
		listed := p.students.Listed()
		asked.Students = &AskedStudents{Students: snapshot.Students{Listed: len(listed)}, ByNumber: p.students.ByNumber}
		key := p.opts.Key
		if key == nil {
			key, asked.Students.Key = privacy.NewKey()
		}
		asked.Students.Digest = key.ListDigest(listed)
	}
	return asked, same, nil
}

// KeyNeededError means that runs hold pseudonyms of students, and that the purge does not have their key.
type KeyNeededError struct {
	// Fingerprints identify the keys of the runs.
	Fingerprints []string
}

func (e *KeyNeededError) Error() string {
	return "runs hold pseudonyms of students under the privacy key with the fingerprint " + strings.Join(e.Fingerprints, ", ")
}

// checkKeys returns a *KeyNeededError if runs or the history hold pseudonyms, but none under the given key. If only some
// are under other keys, these are left to another purge.
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
	if len(p.otherKeys) > 0 && !fits {
		return &KeyNeededError{Fingerprints: p.otherKeys.Sorted()}
	}
	p.report.NotReached = p.notReached()
	return nil
}

// summarizeStudents reports how many of the students were found. Unpublished runs may hold them too and cannot be
// searched, so they are dropped.
func (p *purger) summarizeStudents() error {
	matched := p.students.Matched(p.seen)
	p.report.Asked.Students.Matched = &matched
	if matched == 0 && p.report.Earlier == nil && !p.opts.AllowUnknown {
		return &UnknownBidsError{Students: len(p.students.Listed())}
	}
	p.report.DroppedRuns = append(p.report.DroppedRuns, slices.Sorted(maps.Values(p.unfinished))...)
	return nil
}
