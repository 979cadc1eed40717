package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
)

// TestNearlyText checks the reasons why a school that lacks some of its datasets is not chosen.
func TestNearlyText(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]maintenance.NearlyEnded{
		"for only 47 days, not 60d":                                                                {Snapshots: 2, Days: 47},
		"but only one snapshot shows it":                                                           {Snapshots: 1},
		"but a request failed on f, so it is not certain":                                          {Snapshots: 2, NotCounted: 1, LastFailed: "f"},
		"but no snapshot since then requested all of its datasets (not counted: 2 snapshots)":      {NotCounted: 2},
		"but only one snapshot since then requested all of its datasets (not counted: 1 snapshot)": {Snapshots: 1, NotCounted: 1},
		"but the 2 snapshots that since then requested all of its datasets span only 18 days, not 60d (not counted: 1 snapshot)": {
			Snapshots: 2, Days: 18, NotCounted: 1,
		},
	} {
		n.Bid, n.Since = "a", "2026-01-02"
		require.Equal(t, "a: everything denied or missing since 2026-01-02, "+want, nearlyText(&n, "60d"))
	}
}

// TestFoundText checks that the verb fits the noun before it.
func TestFoundText(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string][2]int{
		"0 of 1 listed student was found and erased":   {0, 1},
		"1 of 2 listed students was found and erased":  {1, 2},
		"0 of 2 listed students were found and erased": {0, 2},
		"2 of 2 listed students were found and erased": {2, 2},
	} {
		asked := &maintenance.AskedStudents{Listed: counts[1], Matched: &counts[0]}
		require.Equal(t, want, foundText(&maintenance.PurgeReport{Asked: maintenance.PurgeAsked{Students: asked}}))
	}
}

// TestRewrittenText checks that a run's files are counted for all tables, including those that only lost _extra.
func TestRewrittenText(t *testing.T) {
	t.Parallel()
	text := purgeText(&maintenance.PurgeReport{DryRun: true, Runs: []maintenance.PurgedRun{{
		RunID: "r", Kind: snapshot.Full, SnapshotDate: "2026-11-20", RowsRemoved: map[string]int64{"a": 1}, ExtraRemoved: map[string]int64{"a": 1, "b": 1},
		Files: []snapshot.PurgedFile{{Was: "a/1", Path: "a/2"}, {Was: "b/1", Path: "b/2"}, {Was: "a/2", Path: "a/3"}},
	}}})
	require.Contains(t, text, "run r: 2 files of 2 tables\n")
}

// TestBidText checks that whitespace at the ends of a bid is visible.
func TestBidText(t *testing.T) {
	t.Parallel()
	for bid, want := range map[string]string{"a b": "a b", "a ": `"a "`, "\ta": `"\ta"`} {
		require.Equal(t, want, bidText(bid))
	}
}
