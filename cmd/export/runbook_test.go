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
)

// TestRunbookExample runs the commands of the worked example in docs/PRIVACY.md, and compares their output with the page.
// Identifiers of runs, keys and proofs, and sizes, may differ.
func TestRunbookExample(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl")
	}
	page, err := os.ReadFile("../../docs/PRIVACY.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(page), "\n### A worked example\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "\n### ")
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
	notice, err := os.ReadFile(filepath.Join(folder, "notice.html"))
	require.NoError(t, err)
	require.NotContains(t, string(notice), "4a3f450f")
	record, err := os.ReadFile(filepath.Join(folder, "record.html"))
	require.NoError(t, err)
	require.Contains(t, string(record), "Wilson")
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
