package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReplaceSection checks that only the section changes, however often it is written.
func TestReplaceSection(t *testing.T) {
	t.Parallel()
	const document = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n<!-- y: begin -->\nkept\n<!-- y: end -->\n"
	const want = "a\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nb\n<!-- y: begin -->\nkept\n<!-- y: end -->\n"
	for _, before := range []string{document, want} {
		after, err := replaceSection(before, "x", "new\n")
		require.NoError(t, err)
		require.Equal(t, want, after)
	}
	_, err := replaceSection(document, "z", "new\n")
	require.ErrorContains(t, err, "z: begin")
}

// TestPeersTable checks that figures are medians, per result and in the units of their columns, and that ratios are
// relative to the first contestant.
func TestPeersTable(t *testing.T) {
	t.Parallel()
	sc := scenario{title: "2000 results", concurrency: 8}
	sc.world.Results = 2000
	costs := func(millis ...int64) []cost {
		all := make([]cost, len(millis))
		for i, ms := range millis {
			all[i] = cost{cpu: time.Duration(ms * 1e6), wall: time.Duration(ms * 1e6 / 2), peak: 5_000_000, bytes: 300_000}
		}
		return all
	}
	var b strings.Builder
	writePeers(&b, sc, []outcome{
		{contestant: contestant{name: "ours"}, costs: costs(40, 10, 20)},
		{contestant: contestant{name: "theirs"}, costs: costs(50, 70)},
	})
	require.Contains(t, b.String(), "| ours | 10.00 [5.00-20.00] | 1.00 | 0.01 | 5 | 150.0 | 3 |\n")
	require.Contains(t, b.String(), "| theirs | 30.00 [25.00-35.00] | 3.00 | 0.03 | 5 | 150.0 | 2 |\n")
}

// TestContestants checks that only the contestants in Go take part without Python and another build, and that the
// slowest one does not export large worlds unless it is named.
func TestContestants(t *testing.T) {
	t.Parallel()
	names := func(p programs, sc scenario) (names []string) {
		for _, c := range contestants(p) {
			if sc.admits(&c) {
				names = append(names, c.name)
			}
		}
		return names
	}
	require.Equal(t, []string{"growth-export", "naive"}, names(programs{}, scenario{}))
	everything := programs{base: "b", python: "p"}
	require.Equal(t, []string{"growth-export", "base", "naive", "duckdb", "polars", "orjson", "dlt"}, names(everything, scenario{}))
	require.NotContains(t, names(everything, scenario{gzip: true}), "duckdb")
	large := scenario{}
	large.world.Results = 800_000
	require.NotContains(t, names(everything, large), "dlt")
	large.contestants = []string{"dlt"}
	require.Equal(t, []string{"dlt"}, names(everything, large))
}
