package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
)

func TestVerifyText(t *testing.T) {
	t.Parallel()
	report := &maintenance.VerifyReport{RunID: "night", Kind: snapshot.Full, SnapshotDate: "2026-03-02", Files: 1, Rows: 1, Bytes: 10}
	require.Equal(t, "OK: snapshot 2026-03-02, run night: 1 file, 1 row, 10 B, and the ledger\n", verifyText(report))
	report.HistoryID, report.Files, report.Rows = "1", 2, 1234
	require.Equal(t, "OK: history through 2026-03-02: 2 files, 1,234 rows, 10 B\n", verifyText(report))
}
