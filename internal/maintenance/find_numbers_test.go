package maintenance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestFindWithoutBid finds the rows of a student without a bid by number and by name: those that a purge by number would erase.
func TestFindWithoutBid(t *testing.T) {
	t.Parallel()
	const state, sibling = "S-4400", "88002"
	world := map[string][]snapshottest.Record{"student_school_associations": {
		{"district_student_id": plantedNumber, "state_student_id": state, "last_name": plantedName},
		{"state_student_id": state, "last_name": plantedName},
		{"district_student_id": sibling, "last_name": "Sibling", "_extra": `{"sibling":"` + plantedNumber + `"}`},
		{"student_bid": "x", "district_student_id": "N-1", "last_name": "With"},
		{"district_student_id": "N-1", "last_name": "With"},
		{"last_name": "Neither"},
		{"state_student_id": "0", "last_name": "Neither"},
	}}
	for i, r := range world["student_school_associations"] {
		r["requested_school_bid"], r["requested_perspective_bid"] = snapshottest.Stays, snapshottest.Stays
		r["student_school_association_bid"] = string(rune('a' + i))
	}
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("student_school_associations"))
	snapshottest.PublishRun(t, store, "night")
	require.NoError(t, foldHistory(t, false)(t.Context(), store))
	find := func(options maintenance.FindOptions) *maintenance.FindReport {
		options.Records = true
		report, err := maintenance.Find(t.Context(), snapshot.At(store), options)
		require.NoError(t, err)
		return report
	}
	purge := studentOptions(nil)
	purge.Students, purge.StudentNumbers, purge.DryRun = nil, []string{plantedNumber}, true
	planned, err := maintenance.Purge(t.Context(), snapshot.At(store), purge)
	require.NoError(t, err)
	require.EqualValues(t, 3, planned.RowsRemoved["student_school_associations"])
	for _, options := range []maintenance.FindOptions{
		{Numbers: []string{plantedNumber}}, {Numbers: []string{state}}, {Numbers: []string{state, plantedNumber, "unknown"}}, {Name: plantedName},
	} {
		report := find(options)
		require.Len(t, report.Students, 1)
		require.Zero(t, report.WithoutBid)
		s := report.Students[0]
		require.Empty(t, s.Bid)
		require.Equal(t, []string{plantedNumber, state}, s.Numbers)
		require.Equal(t, []string{plantedName}, s.Names)
		require.Equal(t, []string{snapshottest.Stays}, s.Schools)
		require.Len(t, s.Places, 2, "the run and the history")
		for _, place := range s.Places {
			require.EqualValues(t, 3, place.Rows)
		}
		require.Len(t, s.Records, 3)
	}

	// Rows with the number of a student with a bid belong to that student. The students of other rows cannot be told
	// apart.
	report := find(maintenance.FindOptions{Name: "With"})
	require.Len(t, report.Students, 1)
	require.Equal(t, "x", report.Students[0].Bid)
	require.EqualValues(t, 2, report.Students[0].Places[0].Rows)
	require.Zero(t, report.WithoutBid)
	report = find(maintenance.FindOptions{Name: "Neither"})
	require.Empty(t, report.Students)
	require.EqualValues(t, 4, report.WithoutBid)
}
