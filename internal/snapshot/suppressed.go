package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// SuppressedPath is the path of the suppression list.
const SuppressedPath = PurgesPrefix + "suppressed.json"

// SuppressionList is _purges/suppressed.json: the students whom runs leave out, because a purge has erased them. It
// holds digests under the privacy key, so readers without the key cannot identify the students.
type SuppressionList struct {
	FormatVersion int `json:"format_version"`
	// Keys maps the fingerprint of a privacy key to the students whose digests were made with that key. A run leaves
	// out the students listed under its own key.
	Keys map[string]SuppressedStudents `json:"keys"`
}

// SuppressedStudents are the students of a suppression list who are known by digests under one privacy key.
type SuppressedStudents struct {
	Students []SuppressedStudent `json:"students"` // sorted
	// Purges are the ids of the purges whose students are, or were, on the list.
	Purges []string `json:"purges"`
}

// SuppressedStudent is a student of a suppression list.
type SuppressedStudent struct {
	// Bid is the digest of the student's bid. It is empty if the student was listed by number.
	Bid string `json:"bid,omitempty"`
	// Numbers are the digests of the student's numbers, sorted. They identify rows without a bid.
	Numbers []string `json:"numbers,omitempty"`
}

// Suppression describes, in the documents of a run, the suppression list that the run follows, and in the records of a
// purge, the list to which the purge has added its students.
type Suppression struct {
	// Listed is the number of students on the list, and Matched the number of those whom the service still lists. Matched
	// is nil in a purge, and before the run is published.
	Listed  int  `json:"listed"`
	Matched *int `json:"matched,omitempty"`
	// Key is the fingerprint of the privacy key.
	Key string `json:"key_fingerprint"`
	// SHA256 is the hash of the list.
	SHA256 string `json:"sha256"`
	// Purges are the ids of the purges whose students are, or were, on the list.
	Purges []string `json:"purges,omitempty"`
}

// Same reports whether two runs leave out the same students. A run without a list leaves out no students.
func (s *Suppression) Same(other *Suppression) bool {
	if s.empty() || other.empty() {
		return s.empty() && other.empty()
	}
	return s.Key == other.Key && s.SHA256 == other.SHA256
}

func (s *Suppression) empty() bool { return s == nil || s.Listed == 0 }

// String describes the list for messages.
func (s *Suppression) String() string {
	if s.empty() {
		return "no students"
	}
	return fmt.Sprintf("%s under the privacy key %s, list %.12s", wording.Many(s.Listed, "student"), s.Key, s.SHA256)
}

// Describe returns the description of the students of a key for the documents of a run.
func (s SuppressedStudents) Describe(fingerprint string) (*Suppression, error) {
	data, err := EncodeDocument(s.Students)
	if err != nil {
		return nil, err
	}
	return &Suppression{Listed: len(s.Students), Key: fingerprint, SHA256: sink.Hash(data), Purges: s.Purges}, nil
}

// has reports whether a student is on the list with all of the student's numbers.
func (s SuppressedStudents) has(student SuppressedStudent) bool {
	return slices.ContainsFunc(s.Students, func(other SuppressedStudent) bool {
		return other.Bid == student.Bid &&
			!slices.ContainsFunc(student.Numbers, func(number string) bool { return !slices.Contains(other.Numbers, number) })
	})
}

// HasBid reports whether a student whose bid has this digest is on the list.
func (s SuppressedStudents) HasBid(digest string) bool {
	return slices.ContainsFunc(s.Students, func(other SuppressedStudent) bool { return other.Bid == digest })
}

// isSame reports whether two entries belong to the same student: they have the same bid or, if they have no bids, a
// number in common.
func (s SuppressedStudent) isSame(other SuppressedStudent) bool {
	return s.Bid == other.Bid && (s.Bid != "" || slices.ContainsFunc(s.Numbers, func(number string) bool {
		return slices.Contains(other.Numbers, number)
	}))
}

