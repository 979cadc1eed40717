package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

func TestShardsText(t *testing.T) {
	t.Parallel()
	run := &snapshot.RunState{RunID: "night"}
	require.Empty(t, shardsText(run))
	run.Shards = []snapshot.ShardState{
		{Shard: 0, Staged: 9, Tasks: 9}, {Shard: 1, Staged: 2, Tasks: 6}, {Shard: 2, Tasks: 6}, {Shard: 3, Staged: 6, Tasks: 6}, {Shard: 4},
	}
	require.Equal(t, "night has 5 shards: staged 0, 3; staged in part 1 (2 of 6 tasks); nothing staged yet 2\n", shardsText(run))
}

// TestTableFitsTheTerminal writes a table as paragraphs if its lines would wrap.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"run", "state", "schools", "rows"}, {"2026-11-20-ec48f9e4c5", "held", "1,204", "-"}, {"2026-11-19-ec48f9e4c5", "published", "1,203", "135,709"}}
	table := "run                    state      schools  rows\n" +
		"2026-11-20-ec48f9e4c5  held       1,204    -\n" +
		"2026-11-19-ec48f9e4c5  published  1,203    135,709\n"
	require.Equal(t, table, tableText(rows, 0))
	require.Equal(t, table, tableText(rows, 50))
	narrow := tableText(rows, 30)
	require.Equal(t, "2026-11-20-ec48f9e4c5\n  state held, schools 1,204\n"+
		"2026-11-19-ec48f9e4c5\n  state published, schools\n  1,203, rows 135,709\n", narrow)
	for line := range strings.Lines(narrow) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 30)
	}
}
