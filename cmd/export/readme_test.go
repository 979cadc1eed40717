package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestREADME holds what the README names against what there is: every command
// has its line and no other has, and every flag and exit code exists.
func TestREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(text)

	root := (&app{env: map[string]string{}, stderr: newScreen(&bytes.Buffer{})}).rootCommand(nil)
	flags := make(map[string]bool)
	var commands []string
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		if !cmd.Hidden {
			commands = append(commands, cmd.Name())
		}
	}
	flags["help"] = true

	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(readme, -1) {
		listed = append(listed, row[1])
	}
	require.ElementsMatch(t, commands, listed)

	named := regexp.MustCompile(`--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(readme, -1)
	require.NotEmpty(t, named)
	for _, flag := range named {
		require.True(t, flags[flag[1]], "the README names --%s", flag[1])
	}
	for _, variable := range regexp.MustCompile(`GROWTH_EXPORT_[A-Z_]+`).FindAllString(readme, -1) {
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, envPrefix), "_", "-"))
		secret := strings.HasPrefix(name, "api-") || strings.HasPrefix(name, "access-")
		require.True(t, secret || flags[name], "the README names %s", variable)
	}

	for _, code := range []int{exitOK, exitFailed, exitUsage, exitPartial, exitRefused, exitHeld, exitInterrupted} {
		require.Regexp(t, `(?m)^\| `+strconv.Itoa(code)+` \| `, readme)
	}
}
