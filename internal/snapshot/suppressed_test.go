package snapshot_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestSuppressTogether adds students from many processes at once. In the end, each student is on the list once.
func TestSuppressTogether(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	catalog := snapshot.At(store)
	student := func(i int) snapshot.SuppressedStudent {
		return snapshot.SuppressedStudent{Bid: fmt.Sprintf("bid-%02d", i), Numbers: []string{fmt.Sprintf("number-%d", i)}}
	}
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			added, err := catalog.Suppress(t.Context(), "key", []snapshot.SuppressedStudent{student(i), student(99)}, []string{fmt.Sprint("purge-", i)}, false)
			if err != nil || added == 0 {
				t.Errorf("added %d: %v", added, err)
			}
		})
	}
	group.Wait()
	list, err := catalog.ReadSuppressed(t.Context(), "key")
	require.NoError(t, err)
	require.Len(t, list.Students, 13)
	require.Len(t, list.Purges, 12)
	require.Equal(t, student(0), list.Students[0])
	other, err := catalog.ReadSuppressed(t.Context(), "other key")
	require.NoError(t, err)
	require.Empty(t, other.Students)

	taken, found, err := catalog.Unsuppress(t.Context(), "key", [][]string{{"bid-03"}, {"bid-50", "number-50"}, {"number-4"}}, true)
	require.NoError(t, err)
	require.Equal(t, 2, taken)
	require.Equal(t, []bool{true, false, true}, found, "a student listed by bid is taken off by number too")
	taken, found, err = catalog.Unsuppress(t.Context(), "key", [][]string{{"bid-03"}, {"number-4"}}, false)
	require.NoError(t, err)
	require.Equal(t, 2, taken)
	require.Equal(t, []bool{true, true}, found)
	list, err = catalog.ReadSuppressed(t.Context(), "key")
	require.NoError(t, err)
	require.Len(t, list.Students, 11)
	require.Len(t, list.Purges, 12, "the purges are kept, so that runs do not warn about them")
}

// TestUnsuppressSharedNumber refuses a number that several students on the list have, unless the bids of all of them are
// given too, and counts a student once who is given by bid and by number.
func TestUnsuppressSharedNumber(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	catalog := snapshot.At(snapshottest.NewDir(t, root))
	_, err := catalog.Suppress(t.Context(), "key", []snapshot.SuppressedStudent{
		{Bid: "a", Numbers: []string{"1", "12"}}, {Bid: "b", Numbers: []string{"12", "2"}}, {Bid: "c", Numbers: []string{"3"}}, {Numbers: []string{"12"}}, {Numbers: []string{"4"}},
	}, nil, false)
	require.NoError(t, err)
	before := snapshottest.Tree(t, root)
	for name, test := range map[string]struct {
		given  [][]string
		taken  int
		found  []bool
		shared map[int]int
	}{
		"shared":                  {given: [][]string{{"c"}, {"12"}}, shared: map[int]int{1: 3}},
		"shared, with one bid":    {given: [][]string{{"12"}, {"a"}}, shared: map[int]int{0: 3}},
		"shared, with all bids":   {given: [][]string{{"b"}, {"12"}, {"a"}}, taken: 3, found: []bool{true, true, true}},
		"bid and number":          {given: [][]string{{"a"}, {"x", "1"}, {"unknown"}}, taken: 1, found: []bool{true, true, false}},
		"a bid before any number": {given: [][]string{{"b", "12"}}, taken: 2, found: []bool{true}}, // together with the student who has only this number
		"number without a bid":    {given: [][]string{{"4"}}, taken: 1, found: []bool{true}},
	} {
		for _, dryRun := range []bool{true, false} {
			if !dryRun && test.shared == nil {
				continue // it would change the list for the others
			}
			taken, found, err := catalog.Unsuppress(t.Context(), "key", test.given, dryRun)
			if test.shared != nil {
				var shared *snapshot.SharedNumberError
				require.ErrorAs(t, err, &shared, name)
				require.Equal(t, test.shared, shared.Students, name)
			} else {
				require.NoError(t, err, name)
				require.Equal(t, test.taken, taken, name)
				require.Equal(t, test.found, found, name)
			}
			require.Equal(t, before, snapshottest.Tree(t, root), name)
		}
	}
}

// TestSuppressMoreNumbers adds numbers to a student who is on the list, and students without a bid.
func TestSuppressMoreNumbers(t *testing.T) {
	t.Parallel()
	catalog := snapshot.At(snapshottest.NewDir(t, t.TempDir()))
	add := func(students ...snapshot.SuppressedStudent) int {
		added, err := catalog.Suppress(t.Context(), "key", students, nil, false)
		require.NoError(t, err)
		return added
	}
	require.Equal(t, 1, add(snapshot.SuppressedStudent{Bid: "b", Numbers: []string{"2"}}))
	require.Equal(t, 0, add(snapshot.SuppressedStudent{Bid: "b", Numbers: []string{"1", "3"}}))
	require.Equal(t, 1, add(snapshot.SuppressedStudent{Numbers: []string{"9"}}, snapshot.SuppressedStudent{Numbers: []string{"9"}}))
	// A repeated purge no longer sees the rows that gave the other numbers.
	require.Equal(t, 1, add(snapshot.SuppressedStudent{Numbers: []string{"8", "7"}}))
	require.Equal(t, 0, add(snapshot.SuppressedStudent{Numbers: []string{"8"}}, snapshot.SuppressedStudent{Numbers: []string{"8", "6"}}))
	list, err := catalog.ReadSuppressed(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, []snapshot.SuppressedStudent{{Numbers: []string{"6", "7", "8"}}, {Numbers: []string{"9"}}, {Bid: "b", Numbers: []string{"1", "2", "3"}}}, list.Students)
}

