package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
)

func TestOracleOrder(t *testing.T) {
	t.Parallel()
	for _, table := range simulator.Tables() {
		if table.Name != "test_result_norms" {
			continue
		}
		rows := []Row{
			{"requested_school_bid": "b", "test_result_bid": "a", "ordinal": int64(0)},
			{"requested_school_bid": "a", "test_result_bid": "b", "ordinal": int64(10)},
			{"requested_school_bid": "a", "test_result_bid": "b", "ordinal": int64(9)},
			{"requested_school_bid": "a", "test_result_bid": nil, "ordinal": int64(11)},
			{"requested_school_bid": "a", "test_result_bid": "B", "ordinal": int64(0)},
		}
		want := []Row{rows[3], rows[4], rows[2], rows[1], rows[0]}
		SortRows(&table, rows)
		require.Equal(t, want, rows)
		return
	}
	t.Fatal("no such table")
}
