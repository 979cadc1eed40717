package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
)

// TestDescribeVersions checks that child rows whose list changed are told apart from rows with a new version.
func TestDescribeVersions(t *testing.T) {
	t.Parallel()
	ended := &history.TableCounts{Begun: 1200, Ended: 15, Same: 7, Because: map[string]int64{"changed": 12, "aged_out": 3}}
	require.Equal(t, "1,200 new, 15 ended: 12 list changed, 3 aged out; 7 the same", history.DescribeVersions("test_result_norms", ended))
	require.Equal(t, "1,200 new, 15 ended: 12 changed, 3 aged out; 7 the same", history.DescribeVersions("test_results", ended))
	require.Equal(t, "1,200 new, 15 ended: 12 changed, 3 aged out; 7 the same", history.DescribeVersions("coverage", ended))
	require.Equal(t, "2 new, 0 ended; 0 the same", history.DescribeVersions("students", &history.TableCounts{Begun: 2}))
}