// with returns the list with one more student, or with more numbers for a student who is already on it.
func (s SuppressedStudents) with(student SuppressedStudent) SuppressedStudents {
	var students []SuppressedStudent
	for _, other := range s.Students {
		if student.isSame(other) {
			student.Numbers = slices.Concat(student.Numbers, other.Numbers)
			continue
		}
		students = append(students, other)
	}
	student.Numbers = slices.Compact(slices.Sorted(slices.Values(student.Numbers)))
	students = append(students, student)
	slices.SortFunc(students, func(a, b SuppressedStudent) int {
		return cmp.Or(strings.Compare(a.Bid, b.Bid), slices.Compare(a.Numbers, b.Numbers))
	})
	s.Students = students
	return s
}

// ReadSuppressed returns the students whom runs with a privacy key leave out.
func (c Catalog) ReadSuppressed(ctx context.Context, fingerprint string) (SuppressedStudents, error) {
	list, _, err := c.readSuppressionList(ctx)
	if err != nil {
		return SuppressedStudents{}, err
	}
	return list.Keys[fingerprint], nil
}

// CountSuppressed counts the students of the suppression list, by the fingerprint of the privacy key that runs need to
// leave them out.
func (c Catalog) CountSuppressed(ctx context.Context) (map[string]int, error) {
	list, _, err := c.readSuppressionList(ctx)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for key, s := range list.Keys {
		if len(s.Students) > 0 {
			counts[key] = len(s.Students)
		}
	}
	return counts, nil
}

// readSuppressionList returns the list, which is empty if the document is missing. A damaged list is an error, because
// without it erased students would be exported again.
func (c Catalog) readSuppressionList(ctx context.Context) (*SuppressionList, string, error) {
	list, version, err := ReadDocument[SuppressionList](ctx, c, SuppressedPath)
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return &SuppressionList{FormatVersion: FormatVersion, Keys: make(map[string]SuppressedStudents)}, "", nil
	case errors.Is(err, sink.ErrDamaged):
		return nil, "", &wording.AdvisedError{
			Err: err, Advice: "restore it from a backup, or remove it and purge again all students who must not come back",
		}
	case err != nil:
		return nil, "", err
	}
	if list.Keys == nil {
		list.Keys = make(map[string]SuppressedStudents)
	}
	return list, version, nil
}

// Suppress adds students to the suppression list of a privacy key, and the purges to the list's purges. It returns how
// many of the students were new. A dry run changes nothing.
func (c Catalog) Suppress(
	ctx context.Context, fingerprint string, students []SuppressedStudent, purges []string, dryRun bool,
) (added int, err error) {
	err = c.changeSuppressed(ctx, fingerprint, dryRun, func(s SuppressedStudents) SuppressedStudents {
		added = 0
		for _, student := range students {
			if !s.has(student) {
				before := len(s.Students)
				s = s.with(student)
				added += max(0, len(s.Students)-before)
			}
		}
		s.Purges = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Purges, purges))))
		return s
	})
	return added, err
}

// SharedNumberError reports that several students on a suppression list have the same number, so that the number does
// not identify one of them.
type SharedNumberError struct {
	// Students maps the index of a given student to how many students on the list have the given number.
	Students map[int]int
}

func (e *SharedNumberError) Error() string {
	return fmt.Sprintf("several students on the suppression list have the same number (%s given)", wording.Many(len(e.Students), "such number"))
}

