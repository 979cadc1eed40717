package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is the folder of the main module.
const repository = "../.."

// The programs under test, which are built once. racedExport is growthExport with the race detector, which gives data races
// an exit code and takes five times as long: tests whose subject is how a command works use it, those that read what it wrote
// do not.
var growthExport, racedExport, growthByGrade string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	flag.Parse()
	folder, err := os.MkdirTemp("", "growth-export-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "create a folder for the programs:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()

	growthExport = filepath.Join(folder, "growth-export")
	racedExport = filepath.Join(folder, "growth-export-raced")
	growthByGrade = filepath.Join(folder, "growthbygrade")
	for program, args := range map[string][]string{ // with CGO_ENABLED=0 as in other tests, so that compiled packages are shared
		growthExport:  {"CGO_ENABLED=0", "./cmd/export"},
		racedExport:   {"CGO_ENABLED=1", "-race", "./cmd/export"},
		growthByGrade: {"CGO_ENABLED=0", "./examples/growthbygrade"},
	} {
		source := args[len(args)-1]
		build := exec.Command("go", append([]string{"build", "-o", program}, args[1:]...)...) //nolint:noctx // outside of tests there is no context
		build.Dir, build.Env = repository, append(os.Environ(), args[0])
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", source, err, out)
			return 1
		}
	}
	return m.Run()
}

// execute runs a program under test and returns its stdout. The exit code must be 0.
func execute(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"} // else the race detector would make every process wait a second before it ends
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GROWTH_EXPORT_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s %s\n%s%s", filepath.Base(program), strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}
