package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// listedStudents are the students of a purge.
type listedStudents struct {
	bids []string // in clear, sorted
	// texts are the values that stand for them in rows: bids, and pseudonyms under the key of the purge. Every run is
	// searched for both, because no pseudonym is also a bid.
	texts set
}

func listStudents(bids []string, key *privacy.Key) listedStudents {
	l := listedStudents{bids: slices.Compact(slices.Sorted(slices.Values(bids))), texts: make(set)}
	for _, bid := range l.bids {
		l.texts[bid] = true
		if key != nil {
			l.texts[key.Pseudonym("student", bid)] = true
		}
	}
	return l
}

// matched counts the listed students that were seen.
func (l *listedStudents) matched(seen set, key *privacy.Key) int {
	n := 0
	for _, bid := range l.bids {
		if seen[bid] || key != nil && seen[key.Pseudonym("student", bid)] {
			n++
		}
	}
	return n
}

// isOf reports whether an earlier purge was of the same list.
func (l *listedStudents) isOf(asked *AskedStudents, key *privacy.Key) bool {
	return asked != nil && asked.Listed == len(l.bids) && privacy.KeyOfList(l.bids, asked.Digest, asked.Key, key) != nil
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
	p.students = listStudents(p.opts.Students, p.opts.Key)
	entries, err := sink.ListAll(ctx, p.catalog, snapshot.PurgesPrefix)
	if err != nil {
		return asked, nil, err
	}
	for _, entry := range entries {
		byName := asked.EndedFor == "" && len(p.students.bids) == 0
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
			if report.State == purgeBegun { // a finished purge may have had other schools
				asked = report.Asked
			}
		case !p.students.isOf(report.Asked.Students, p.opts.Key):
			continue
		default:
			asked.Students = &AskedStudents{Students: report.Asked.Students.Students, Key: report.Asked.Students.Key}
			asked.Students.Matched = nil
		}
		same = append(same, report)
	}
	if len(p.students.bids) > 0 && asked.Students == nil {
		asked.Students = &AskedStudents{Students: snapshot.Students{Listed: len(p.students.bids)}}
		key := p.opts.Key
		if key == nil {
			key, asked.Students.Key = privacy.NewKey()
		}
		asked.Students.Digest = key.ListDigest(p.students.bids)
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
	if len(p.students.bids) == 0 {
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
		return &KeyNeededError{Fingerprints: p.otherKeys.sorted()}
	}
	p.report.NotReached = p.notReached()
	return nil
}

// summarizeStudents reports how many of the students were found. Unpublished runs may hold them too and cannot be
// searched, so they are dropped.
func (p *purger) summarizeStudents() error {
	matched := p.students.matched(p.seen, p.opts.Key)
	p.report.Asked.Students.Matched = &matched
	if matched == 0 && p.report.Earlier == nil && !p.opts.AllowUnknown {
		return &UnknownBidsError{Students: len(p.students.bids)}
	}
	p.report.DroppedRuns = append(p.report.DroppedRuns, slices.Sorted(maps.Values(p.unfinished))...)
	return nil
}
