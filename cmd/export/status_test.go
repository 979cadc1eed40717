package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

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