// Unsuppress takes students off the suppression list of a privacy key. Each student is given by digests of a bid or
// number, most specific first. The first digest that is on the list counts. It returns how many students were taken
// off, and which of the given ones were on the list. If several students have a given number, it changes nothing and
// returns a *SharedNumberError, unless the bids of all these students, if any, are given too.
func (c Catalog) Unsuppress(ctx context.Context, fingerprint string, students [][]string, dryRun bool) (taken int, found []bool, err error) {
	var shared map[int]int
	err = c.changeSuppressed(ctx, fingerprint, dryRun, func(s SuppressedStudents) SuppressedStudents {
		byBid, gone := make(map[int]bool), make(map[int]bool) // by the index on the list
		found, shared = make([]bool, len(students)), make(map[int]int)
		having := make([][]int, len(students)) // indexes of the students who have the number
		for i, digests := range students {
			for _, digest := range digests {
				if at := slices.IndexFunc(s.Students, func(l SuppressedStudent) bool { return l.Bid == digest }); at >= 0 {
					byBid[at], gone[at], found[i] = true, true, true
					// A bid on the list may also be the number by which a student without a bid is listed.
					for other, listed := range s.Students {
						alone := func(number string) bool { return slices.Contains(listed.Numbers, number) }
						if listed.Bid == "" && slices.ContainsFunc(digests, alone) {
							gone[other] = true
						}
					}
					break
				}
				for at, listed := range s.Students {
					if slices.Contains(listed.Numbers, digest) {
						having[i] = append(having[i], at)
					}
				}
				if len(having[i]) > 0 {
					break
				}
			}
		}
		for i, of := range having {
			for _, at := range of {
				if len(of) > 1 && s.Students[at].Bid != "" && !byBid[at] {
					shared[i] = len(of)
				}
				gone[at], found[i] = true, true
			}
		}
		if taken = len(gone); len(shared) > 0 {
			return s
		}
		var left []SuppressedStudent
		for at, listed := range s.Students {
			if !gone[at] {
				left = append(left, listed)
			}
		}
		s.Students = left
		return s
	})
	if err == nil && len(shared) > 0 {
		err = &SharedNumberError{Students: shared}
	}
	return taken, found, err
}

// ErrNotRetired means that RetireSuppressed did not change the list of the retired key.
var ErrNotRetired = errors.New("nothing was changed")

// RetireSuppressed empties the suppression list of a privacy key that runs no longer use, once its students are on the
// list of another key. It returns the number of students that were on the emptied list. It cannot check that both lists
// contain the same students, because it lacks the retired key. Unless fewer is set, it refuses to empty a list with
// more students than the other list.
func (c Catalog) RetireSuppressed(ctx context.Context, fingerprint, retired string, fewer, dryRun bool) (students int, err error) {
	records, err := c.purgeRecords(ctx)
	if err != nil {
		return 0, err
	}
	err = sink.Swap(ctx, SuppressedPath, func() error {
		list, version, err := c.readSuppressionList(ctx)
		if err != nil {
			return err
		}
		missing, err := c.missingLists(ctx, list)
		if err != nil {
			return err
		}
		old, own := list.Keys[retired], list.Keys[fingerprint]
		students = len(old.Students)
		for _, p := range missing {
			if p.Key == retired {
				students = p.Students
			}
		}
		purges := old.Purges
		for _, record := range records {
			if record.Suppressed != nil && record.Suppressed.Key == retired {
				purges = append(purges, record.ID)
			}
		}
		switch {
		case students == 0 && len(purges) == 0:
			return fmt.Errorf("%w: no students are on the suppression list of the key %s", ErrNotRetired, retired)
		case students > len(own.Students) && !fewer:
			return fmt.Errorf("%w: the suppression list of the key %s has %s, but the list of the key %s has %s", ErrNotRetired,
				fingerprint, wording.Many(len(own.Students), "student"), retired, wording.Many(students, "student"))
		case dryRun:
			return nil
		}
		own.Students = orEmpty(own.Students)
		own.Purges = slices.Compact(slices.Sorted(slices.Values(slices.Concat(own.Purges, purges))))
		list.Keys[fingerprint] = own
		// The key stays, so that runs do not consider its list lost.
		list.Keys[retired] = SuppressedStudents{Students: []SuppressedStudent{}, Purges: []string{}}
		return WriteDocument(ctx, c.store, SuppressedPath, list, sink.Condition{Absent: version == "", Version: version})
	})
	return students, err
}

