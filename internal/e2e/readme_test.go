package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestREADME runs the commands of `make demo`: their output must contain the one in the README, and the queries
// of the README and of the program must agree with it.
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	dest := filepath.Join(t.TempDir(), "growth-data")
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	require.NoError(t, err)
	var nights []string
	for _, night := range regexp.MustCompile(`(?m)^(?:FALL|WINTER|TONIGHT) +:= (.*)$`).FindAllSubmatch(makefile, -1) {
		nights = append(nights, string(night[1]))
		execute(t, growthExport, "run", "--simulate", "--dest", dest, "--snapshot-date", string(night[1]), "--backdate")
	}
	require.Len(t, nights, 3)
	norms := filepath.Join(t.TempDir(), "norms.csv")
	require.NoError(t, os.WriteFile(norms, []byte(execute(t, growthExport, "simulate", "norms")), 0o600))
	growth := execute(t, growthByGrade, dest, nights[0], nights[1], norms, "Fall to Winter")
	printed := growth + execute(t, growthExport, "diff", "--dest", dest)

	shown := regexp.MustCompile("(?s)<!-- from: make demo -->\n```\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown, "the README shows a result")
	lines := strings.Split(strings.TrimRight(string(shown[1]), "\n"), "\n")
	require.Greater(t, len(lines), 2)
	require.Equal(t, "...", lines[0])
	rest := "\n" + printed
	for i, line := range lines {
		if line == "..." { // lines are left out
			continue
		}
		_, after, found := strings.Cut(rest, "\n"+line+"\n")
		require.True(t, found, "%q, in this order", line)
		if i > 0 && lines[i-1] != "..." {
			require.True(t, strings.HasPrefix(rest, "\n"+line+"\n"), "there are lines between %q and %q", lines[i-1], line)
		}
		rest = "\n" + after
	}
	require.Equal(t, lines[len(lines)-1] == "...", rest != "\n", "lines are left out at the end")

	d := newDuck(t)
	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, query, "the README shows a query")
	rows := d.query(strings.ReplaceAll(string(query[1]), "demo/growth-data/", dest+"/"))
	found := map[string]int{}
	for _, row := range rows {
		found[fmt.Sprintf("%.10s", row[0])]++
	}
	for _, night := range nights {
		require.Greater(t, found[night], 20)
	}

	// The query that the program prints finds the same.
	_, printedQuery, _ := strings.Cut(growth, "\nThe same in DuckDB:\n")
	rows = d.query(printedQuery)
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		require.Regexp(t, fmt.Sprintf(`(?m)^ *%v +%v +%v +%.1f +%.1f +%.1f +%.0f%%$`, row...), growth)
	}

	// The files that the README lists.
	for _, path := range regexp.MustCompile(`(?m)^  ([_a-z]\S*)`).FindAllStringSubmatch(string(readme), -1) {
		pattern := strings.ReplaceAll(path[1], "<run>", "*")
		found, err := filepath.Glob(filepath.Join(dest, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, found, "the README shows %s", path[1])
	}
	testQuestions(t, dest, norms)
}
