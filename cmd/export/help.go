package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// help writes the help of a command to stdout.
func (a *app) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	width := min(max(a.stderr.width(), 60), 140)
	if cmd == cmd.Root() {
		rootHelp(&b, cmd)
	} else {
		commandHelp(&b, cmd, width)
	}
	// Nothing can be told of a stdout that cannot be written.
	_, _ = a.stdout.Write([]byte(b.String()))
}

func rootHelp(b *strings.Builder, root *cobra.Command) {
	fmt.Fprintf(b, "%s\n\nUsage:\n  growth-export COMMAND [--flags]\n\nCommands:\n", root.Long)
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			fmt.Fprintf(b, "  %-10s %s\n", cmd.Name(), cmd.Short)
		}
	}
	b.WriteString("\nStart with\n  growth-export run --simulate\nand see growth-export COMMAND --help for the settings of each.\n")
}

// commandHelp shows every setting of a command with its environment variable
// and its default.
func commandHelp(b *strings.Builder, cmd *cobra.Command, width int) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(b, "%s\n\nUsage:\n  %s [--flags]\n", text, cmd.CommandPath())
	var titles []string
	groups := make(map[string][]*pflag.Flag)
	indent := 0
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		title := f.Annotations[groupAnnotation][0]
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], f)
		indent = max(indent, len(flagUsage(f))+2)
	})
	for _, title := range titles {
		fmt.Fprintf(b, "\n%s:\n", title)
		for _, f := range groups[title] {
			fmt.Fprintf(b, "%-*s", indent, flagUsage(f))
			words := append(strings.Fields(f.Usage), flagDefault(f), "["+envName(f.Name)+"]")
			wrap(b, words, indent, width)
		}
	}
	if cmd.Flags().Lookup("config") != nil {
		b.WriteString("\nA flag overrules its environment variable, that overrules the file of --config, that overrules the default.\n")
	}
	if cmd.Flags().Lookup("base-url") != nil {
		fmt.Fprintf(b, "Secrets come from the environment alone: %s and %s,\nor %s; each also as ..._FILE with the path of a file.\n",
			apiKeyVariable, apiSecretVariable, accessTokenVariable)
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n%s\n", cmd.Example)
	}
}

// flagUsage is a flag and what its value is called.
func flagUsage(f *pflag.Flag) string {
	usage := "  --" + f.Name
	if f.NoOptDefVal == "" {
		usage += " " + f.Value.Type()
	}
	return usage
}

// flagDefault is the clause of help that tells the default.
func flagDefault(f *pflag.Flag) string {
	text := f.DefValue
	if shown := f.Annotations[defaultAnnotation]; len(shown) > 0 {
		text = shown[0]
	}
	switch {
	case f.NoOptDefVal == "true" && text == "false":
		text = "off"
	case text == "":
		text = "none"
	}
	return "(default " + text + ")"
}

// wrap writes words from column indent on, in lines of at most width columns
// where that is possible.
func wrap(b *strings.Builder, words []string, indent, width int) {
	column := indent
	for i, word := range words {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
}
