package report_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/report"
)

// TestRecordOfSearchedRuns: a record says that it is complete only if all runs were searched.
func TestRecordOfSearchedRuns(t *testing.T) {
	t.Parallel()
	for unsearchable, want := range map[int]string{
		0: "everything that this destination stores",
		2: "2 of these runs could not be searched",
	} {
		var page bytes.Buffer
		require.NoError(t, report.WriteRecord(&page, &report.Record{At: time.Unix(0, 0), Runs: 3, Unsearchable: unsearchable}))
		require.Contains(t, page.String(), want)
		require.Equal(t, unsearchable == 0, bytes.Contains(page.Bytes(), []byte("everything")))
	}
}
