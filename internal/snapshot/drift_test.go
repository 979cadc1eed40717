package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDriftSums checks that if there are too many fields, the most frequent ones are counted separately, in whatever
// order they are added.
func TestDriftSums(t *testing.T) {
	t.Parallel()
	var all []Drift
	for i := range MaxDriftFields + 5 {
		name := fmt.Sprintf("f%04d", i)
		all = append(all, Drift{Table: "a", Field: name, Kind: "unknown_field", Count: 1}, Drift{Table: "b", Field: name, Kind: "unknown_field", Count: 1})
	}
	// The last field by name has two kinds of drift, which makes it the most frequent of its table.
	last := all[len(all)-1]
	last.Kind = "type_mismatch"
	all = append(all, last, Drift{Table: "b", Field: OtherFields, Kind: "type_mismatch", Count: 3}, Drift{Table: "c", Field: "x", Kind: "unknown_field", Count: 7})

	var sums, reversed DriftSums
	for i := range all {
		sums.Add(all[i])
		reversed.Add(all[len(all)-1-i])
	}
	got := sums.List()
	require.Equal(t, got, reversed.List())
	require.Equal(t, got, sums.List(), "listing does not change the sums")
	require.True(t, slices.IsSortedFunc(got, Drift.Compare))

	fields := map[string]map[string]int64{"a": {}, "b": {}, "c": {}}
	for _, d := range got {
		fields[d.Table][d.Field] += d.Count
	}
	require.Len(t, fields["a"], MaxDriftFields+1)
	require.EqualValues(t, 5, fields["a"][OtherFields])
	require.NotContains(t, fields["a"], "f1000")
	require.Len(t, fields["b"], MaxDriftFields+1)
	require.EqualValues(t, 2, fields["b"]["f1004"])
	require.EqualValues(t, 3+5, fields["b"][OtherFields])
	require.Equal(t, map[string]int64{"x": 7}, fields["c"])
}

// TestDriftSumsAreBounded adds more fields than a DriftSums can hold.
func TestDriftSumsAreBounded(t *testing.T) {
	t.Parallel()
	var sums DriftSums
	for i := range 300_000 {
		sums.Add(Drift{Table: "a", Field: fmt.Sprint("f", i), Kind: "unknown_field", Count: 1})
		require.LessOrEqual(t, len(sums.counts), 3*minDriftCounts)
	}
	got := sums.List()
	require.Len(t, got, MaxDriftFields+1)
	require.Equal(t, Drift{Table: "a", Field: OtherFields, Kind: "unknown_field", Count: 300_000 - MaxDriftFields}, got[0])
}
