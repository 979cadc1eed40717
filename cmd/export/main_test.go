package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/azure/azuretest"
	"example.org/growthexport/internal/sink/servertest"
)

// asCommand in the environment makes the test binary behave as the command, so that tests can run it as a separate
// process.
const asCommand = "BE_GROWTH_EXPORT"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // does not return
	}
	code := m.Run()
	azurite.Stop()
	os.Exit(code)
}

// azurite is the server of all tests of the package, each with its own container. Starting one costs more than many tests.
var azurite = servertest.NewShared(azuretest.Variable, azuretest.Launch)

// long skips a test that takes long if -short is set, as in make test.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// commandProcess returns the command as a process that is not started yet.
func commandProcess(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = commandEnvironment(os.Environ())
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// commandEnvironment makes the test binary the command, without the developer's
// own settings. The simulated service is small unless a test needs more.
func commandEnvironment(environ []string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		return strings.HasPrefix(pair, envPrefix) || strings.HasPrefix(pair, "GOGC=") // tests use GOGC, but users do not
	})
	// The race detector would make every process wait a second before it ends.
	return append(environ, asCommand+"=1", "GORACE=atexit_sleep_ms=0", envName("simulate-results")+"=100")
}