// changeSuppressed replaces the students of a privacy key in one step, even if other processes change the list at the
// same time. A dry run only calls change.
func (c Catalog) changeSuppressed(
	ctx context.Context, fingerprint string, dryRun bool, change func(SuppressedStudents) SuppressedStudents,
) error {
	return sink.Swap(ctx, SuppressedPath, func() error {
		list, version, err := c.readSuppressionList(ctx)
		if err != nil {
			return err
		}
		was := list.Keys[fingerprint]
		s := change(was)
		if dryRun || slices.EqualFunc(was.Students, s.Students, func(a, b SuppressedStudent) bool {
			return a.Bid == b.Bid && slices.Equal(a.Numbers, b.Numbers)
		}) && slices.Equal(was.Purges, s.Purges) {
			return nil
		}
		s.Students, s.Purges = orEmpty(s.Students), orEmpty(s.Purges)
		list.Keys[fingerprint] = s
		return WriteDocument(ctx, c.store, SuppressedPath, list, sink.Condition{Absent: version == "", Version: version})
	})
}

// PurgedStudents counts students who were purged from the destination, or put on its suppression list, but whom a run
// cannot leave out: if the service still lists them, they are exported again.
type PurgedStudents struct {
	Date     string `json:"purged_on,omitempty"` // the day, if it is known
	Students int    `json:"students"`            // the number of students
	// Key is the fingerprint of the privacy key of their suppression list. It is empty if they are not on any list.
	Key string `json:"key_fingerprint,omitempty"`
	// Missing is true if the list, which a purge made, is missing, or is older or newer than the list that runs followed.
	// Otherwise, the run does not have the key.
	Missing bool `json:"list_missing,omitempty"`
	// Purges are the ids of the purges whose students were on the missing list.
	Purges []string `json:"purges,omitempty"`
}

// Because explains why the students cannot be left out, and says what to do.
func (p PurgedStudents) Because() string {
	switch {
	case p.Missing:
		return "the suppression list with the key fingerprint " + p.Key + ", which an earlier purge made, is missing or lacks students: restore " +
			SuppressedPath + " from a backup, if there is one; then purge the same students again with that key, because snapshots made without the list may hold them"
	case p.Key != "":
		return "the run does not have the privacy key with the fingerprint " + p.Key +
			": set that key for all runs, then purge the same students again, because snapshots made without it may hold them. If the key was replaced or lost, " +
			"purge them with the new key and " + wording.Setting("allow-unknown").String() + ", then run " + wording.Command("purge", wording.Setting("retire-key"), p.Key)
	default:
		return "they are on no suppression list: purge the same students again with the privacy key"
	}
}

// String describes the students, and says what to do if they must not come back.
func (p PurgedStudents) String() string {
	text := wording.Many(p.Students, "student")
	if p.Date != "" {
		text += " purged on " + p.Date
	}
	return text + " may be exported again: " + p.Because()
}

// keylessWarningDays is the number of days for which runs warn about a purge without a privacy key. The students of
// such a purge are on no list, so it is unknown whether they have come back.
const keylessWarningDays = 30

