package history_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// without returns the night as it would have been if the service did not know a school.
func (n *night) without(school string) *night {
	other := *n
	other.schools = slices.DeleteFunc(slices.Clone(n.schools), func(s string) bool { return s == school })
	other.world = make(map[string][]record)
	for name, list := range n.world {
		other.world[name] = slices.DeleteFunc(slices.Clone(list), func(r record) bool { return r["requested_school_bid"] == school })
	}
	return &other
}

// TestPurgedHistory purges a school from a history of random nights and compares it with a history of nights without the
// school: at once, after a rebuild, after another night and after that night is replaced.
func TestPurgedHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 3))
			nights := randomNights(random, 6)
			names := schoolNames()
			gone := names[random.IntN(len(names))]
			var others []*night
			for _, n := range nights {
				if len(n.schools) == 1 {
					n.schools = names
				}
				others = append(others, n.without(gone))
			}
			root := t.TempDir()
			purged, other := snapshottest.NewDir(t, root), snapshottest.NewDir(t, t.TempDir())
			fold := func(store sink.Store, n *night) {
				require.NoError(t, n.publish(t.Context(), store))
				_, err := update(t.Context(), t, store, false)
				require.NoError(t, err)
			}
			same := func(when string) {
				got, want := rowsOf(t, purged), rowsOf(t, other)
				require.ElementsMatch(t, want, got, when)
				report, err := maintenance.VerifyHistory(t.Context(), snapshot.At(purged))
				require.NoError(t, err)
				require.Empty(t, report.Problems)
			}
			for i := range 5 {
				fold(purged, nights[i])
				fold(other, others[i])
			}
			report := purge(t, purged, gone, 0)
			require.Positive(t, report.History.RowsRemoved["coverage"])
			require.Positive(t, report.LedgerRowsRemoved)
			same("after the purge")
			_, err := update(t.Context(), t, purged, true)
			require.NoError(t, err)
			same("after a rebuild")

			fold(purged, nights[5])
			fold(other, nights[5])
			same("after another night")
			before := historyFiles(t, root)
			_, err = update(t.Context(), t, purged, true)
			require.NoError(t, err)
			require.Equal(t, before, historyFiles(t, root))

			purge(t, purged, gone, 1)
			again := *nights[5]
			again.run, again.world = "run-again", nights[4].world
			fold(purged, &again)
			fold(other, &again)
			same("after the last night was replaced")
		})
	}
}

func purge(t *testing.T, store sink.Store, school string, day int) *maintenance.PurgeReport {
	t.Helper()
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), maintenance.PurgeOptions{
		Schools: []string{school}, ToolVersion: "1.0.0", Now: func() time.Time { return snapshottest.PublishedAt().AddDate(0, 0, day) },
	})
	require.NoError(t, err)
	h, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	for _, folded := range h.Manifest.Snapshots {
		pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](t.Context(), store, snapshot.PointerPath(snapshot.Full, folded.Date))
		require.NoError(t, err)
		require.Equal(t, pointer.ManifestSHA256, folded.ManifestSHA256)
	}
	return report
}

// rowsOf returns the versions of a history without the reasons, which may speak of purged rows.
func rowsOf(t *testing.T, store sink.Store) []version {
	t.Helper()
	versions, _ := readHistory(t, store)
	for i := range versions {
		versions[i].because = ""
	}
	return versions
}

// TestPurgedParts purges every school that begins a part: a rebuild makes the same files under other names.
func TestPurgedParts(t *testing.T) {
	t.Parallel()
	nights := randomNights(rand.New(rand.NewPCG(1, 4)), 3)
	for _, n := range nights {
		n.schools, n.datasets = schoolNames(), []string{"districts", "schools", "students", "test_results"}
	}
	for _, gone := range schoolNames() {
		t.Run(gone, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			for _, n := range nights {
				require.NoError(t, n.publish(t.Context(), store))
				_, err := update(t.Context(), t, store, false)
				require.NoError(t, err)
			}
			hashes := func() map[string][]string {
				_, manifest := readHistory(t, store)
				found := make(map[string][]string)
				for name, table := range manifest.Tables {
					for _, file := range table.Files {
						found[name] = append(found[name], file.SHA256)
					}
				}
				return found
			}
			full := hashes()
			purge(t, store, gone, 0)
			got := hashes()
			require.NotEqual(t, full, got)
			require.Equal(t, full["districts"], got["districts"])
			_, err := update(t.Context(), t, store, true)
			require.NoError(t, err)
			want := hashes()
			require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
			require.Equal(t, want["students"], got["students"])
			require.Equal(t, want["coverage"], got["coverage"])
		})
	}
}
