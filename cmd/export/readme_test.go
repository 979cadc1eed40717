package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestREADME holds what the README lists against what there is: every command
// has its line and no other has, and every exit code has its own.
func TestREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(text)

	root := (&app{env: map[string]string{}, stderr: newScreen(&bytes.Buffer{})}).rootCommand(nil)
	var commands []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			commands = append(commands, cmd.Name())
		}
	}

	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(readme, -1) {
		listed = append(listed, row[1])
	}
	require.ElementsMatch(t, commands, listed)

	for _, code := range []int{exitOK, exitFailed, exitUsage, exitPartial, exitRefused, exitHeld, exitInterrupted} {
		require.Regexp(t, `(?m)^\| `+strconv.Itoa(code)+` \| `, readme)
	}
}
