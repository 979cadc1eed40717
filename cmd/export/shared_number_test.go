//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestSharedNumber finds and erases a student whose number is a placeholder that others have too. All outputs
// distinguish the rows that have no bid and were found by the number alone.
func TestSharedNumber(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	s.key = ""
	world := map[string][]snapshottest.Record{"student_school_associations": {
		{"student_bid": "x", "state_student_id": "12"},
		{"student_bid": "y", "state_student_id": "12"},
		{"state_student_id": "12", "last_name": "Moore"},
		{"state_student_id": "12", "last_name": "Stone"},
	}}
	for i, r := range world["student_school_associations"] {
		r["requested_school_bid"], r["requested_perspective_bid"] = snapshottest.Stays, snapshottest.Stays
		r["student_school_association_bid"] = string(rune('a' + i))
	}
	store := snapshottest.NewDir(t, s.dest.folder)
	snapshottest.StageWorld(t, store, "night", world, snapshottest.Datasets("student_school_associations"))
	snapshottest.PublishRun(t, store, "night")
	const want = "2 of these rows have no bid and were found by a number alone; 2 students have the same number, so the number does not show whose rows these are"

	folder := t.TempDir()
	page, data, notice := filepath.Join(folder, "record.html"), filepath.Join(folder, "record.json"), filepath.Join(folder, "notice.html")
	require.Contains(t, s.run("find", "--bid", "x", "--record", page).stdout, "note       "+want+"\n")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), want)
	require.Contains(t, string(text), "no bid, found by a number alone")
	s.run("find", "--bid", "x", "--record", data)
	var record maintenance.FoundStudent
	text, err = os.ReadFile(data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(notRows(t, text), &record))
	require.Equal(t, map[string]int{"12": 2}, record.SharedNumbers)
	require.Equal(t, int64(2), record.Places[0].ByNumber)
	byNumber := 0
	for _, r := range record.Records {
		if r.ByNumber {
			byNumber++
		}
	}
	require.Equal(t, 2, byNumber)

	would, erased := s.run("purge", "--students", "x", "--dry-run").stdout, s.run("purge", "--students", "x", "--notice", notice).stdout
	for _, out := range []string{would, erased} {
		require.Contains(t, out, want+"\n")
		require.Contains(t, out, "run night: 1 file of 1 table\n", "although the file is rewritten twice")
	}
	text, err = os.ReadFile(notice)
	require.NoError(t, err)
	require.Contains(t, string(text), want+".")
}

// notRows removes the values of rows from a record, which are not read again.
func notRows(t *testing.T, data []byte) []byte {
	t.Helper()
	var record map[string]any
	require.NoError(t, json.Unmarshal(data, &record))
	for _, r := range record["records"].([]any) {
		delete(r.(map[string]any), "row")
	}
	data, err := json.Marshal(record)
	require.NoError(t, err)
	return data
}
