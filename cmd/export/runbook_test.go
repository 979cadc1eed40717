//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
)

// TestRunbookExample runs the commands of the worked example in docs/PRIVACY.md, and compares their output with the page.
// Identifiers of runs, keys and proofs, and sizes, may differ.
func TestRunbookExample(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl")
	}
	folder := checkConsole(t, "../../docs/PRIVACY.md", "\n### A worked example\n", "\n### ")
	notice, err := os.ReadFile(filepath.Join(folder, "notice.html"))
	require.NoError(t, err)
	require.NotContains(t, string(notice), "4a3f450f")
	record, err := os.ReadFile(filepath.Join(folder, "record.html"))
	require.NoError(t, err)
	require.Contains(t, string(record), "Wilson")
}

// TestProcurementAnswers runs the commands of docs/PROCUREMENT.md, and compares their output with the page.
func TestProcurementAnswers(t *testing.T) {
	t.Parallel()
	folder := checkConsole(t, "../../docs/PROCUREMENT.md", "\n", "\n## Other questionnaires")
	require.DirExists(t, filepath.Join(folder, "growth"))
}

// TestRetentionCrontab compares the crontab of the page with the periods in the table above it.
func TestRetentionCrontab(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/PRIVACY.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Retention\n")
	require.True(t, found)
	table, crontab, found := strings.Cut(section, "\n```\n")
	require.True(t, found)
	crontab, _, _ = strings.Cut(crontab, "\n```")
	commands := regexp.MustCompile("`prune (--kind [^`]+)`").FindAllStringSubmatch(table, -1)
	require.Len(t, commands, 3)
	require.Equal(t, len(commands), strings.Count(crontab, " prune "))
	for _, command := range commands {
		require.Contains(t, crontab+"\n", "growth-export prune --dest /data/growth "+command[1]+"\n")
	}
}

// TestDocumentedDigest runs the command of docs/PRIVACY.md that computes the digest of a list, and compares it with the digest
// that cohort runs and purges store.
func TestDocumentedDigest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	page, err := os.ReadFile("../../docs/PRIVACY.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n### The digest\n")
	require.True(t, found)
	command := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	require.NotNil(t, command)
	folder := t.TempDir()
	list := filepath.Join(folder, "erase.txt")
	require.NoError(t, os.WriteFile(list, []byte("\ufeffzoë\r\n\r\nb \r\n\ufeffa\t\n   \nb\n\u00a0c d\nQ"), 0o600))
	const text = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "recipient.key"), []byte(text+"\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command[1])
	cmd.Dir = folder
	got, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", got)

	key, err := privacy.ParseKey(text)
	require.NoError(t, err)
	lines, err := readLines(list)
	require.NoError(t, err)
	require.Equal(t, key.ListDigest([]string{"Q", "a", "b", "c d", "zoë"}), strings.TrimSpace(string(got)))
	require.Equal(t, key.ListDigest(lines), strings.TrimSpace(string(got)))
}

// checkConsole runs the commands of a page's console blocks between two texts in a new folder, which it returns, and compares
// their output with the page, without the parts that differ from run to run.
func checkConsole(t *testing.T, path, from, to string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	_, example, found := strings.Cut(string(page), from)
	require.True(t, found)
	example, _, _ = strings.Cut(example, to)
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(example, -1)
	require.NotEmpty(t, blocks)
	var want strings.Builder
	var script strings.Builder
	script.WriteString("set +e\n")
	for _, block := range blocks {
		want.WriteString(block[1])
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				script.WriteString("cat <<'END'\n" + line + "END\n" + command)
			}
		}
	}

	self, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "growth-export")))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir = folder
	cmd.Env = append(commandEnvironment(os.Environ()), "PATH="+bin+":"+os.Getenv("PATH"),
		"GROWTH_EXPORT_PROGRESS=none", "GROWTH_EXPORT_LOG_LEVEL=error")
	got, err := cmd.CombinedOutput()
	t.Logf("%s", got)
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit)
	}
	require.Equal(t, withoutChance(want.String()), withoutChance(string(got)))
	return folder
}

// withoutChance masks the parts of the output that differ from run to run.
func withoutChance(text string) string {
	for _, pattern := range []string{
		`\d{8}T\d{6}Z-[0-9a-f]{12}`, `\b[0-9a-f]{16}\b`, `run \d{4}-\d\d-\d\d-[0-9a-f]{10}`, `[0-9.]+ [kMG]?B\b`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, "_")
	}
	return text
}
