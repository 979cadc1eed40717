package snapshot_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestSuppressTogether adds students from many processes at once: in the end, each of them is on the list once.
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

	found, err := catalog.Unsuppress(t.Context(), "key", [][]string{{"bid-03"}, {"bid-50", "number-50"}, {"number-04"}}, true)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false}, found, "a student listed by bid is taken off by bid")
	found, err = catalog.Unsuppress(t.Context(), "key", [][]string{{"bid-03"}}, false)
	require.NoError(t, err)
	require.Equal(t, []bool{true}, found)
	list, err = catalog.ReadSuppressed(t.Context(), "key")
	require.NoError(t, err)
	require.Len(t, list.Students, 12)
	require.Len(t, list.Purges, 12, "the purges stay, so that no run warns of them")
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

// TestDamagedSuppressionList expects an error: without the list, students would come back.
func TestDamagedSuppressionList(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.NoError(t, store.Write(t.Context(), snapshot.SuppressedPath, []byte("{"), sink.Condition{}))
	_, err := snapshot.At(store).ReadSuppressed(t.Context(), "key")
	require.ErrorIs(t, err, sink.ErrDamaged)
	require.ErrorContains(t, err, "restore it from a backup")
}

// TestPurgedStudents checks which purges a run warns of because it cannot leave out their students, and for how long.
func TestPurgedStudents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const proof = `{"id": %q, "asked": {"students": {"listed": 4, "matched": %d%s}}, "finished_at": "2026-11-01T12:00:00Z"%s}`
	const listed = `, "suppressed": {"key_fingerprint": "aaaa"}`
	for name, test := range map[string]struct {
		proofs []string
		list   string
		key    string
		after  int // days
		want   []snapshot.PurgedStudents
	}{
		"never purged": {},
		"on the list":  {proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", key: "aaaa", after: 400},
		"another key": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p", key: "bbbb", after: 400,
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2, Key: "aaaa"}},
		},
		"no key": {
			proofs: []string{fmt.Sprintf(proof, "p", 2, "", listed)}, list: "p",
			want: []snapshot.PurgedStudents{{Date: "2026-11-01", Students: 2, Key: "aaaa"}},
		},
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
				_, err := catalog.Suppress(t.Context(), "aaaa", nil, []string{test.list}, false)
				require.NoError(t, err)
			}
			got, err := catalog.PurgedStudents(t.Context(), test.key, at.AddDate(0, 0, test.after))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