// TestDamagedSuppressionList expects an error: without the list, a run would export erased students again.
func TestDamagedSuppressionList(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.NoError(t, store.Write(t.Context(), snapshot.SuppressedPath, []byte("{"), sink.Condition{}))
	_, err := snapshot.At(store).ReadSuppressed(t.Context(), "key")
	require.ErrorIs(t, err, sink.ErrDamaged)
	require.ErrorContains(t, err, "restore it from a backup")
}

// TestRetireSuppressed retires the list of a lost key, once its students are on the list of another key.
func TestRetireSuppressed(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	catalog := snapshot.At(store)
	const proof = `{"id": "p", "asked": {"students": {"listed": 1, "matched": 1}}, "finished_at": "2026-11-01T12:00:00Z", "suppressed": {}}`
	require.NoError(t, store.Write(t.Context(), "_purges/p.json", []byte(proof), sink.Condition{}))
	suppress := func(key string, purges ...string) {
		_, err := catalog.Suppress(t.Context(), key, []snapshot.SuppressedStudent{{Bid: "a student under " + key}}, purges, false)
		require.NoError(t, err)
	}
	warnings := func() []snapshot.PurgedStudents {
		found, err := catalog.PurgedStudents(t.Context(), "new", time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))
		require.NoError(t, err)
		return found
	}
	suppress("lost", "p")
	require.Len(t, warnings(), 1)
	_, err := catalog.RetireSuppressed(t.Context(), "new", "lost", false, false)
	require.ErrorIs(t, err, snapshot.ErrNotRetired)
	require.ErrorContains(t, err, "has 0 students, but the list of the key lost has 1 student")
	suppress("new")
	_, err = catalog.RetireSuppressed(t.Context(), "new", "unknown", false, false)
	require.ErrorContains(t, err, "no students are on the suppression list of the key unknown")
	retired, err := catalog.RetireSuppressed(t.Context(), "new", "lost", false, true)
	require.NoError(t, err)
	require.Equal(t, 1, retired)
	require.Len(t, warnings(), 1, "a dry run changes nothing")
	_, err = catalog.RetireSuppressed(t.Context(), "new", "lost", false, false)
	require.NoError(t, err)
	require.Empty(t, warnings())
	counts, err := catalog.CountSuppressed(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"new": 1}, counts)
	suppress("third")
	_, err = catalog.RetireSuppressed(t.Context(), "fourth", "third", true, false)
	require.NoError(t, err)

	// The list is lost too: only the proof has the key.
	require.NoError(t, store.Remove(t.Context(), snapshot.SuppressedPath))
	require.NoError(t, store.Write(t.Context(), "_purges/p.json", []byte(strings.Replace(proof, `{}`, `{"key_fingerprint": "lost"}`, 1)), sink.Condition{}))
	suppress("new")
	require.Len(t, warnings(), 1)
	_, err = catalog.RetireSuppressed(t.Context(), "new", "lost", false, false)
	require.NoError(t, err)
	require.Empty(t, warnings())
}

// TestPurgedStudents checks about which purges a run warns, because it cannot leave out their students, and for how
// long.
func TestPurgedStudents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const proof = `{"id": %q, "asked": {"students": {"listed": 4, "matched": %d%s}}, "finished_at": "2026-11-01T12:00:00Z"%s}`
	const listed = `, "suppressed": {"key_fingerprint": "aaaa"}`
	for name, test := range map[string]struct {
		proofs []string
		list   string
		on     int // students on the list
		key    string
		after  int // days
		want   []snapshot.PurgedStudents
	}{
		"never purged": {},
		"on the list":  {proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", key: "aaaa", after: 400},
		"another key": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", on: 2, key: "bbbb", after: 400,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2, Key: "aaaa"}},
		},
		"no key": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", on: 2,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2, Key: "aaaa"}},
		},
		"purged twice": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed), fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", on: 2,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2, Key: "aaaa"}},
		},
		"more on the list than were purged that day": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", on: 3,
			want: []snapshot.PurgedStudents{{Students: 3, Key: "aaaa"}},
		},
		"taken off the list": {proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", key: "bbbb"},
		"the list is gone": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, key: "aaaa", after: 400,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2}},
		},
		"two without a key": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", ""), fmt.Sprintf(proof, "q", 1, `, "by_number": true`, "")}, key: "aaaa", after: 30,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 3}},
		},
		"without a key, long ago": {proofs: []string{fmt.Sprintf(proof, "p", 2, "", "")}, key: "aaaa", after: 31},
		"none was found":          {proofs: []string{fmt.Sprintf(proof, "p", 0, "", listed)}, key: "bbbb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			for i, text := range test.proofs {
				require.NoError(t, store.Write(t.Context(), fmt.Sprintf("_purges/%d.json", i), []byte(text), sink.Condition{}))
			}
			catalog := snapshot.At(store)
			if test.list != "" {
				var students []snapshot.SuppressedStudent
				for i := range test.on {
					students = append(students, snapshot.SuppressedStudent{Bid: strconv.Itoa(i)})
				}
				_, err := catalog.Suppress(t.Context(), "aaaa", students, []string{test.list}, false)
				require.NoError(t, err)
			}
			got, err := catalog.PurgedStudents(t.Context(), test.key, at.AddDate(0, 0, test.after))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
