package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testExample checks that the program run by `make demo` agrees with the query that it prints.
func testExample(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	shown, query, found := strings.Cut(execute(t, ritByGrade, s.dest), "\nThe same in DuckDB:\n")
	require.True(t, found)

	var lines [][]string
	for line := range strings.Lines(shown) {
		lines = append(lines, strings.Fields(line))
	}
	require.Greater(t, len(lines), 10, shown)

	var want [][]string
	for _, row := range d.query(query) {
		if row[1] == nil {
			row[1] = "-" // a result without a grade
		}
		want = append(want, strings.Fields(fmt.Sprintf("%v %v %v %.1f", row...)))
	}
	require.Equal(t, want, lines[3:], "after a title, a blank line and the header")
}
