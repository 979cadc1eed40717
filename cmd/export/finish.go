package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// finishing holds the command to run when the current command ends.
type finishing struct {
	onFinish string
}

func (o *finishing) define(g group) {
	define(g, &o.onFinish, "on-finish", "COMMAND", "", parseText,
		"shell command that gets the summary of --output json on its standard input when this command ends; it does not run after a wrong flag")
}

const (
	// onFinishTimeout is the maximum duration of the command of --on-finish. After an interrupt,
	// interruptedOnFinishTimeout applies instead.
	onFinishTimeout            = time.Minute
	interruptedOnFinishTimeout = 10 * time.Second
	// onFinishOutputTimeout is how long to wait for the command's output after the command has ended, because one of
	// its background processes may keep the output open.
	onFinishOutputTimeout = time.Second
)

// runOnFinish runs the command of --on-finish, if there is one, with the summary on its standard input. If that command
// fails, there is only a warning.
func (a *app) runOnFinish(ctx context.Context, command string, summary any) {
	if command == "" {
		return
	}
	timeout := onFinishTimeout
	if ctx.Err() != nil {
		timeout = interruptedOnFinishTimeout
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout,
		fmt.Errorf("it took longer than %s and was killed", timeout))
	defer cancel()
	if err := a.pipeToShell(ctx, command, summary); err != nil {
		a.warn("the command of --on-finish failed", err)
	}
}

// pipeToShell runs a shell command with the summary on its standard input. The command's output goes to stderr, because
// stdout is for the summary.
func (a *app) pipeToShell(ctx context.Context, command string, summary any) error {
	var input bytes.Buffer
	if err := writeJSON(&input, summary); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the user's own command
	cmd.Env = a.onFinishEnvironment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(a.repeat.inJSON(input.String())), a.stderr, a.stderr
	cmd.WaitDelay = onFinishOutputTimeout
	killWithChildren(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// onFinishEnvironment returns this process's environment without the secrets, which the command does not need, and
// without the variable of --on-finish, because the command may itself run growth-export.
func (a *app) onFinishEnvironment() []string {
	hidden := []string{envName("on-finish")}
	for _, variable := range secretVariables() {
		hidden = append(hidden, variable, variable+fileSuffix)
	}
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		if !slices.Contains(hidden, name) {
			environ = append(environ, name+"="+a.env[name])
		}
	}
	return environ
}
