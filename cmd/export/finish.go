package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"
)

// finishing is what is done once a command has ended.
type finishing struct {
	onFinish string
}

func (o *finishing) define(g group) {
	define(g, &o.onFinish, "on-finish", "COMMAND", "", parseText,
		"a command for sh that gets the summary, as --output json writes it, on its standard input, however this one ends")
}

// How long the command of --on-finish may take: whoever has interrupted us does
// not wait for long.
const (
	finishPatience      = time.Minute
	interruptedPatience = 10 * time.Second
	// finishDrain is how long after its end its output is waited for, which
	// something that it has left running may hold open.
	finishDrain = time.Second
)

// finish hands the end of a command to that of --on-finish, if there is one.
// What becomes of that changes nothing: it is told as a warning.
func (a *app) finish(ctx context.Context, command string, end any) {
	if command == "" {
		return
	}
	patience := finishPatience
	if ctx.Err() != nil {
		patience = interruptedPatience
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience,
		fmt.Errorf("it took longer than %s and was killed", patience))
	defer cancel()
	if err := a.hook(ctx, command, end); err != nil {
		a.warn("the command of --on-finish failed", err)
	}
}

// hook runs a command with the end of ours on its standard input. What it says
// goes to stderr, since stdout is the summary's.
func (a *app) hook(ctx context.Context, command string, end any) error {
	var input bytes.Buffer
	if err := writeJSON(&input, end); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // it is the user's own
	cmd.Env = a.hookEnvironment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &input, a.stderr, a.stderr
	cmd.WaitDelay = finishDrain
	killWithChildren(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// hookEnvironment is our own without the service's secrets, which a command
// that tells of a run has no use for, and without the setting that made us run
// it: it may well call us.
func (a *app) hookEnvironment() []string {
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
