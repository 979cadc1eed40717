package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestREADME runs the commands of `make demo`: their output must contain the one in the README, and the README's query
// must find it too.
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	dest := filepath.Join(t.TempDir(), "growth-data")
	execute(t, growthExport, "run", "--simulate", "--dest", dest, "--snapshot-date", "2026-11-20", "--backdate", "--replace")
	printed := execute(t, ritByGrade, dest)

	shown := regexp.MustCompile("(?s)<!-- from: make demo -->\n```\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown, "the README shows a result")
	lines := strings.Split(strings.TrimRight(string(shown[1]), "\n"), "\n")
	require.Greater(t, len(lines), 2)
	for _, line := range lines {
		require.Contains(t, printed, line+"\n")
	}

	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, query, "the README shows a query")
	rows := newDuck(t).query(strings.ReplaceAll(string(query[1]), "demo/growth-data/", dest+"/"))
	require.Greater(t, len(rows), 20)
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		found := false
		for _, row := range rows {
			found = found || row[1] == fields[0] && row[2] == fields[1]
		}
		require.True(t, found, "the query finds %s", line)
	}

	// The files that the README lists.
	for _, path := range regexp.MustCompile(`(?m)^  ([_a-z]\S*)`).FindAllStringSubmatch(string(readme), -1) {
		pattern := strings.ReplaceAll(path[1], "<run>", "*")
		found, err := filepath.Glob(filepath.Join(dest, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, found, "the README shows %s", path[1])
	}
}
