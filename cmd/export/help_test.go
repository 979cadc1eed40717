package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// helpOf returns the help of each command, and of growth-export itself as "".
func helpOf(t *testing.T, short bool) map[string]string {
	t.Helper()
	flag := "--help"
	if short {
		flag = "-h"
	}
	texts := make(map[string]string)
	a, _, _ := testApp(nil)
	for _, name := range append(commandNames(a.rootCommand(nil)), "") {
		a, stdout, _ := testApp(nil)
		args := slices.DeleteFunc([]string{name, flag}, func(arg string) bool { return arg == "" })
		root := a.rootCommand(args)
		root.SetArgs(args)
		require.NoError(t, root.Execute())
		texts[name] = stdout.String()
	}
	require.Greater(t, len(texts), 10)
	return texts
}

// TestShortHelpFitsAScreen checks that short help fits 80 columns and 24 lines, including the prompt, and that it says
// where to find the rest.
func TestShortHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	long := helpOf(t, false)
	for name, text := range helpOf(t, true) {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 23, "%s\n%s", name, text)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", name, line)
		}
		if strings.Count(text, "\n  --") < strings.Count(long[name], "\n  --") {
			require.Contains(t, text, "growth-export "+name+" --help")
		}
	}
}

// TestLongHelp expects each flag of a command once, common ones first, in lines of at most 100 columns.
func TestLongHelp(t *testing.T) {
	t.Parallel()
	long := helpOf(t, false)
	for name, text := range long {
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", name, line)
		}
	}
	a, _, _ := testApp(nil)
	often := 0
	for _, cmd := range a.rootCommand(nil).Commands() {
		if cmd.Hidden {
			continue
		}
		text := long[cmd.Name()]
		for _, f := range flagsOf(cmd) {
			require.Equal(t, 1, strings.Count(text, "\n"+flagUsage(f)+" "), "%s of %s", f.Name, cmd.Name())
		}
		names := strings.Fields(cmd.Annotations[commonAnnotation])
		require.Len(t, commonFlags(cmd), len(names), "%s lists common flags that it does not have", cmd.Name())
		for _, name := range names {
			often++
			_, first, _ := strings.Cut(text, "Common options:")
			first, _, _ = strings.Cut(first, "\n\n")
			require.Contains(t, first, "\n"+flagUsage(cmd.Flags().Lookup(name))+" ", cmd.Name())
		}
	}
	require.Greater(t, often, 20)
}

// TestHelpListsAllCommands expects each command in exactly one section.
func TestHelpListsAllCommands(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(nil)
	text := helpOf(t, false)[""]
	for _, name := range commandNames(a.rootCommand(nil)) {
		require.Equal(t, 1, strings.Count(text, "\n  "+name+" "), name)
	}
}

// TestHelpOfLongFlags expects descriptions and notes to be wrapped.
func TestHelpOfLongFlags(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{}
	g := group{cmd.Flags(), generalGroup}
	var text string
	define(g, &text, "some", "TEXT", "", parseText, "words that take more than one line of help, as here")
	h := helpText{width: 30}
	h.writeFlags("Some", flagsOf(cmd), 16, func(*pflag.Flag) string { return "(default none) [VARIABLE]" })
	require.Equal(t, `
Some:
  --some TEXT   words that
                take more than
                one line of
                help, as here
                (default none)
                [VARIABLE]
`, h.b.String())
}
