package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestREADME checks that the README has a line for each command and for no others, and one for each exit code.
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
