package report_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/report"
)

// TestRecordOfSearchedRuns expects that a record is called complete only if all runs were searched.
func TestRecordOfSearchedRuns(t *testing.T) {
	t.Parallel()
	for unsearchable, want := range map[int]string{
		0: "every row about the student that this destination stores",
		2: "2 of these runs could not be searched",
	} {
		var page bytes.Buffer
		require.NoError(t, report.WriteRecord(&page, &report.Record{At: time.Unix(0, 0), Runs: 3, Unsearchable: unsearchable}))
		require.Contains(t, page.String(), want)
		require.Equal(t, unsearchable == 0, bytes.Contains(page.Bytes(), []byte("that this destination stores")))
	}
}

// TestRecordCountsMentions expects that a record counts the rows of others that mention the student, but does not show
// them.
func TestRecordCountsMentions(t *testing.T) {
	t.Parallel()
	for mentions, want := range map[int]string{1: "1 row about others that mentions the student", 12: "12 rows about others that mention the student"} {
		var page bytes.Buffer
		require.NoError(t, report.WriteRecord(&page, &report.Record{At: time.Unix(0, 0), Runs: 3, Mentions: mentions}))
		require.Contains(t, page.String(), want)
	}
	var page bytes.Buffer
	require.NoError(t, report.WriteRecord(&page, &report.Record{At: time.Unix(0, 0), Runs: 3}))
	require.NotContains(t, page.String(), "about others")
}
