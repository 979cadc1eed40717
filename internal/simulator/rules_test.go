package simulator_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

// TestRules checks that a world follows every rule of the service on any day. If asked to break rules, it breaks only
// these, and otherwise has the same records.
func TestRules(t *testing.T) {
	t.Parallel()
	days := []time.Time{
		time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 5, 0, 0, 0, time.UTC), time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 8, 3, 23, 59, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	scope := oracle.Options{Datasets: []string{"students", "test_results", "academic_years"}}
	for i, day := range days {
		options := simulator.Options{Seed: uint64(i), AsOf: day, SchoolSizes: []int{0, 1, 1001, 35, 60}}
		plain := oracle.Expect(simulator.NewWorld(options), scope)
		require.Len(t, plain.Checks, len(simulator.Rules()))
		for _, check := range plain.Checks {
			require.Zero(t, check.Count, "%s on %s", check.Check, day)
			require.Equal(t, int64(5), check.Schools)
		}
		if i > 0 {
			continue
		}
		for _, rule := range simulator.Rules() {
			options.Break = []string{rule}
			broken := oracle.Expect(simulator.NewWorld(options), scope)
			for _, check := range broken.Checks {
				require.Equal(t, check.Check == rule, check.Count > 0, "%s where %s is broken", check.Check, rule)
			}
			differ := 0
			for j, row := range broken.Rows["test_results"] {
				if !cmp.Equal(plain.Rows["test_results"][j], row) {
					differ++
				}
			}
			if rule == simulator.RulePageSize {
				require.Zero(t, differ)
			} else {
				require.Positive(t, differ)
				require.LessOrEqual(t, differ, len(plain.Rows["test_results"])/20+6)
			}
		}
	}
	require.Positive(t, oracle.Expect(simulator.NewWorld(simulator.Options{SchoolSizes: []int{900}}), oracle.Options{Datasets: scope.Datasets, PageSize: 400}).Checks[1].Count)
}
