package history_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestEarlierFormats folds snapshots in the format of an earlier release, whose files lack columns, between others. A
// value that only moves from _extra to its column does not begin a version.
func TestEarlierFormats(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	result := func(bid, subject string, more record) record {
		r := record{"requested_school_bid": "s", "test_result_bid": bid, "subject_area": subject}
		maps.Copy(r, more)
		return r
	}
	old := record{"_extra": `{"administrationEndDateTime":"1970-01-01T00:00:00.000001Z","rit":200}`}
	current := record{"rit": "200", "administration_end_date_time": "1"}
	lower := record{"_extra": `{"rit":190}`}
	worlds := [][]record{
		{result("kept", "math", old), result("edited", "math", old), result("odd", "math", record{"_extra": `{"x":1}`}), result("raised", "math", lower)},
		{result("kept", "math", old), result("edited", "math", old), result("odd", "math", record{"_extra": `{"x":1}`}), result("raised", "math", lower)},
		{result("kept", "math", current), result("edited", "reading", current), result("odd", "math", record{"_extra": `{"x":2}`}), result("raised", "math", current)},
		{result("kept", "math", old), result("edited", "reading", old), result("odd", "math", record{"_extra": `{"x":2}`}), result("raised", "math", old)},
		{result("kept", "math", record{"rit": "201", "administration_end_date_time": "1"}), result("edited", "reading", current), result("odd", "math", record{"_extra": `{"x":2}`}), result("raised", "math", current)},
	}
	want := [][]string{ // bids of the versions that have ended
		nil,
		nil,
		{"edited", "odd", "raised"},
		{"edited", "odd", "raised"},
		{"edited", "odd", "raised", "kept"},
	}
	var nights []*night
	for i, world := range worlds {
		n := nightOf(i, []string{"1"}, 0)
		n.world["test_results"] = world
		if i != 2 && i != 4 {
			n.lacks = []string{"rit", "administration_end_date_time", "percentile"}
			n.world["test_result_norms"][0]["_extra"] = `{"percentile":1}`
			delete(n.world["test_result_norms"][0], "percentile")
		}
		n.world["test_result_norms"][0]["test_result_bid"] = "kept"
		require.NoError(t, n.publish(t.Context(), store))
		nights = append(nights, n)
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err)
		versions, manifest := readHistory(t, store)
		var ended []string
		for _, v := range versions {
			if v.validTo != snapshot.Open && v.table != "coverage" {
				require.Equal(t, "changed", v.because)
				ended = append(ended, v.bid)
				if v.bid == "raised" {
					require.Contains(t, v.row, "190", "the version has the value that _extra held")
					require.NotContains(t, v.row, "{")
				}
			}
		}
		require.ElementsMatch(t, want[i], ended, "night %d", i)
		require.Equal(t, i < 2, history.Mixed(t.Context(), snapshot.At(store), manifest)["test_results"])
		if len(n.lacks) == 0 {
			for _, name := range []string{"test_results", "test_result_norms"} {
				var valid, wanted []string
				for _, v := range versions {
					if v.table == name && v.validTo == snapshot.Open {
						valid = append(valid, v.row)
					}
				}
				table, _, _ := schemas.FindTable(name)
				for _, r := range n.rows(name) {
					wanted = append(wanted, text(table, r))
				}
				require.ElementsMatch(t, wanted, valid, "%s on night %d", name, i)
			}
		}
	}

	before := historyFiles(t, root)
	_, err := update(t.Context(), t, store, true)
	require.NoError(t, err)
	require.Equal(t, before, historyFiles(t, root), "a rebuild makes the same files")

	var manifests []*snapshot.Manifest
	for _, n := range nights[1:3] {
		m, err := snapshot.At(store).ReadManifest(t.Context(), n.run)
		require.NoError(t, err)
		manifests = append(manifests, m)
	}
	found, err := history.Diff(t.Context(), snapshot.At(store), manifests[0], manifests[1])
	require.NoError(t, err)
	require.EqualValues(t, 1, found.Tables["test_results"].Same)
	require.EqualValues(t, 3, found.Tables["test_results"].Changed)
	require.EqualValues(t, 1, found.Tables["test_result_norms"].Same)
}
