//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// killWithChildren makes a command the leader of a process group, so that
// killing it also kills the processes that it has started.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
