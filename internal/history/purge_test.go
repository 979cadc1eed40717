package history_test

import (
	"cmp"
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

// without returns the night as it would have been without a school.
func (n *night) without(school string) *night {
	other := *n
	other.schools = slices.DeleteFunc(slices.Clone(n.schools), func(s string) bool { return s == school })
	other.world = make(map[string][]record)
	for name, list := range n.world {
		other.world[name] = slices.DeleteFunc(slices.Clone(list), func(r record) bool { return r["requested_school_bid"] == school })
	}
	return &other
}

// TestPurgedHistory purges a school from a history of random nights and compares it with a history of nights without
// the school: immediately, after a rebuild, after another night, and after that night is replaced.
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

// rowsOf returns the versions of a history without the reasons, which may refer to purged rows.
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

// changeOwners gives every result a school and a student, some of them different from the night before.
func changeOwners(random *rand.Rand, nights []*night) {
	schools, owners := schoolNames(), make(map[string]record)
	for _, n := range nights {
		for i, r := range n.world["test_results"] {
			result := cmp.Or(r["test_result_bid"], "nameless "+strconv.Itoa(i%4))
			if owners[result] == nil || random.IntN(3) == 0 {
				owners[result] = record{
					"school_bid":  schools[random.IntN(len(schools))],
					"student_bid": "student " + strconv.Itoa(random.IntN(3)),
				}
			}
			maps.Copy(r, owners[result])
		}
	}
}

// TestPurgedOwners purges a school, or a student, that owned results on some nights only. A rebuild gives the same
// versions, so no rows are lost for nights on which they had other owners. The same is true if the newest night is
// replaced first.
func TestPurgedOwners(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 5))
			nights := randomNights(random, 6)
			if seed%3 == 0 { // only owners change
				nights[4].schools, nights[4].status, nights[4].datasets = nights[3].schools, nights[3].status, nights[3].datasets
				for name, list := range nights[3].world {
					nights[4].world[name] = nil
					for _, r := range list {
						nights[4].world[name] = append(nights[4].world[name], maps.Clone(r))
					}
				}
			}
			changeOwners(random, nights)
			options := maintenance.PurgeOptions{
				Schools: schoolNames()[:1], ToolVersion: "1.0.0", Now: snapshottest.PublishedAt,
				Workspace: func() (sink.Store, func() error, error) { return sink.NewWorkspace(t.TempDir()) },
			}
			if seed%2 == 1 {
				options.Schools, options.Students = nil, []string{"student 1"}
			}
			report := requireRebuilt(t, nights, options)
			require.Positive(t, report.History.RowsRemoved["test_results"])
		})
	}
}

// TestClearedExtra purges a student who is mentioned in _extra of other students' rows. Some versions differ only in
// _extra. A rebuild gives the same versions.
func TestClearedExtra(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 6))
			nights := randomNights(random, 6)
			extras := []string{"", "", `{"note":1}`, `{"peer":"mentioned"}`, `{"peers":["mentioned",2]}`, `{"peers":["mentioned",3]}`}
			for _, n := range nights {
				for _, list := range n.world {
					for _, r := range list {
						if extra := extras[random.IntN(len(extras))]; extra != "" {
							r["_extra"] = extra
						}
					}
				}
			}
			report := requireRebuilt(t, nights, maintenance.PurgeOptions{Students: []string{"mentioned"}, ToolVersion: "1.0.0", Now: snapshottest.PublishedAt})
			for _, table := range []string{"students", "test_results", "test_result_norms"} {
				require.Positive(t, report.History.ExtraRemoved[table], table)
			}
		})
	}
}

// TestClearedExtraAcrossPages purges a student from rows with the same key on more than one page of a file. Some rows
// on the last page then begin earlier than some on the first, and the file is sorted again.
func TestClearedExtraAcrossPages(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	for i := range 2 {
		n := &night{date: dateOf(i), run: "run-" + strconv.Itoa(i), datasets: []string{"test_results"}, schools: []string{"school"}, world: make(map[string][]record)}
		add := func(name, extra string) {
			for j := range 4500 {
				n.world["test_results"] = append(n.world["test_results"], record{
					"requested_school_bid": "school", "student_bid": name + strconv.Itoa(j), "_extra": extra,
				})
			}
		}
		if i == 1 {
			add("new", `{"note":1}`)
		}
		add("old", `{"peers":["mentioned",`+strconv.Itoa(i)+`]}`)
		require.NoError(t, n.publish(t.Context(), store))
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err)
	}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), maintenance.PurgeOptions{
		Students: []string{"mentioned"}, ToolVersion: "1.0.0", Now: snapshottest.PublishedAt,
	})
	require.NoError(t, err)
	require.EqualValues(t, 2*4500, report.History.ExtraRemoved["test_results"])
	sorted := func() []version {
		return slices.SortedFunc(slices.Values(rowsOf(t, store)), func(a, b version) int { return cmp.Compare(a.table+a.row, b.table+b.row) })
	}
	got := sorted()
	_, err = update(t.Context(), t, store, true)
	require.NoError(t, err)
	require.Equal(t, sorted(), got)
}

// requireRebuilt purges a history of all nights but the last, and expects the same versions from a rebuild, and again
// after the newest night was replaced by the last one.
func requireRebuilt(t *testing.T, nights []*night, options maintenance.PurgeOptions) *maintenance.PurgeReport {
	t.Helper()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	fold := func(rebuild bool) {
		_, err := update(t.Context(), t, store, rebuild)
		require.NoError(t, err)
	}
	last := len(nights) - 1
	for _, n := range nights[:last] {
		require.NoError(t, n.publish(t.Context(), store))
		fold(false)
	}
	report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	replaced := snapshottest.NewDir(t, snapshottest.CopyTree(t, root))
	for _, store = range []*sink.Dir{store, replaced} {
		if store == replaced {
			again := *nights[last]
			again.date = nights[last-1].date
			require.NoError(t, again.publish(t.Context(), store))
			fold(false)
		}
		checked, err := maintenance.VerifyHistory(t.Context(), snapshot.At(store))
		require.NoError(t, err)
		require.Empty(t, checked.Problems)
		got := rowsOf(t, store)
		for _, v := range got {
			require.Less(t, v.validFrom, v.validTo, "%+v", v)
		}
		fold(true)
		require.ElementsMatch(t, rowsOf(t, store), got)
	}
	return report
}
