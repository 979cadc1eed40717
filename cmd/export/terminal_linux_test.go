package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// atTerminal runs a command with a terminal as stdin and stderr, types an answer once it is asked, and returns what it wrote
// there and its exit code.
func atTerminal(t *testing.T, cmd *exec.Cmd, question, answer string) (screen string, code int) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer func() { _ = control.Close() }()
	require.NoError(t, unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	cmd.Stdin, cmd.Stderr = terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, terminal.Close())
	var seen bytes.Buffer
	buffer := make([]byte, 4096)
	for asked := false; ; {
		n, err := control.Read(buffer)
		seen.Write(buffer[:n])
		if !asked && strings.Contains(seen.String(), question) {
			asked = true
			_, err := io.WriteString(control, answer)
			require.NoError(t, err)
		}
		if err != nil { // the command has ended
			break
		}
	}
	_ = cmd.Wait() // The state holds the result.
	return seen.String(), cmd.ProcessState.ExitCode()
}

// TestPurgeAsks asks on a terminal before anything is erased: a wrong answer, the end of input and an interrupt change
// nothing. With --yes, or if nothing would be erased, it does not ask.
func TestPurgeAsks(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	s.command("run", "--base-url", s.url, "--progress", "none", "--log-level", "error", "--datasets", "students,schools", "--run-id", "full")
	before := s.dataFiles()
	school := s.world.Schools()[0].Bid
	const question = "Erase these rows of 1 school? Type 1 to erase them, anything else to stop: "
	ask := func(answer string, flags ...string) (string, int) {
		return atTerminal(t, s.prepare(append([]string{"purge", "--schools", school}, flags...)...), question, answer)
	}
	for answer, want := range map[string]struct {
		code int
		says string
	}{
		"yes\n": {exitFailed, "nothing was purged: the answer was not 1"}, "\n": {exitFailed, "the answer was not 1"},
		"\x04": {exitFailed, "nothing was purged: there was no answer"}, "\x03": {exitInterrupted, "interrupted"},
	} {
		screen, code := ask(answer)
		require.Equal(t, want.code, code, screen)
		require.Contains(t, screen, question)
		require.Contains(t, screen, "rows of students")
		require.Contains(t, screen, want.says)
		require.Equal(t, before, s.dataFiles())
		require.NoDirExists(t, filepath.Join(s.root, "_purges"))
	}
	screen, code := ask("1\n")
	require.Zero(t, code, screen)
	require.NotEqual(t, before, s.dataFiles())
	screen, code = ask("")
	require.Zero(t, code, screen)
	require.NotContains(t, screen, "Type", "nothing is left to erase")

	school = s.world.Schools()[1].Bid
	screen, code = ask("", "--yes")
	require.Zero(t, code, screen)
	require.NotContains(t, screen, "Type")
	s.requireGone(school)
}
