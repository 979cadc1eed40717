//go:build !unix

package main

import (
	"errors"
	"os/exec"
	"strconv"
)

// killWithChildren makes killing a command also kill the processes that it has started, provided that taskkill finds
// them.
func killWithChildren(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		tree := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)) //nolint:gosec,noctx // the arguments are ours, and it is quick
		if err := tree.Run(); err != nil {
			return errors.Join(err, cmd.Process.Kill())
		}
		return nil
	}
}