// PurgedStudents counts, by day, the students who were purged from the destination and whom a run with this privacy key
// (or without a key, if the fingerprint is empty) cannot leave out. The counts come from the reports of purges and from
// the suppression list or, if these have been removed, from the newest snapshots and the history.
func (c Catalog) PurgedStudents(ctx context.Context, fingerprint string, now time.Time) ([]PurgedStudents, error) {
	records, err := c.purgeRecords(ctx)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r purgeRecord) bool {
		return r.Asked.Students == nil || r.Asked.Students.Matched != nil && *r.Asked.Students.Matched == 0
	})
	list, _, err := c.readSuppressionList(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.missingLists(ctx, list)
	if err != nil {
		return nil, err
	}
	missing := len(found) > 0
	days, purged := make(map[string][]string), make(map[string]int) // of the purges of each list
	notListed := make(map[string]int)                               // students by the day of their purge
	for _, record := range records {
		students, listed := record.Asked.Students.count(), false
		for key, s := range list.Keys {
			if slices.Contains(s.Purges, record.ID) {
				days[key] = append(days[key], record.day())
				purged[key] += students
				listed = true
			}
		}
		switch {
		case listed, missing && record.Suppressed != nil:
		case record.Suppressed == nil && record.at().AddDate(0, 0, keylessWarningDays).Before(now):
		default:
			notListed[record.day()] += students
		}
	}
	for day, students := range notListed {
		found = append(found, PurgedStudents{Date: day, Students: students})
	}
	for key, s := range list.Keys {
		if key == fingerprint || len(s.Students) == 0 {
			continue
		}
		of := PurgedStudents{Students: len(s.Students), Key: key}
		if dates := slices.Compact(slices.Sorted(slices.Values(days[key]))); len(dates) == 1 && purged[key] >= of.Students {
			of.Date = dates[0]
		}
		found = append(found, of)
	}
	slices.SortFunc(found, func(a, b PurgedStudents) int {
		return cmp.Or(strings.Compare(a.Date, b.Date), strings.Compare(a.Key, b.Key))
	})
	return found, nil
}

// missingLists counts, by key, the students of suppression lists that are missing. The newest snapshots and the history
// show which students these are: those whom a run left out or warned about, or whom a purge removed. A list is missing
// if the document no longer has its key, or has fewer students and lacks purges: the list was lost and started again,
// or an older one was restored. Unsuppress keeps the purges in the list. Retiring a key keeps only the key.
func (c Catalog) missingLists(ctx context.Context, list *SuppressionList) ([]PurgedStudents, error) {
	before := make(map[string]int)
	purges := make(map[string][]string)
	note := func(key string, students int, of []string) {
		held, has := list.Keys[key]
		lacks := func(id string) bool { return !slices.Contains(held.Purges, id) }
		retired := has && len(held.Purges) == 0
		other := len(held.Students) < students && slices.ContainsFunc(of, lacks)
		if key != "" && (!has || other && !retired) {
			before[key], purges[key] = max(before[key], students), append(purges[key], of...)
		}
	}
	noteList := func(s *Suppression) {
		if !s.empty() {
			note(s.Key, s.Listed, s.Purges)
		}
	}
	for _, kind := range []Kind{Full, AsOf} {
		newest, err := c.Newest(ctx, kind, func(*Manifest) bool { return true })
		if err != nil {
			return nil, err
		}
		if newest == nil {
			continue
		}
		noteList(newest.Parameters.Suppressed)
		for _, p := range newest.Parameters.NotSuppressed {
			note(p.Key, p.Students, p.Purges)
		}
		for i := range newest.Purges {
			noteList(newest.Purges[i].Suppressed)
		}
	}
	switch history, err := c.ReadHistory(ctx); {
	case Unreadable(err): // verify reports it
	case err != nil:
		return nil, err
	case history != nil:
		for i := range history.Manifest.Purges {
			noteList(history.Manifest.Purges[i].Suppressed)
		}
	}
	var missing []PurgedStudents
	for key, students := range before {
		missing = append(missing, PurgedStudents{Students: students, Key: key, Missing: true, Purges: slices.Compact(slices.Sorted(slices.Values(purges[key])))})
	}
	return missing, nil
}

// PurgesLike returns the ids of earlier purges of a list of students. Purges without a privacy key have no digest, so
// every such purge of the same number of students counts.
func (c Catalog) PurgesLike(ctx context.Context, listed int, digest string, byNumber bool) ([]string, error) {
	records, err := c.purgeRecords(ctx)
	var ids []string
	for _, record := range records {
		s := record.Asked.Students
		if s != nil && s.ByNumber == byNumber && s.Listed == listed && (s.Digest == digest || record.Suppressed == nil) {
			ids = append(ids, record.ID)
		}
	}
	return ids, err
}
