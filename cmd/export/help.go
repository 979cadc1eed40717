package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The minimum and maximum width of help in columns. Between them, help is as wide as the terminal. Short help is at
// most shortWidth columns wide.
const (
	minWidth   = 60
	maxWidth   = 100
	shortWidth = 80
)

// writeHelp writes the help of a command to stdout: every setting or, if short is true, only the most common settings,
// which fit on a screen of 24 lines. For the root command it lists all commands.
func (a *app) writeHelp(cmd *cobra.Command, sections []section, short bool) {
	h := helpText{width: min(max(a.stderr.width(), minWidth), maxWidth)}
	switch {
	case cmd == cmd.Root():
		h.writeRoot(cmd, sections)
	case short:
		h.width = min(h.width, shortWidth)
		h.writeShort(cmd)
	default:
		h.writeLong(cmd)
	}
	_, _ = a.stdout.Write([]byte(h.b.String())) // there is nowhere to report an error
}

// helpText builds the text of help.
type helpText struct {
	b     strings.Builder
	width int
}

func (h *helpText) writeRoot(root *cobra.Command, sections []section) {
	fmt.Fprintf(&h.b, "%s\nUsage: growth-export COMMAND [--flags] (COMMAND -h: common flags, --help: all)\n", root.Long)
	for _, s := range sections {
		if s.title != "" { // the purpose of growth-export is the title of the first section
			fmt.Fprintf(&h.b, "%s:\n", s.title)
		}
		for _, cmd := range s.commands {
			fmt.Fprintf(&h.b, "  %-10s  %s\n", cmd.Name(), cmd.Short)
		}
	}
}

// writeShort shows the flags that most people need or, if the command does not name any, all flags. It also shows their
// defaults, except for none and off.
func (h *helpText) writeShort(cmd *cobra.Command) {
	h.writeIntro(cmd)
	title, often := "Common options", commonFlags(cmd)
	if len(often) == 0 {
		title, often = "Options", flagsOf(cmd)
	}
	h.writeFlags(title, often, usageWidth(often), func(f *pflag.Flag) string {
		if f.DefValue == "none" || f.DefValue == "off" {
			return ""
		}
		return "(default " + f.DefValue + ")"
	})
	if cmd.Flags().Lookup("base-url") != nil {
		fmt.Fprintf(&h.b, "\nSecrets: %s and %s in the environment.", apiKeyVariable, apiSecretVariable)
	}
	if len(often) < len(flagsOf(cmd)) {
		fmt.Fprintf(&h.b, "\nAll options, with their variables and defaults: %s --help\n", cmd.CommandPath())
	}
}

// writeLong shows every flag with its environment variable and default: first the common flags, then all other flags
// below the headings of their groups.
func (h *helpText) writeLong(cmd *cobra.Command) {
	h.writeIntro(cmd)
	common, all := commonFlags(cmd), flagsOf(cmd)
	titles := []string{"Common options"}
	groups := map[string][]*pflag.Flag{titles[0]: common}
	for _, f := range all {
		if slices.Contains(common, f) {
			continue
		}
		title := f.Annotations[groupAnnotation][0]
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], f)
	}
	for _, title := range titles {
		h.writeFlags(title, groups[title], usageWidth(all), func(f *pflag.Flag) string {
			variable := envName(f.Name)
			if f.Annotations[onlyAnnotation] != nil {
				variable = "only as a flag"
			}
			return "(default " + f.DefValue + ") [" + variable + "]"
		})
	}
	if cmd.Flags().Lookup("config") != nil {
		h.b.WriteByte('\n')
		h.writeLine("Precedence: flag, environment variable, --config file, default.")
	}
	if cmd.Flags().Lookup("base-url") != nil {
		h.writeLine("Secrets come only from the environment: " + apiKeyVariable + " and " + apiSecretVariable +
			", or " + accessTokenVariable + ". To read one from a file, append _FILE to its name and give the path of the file.")
	}
	if slices.Contains(measuredCommands(), cmd.Name()) {
		h.writeLine("OpenTelemetry metrics and traces are sent to the URL in OTEL_EXPORTER_OTLP_ENDPOINT by OTLP over HTTP; see docs/telemetry.md.")
	}
}

// writeIntro writes the purpose of a command, its usage and its examples.
func (h *helpText) writeIntro(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		h.writeLine(paragraph)
		h.b.WriteByte('\n')
	}
	fmt.Fprintf(&h.b, "Usage: %s %s", cmd.Parent().CommandPath(), cmd.Use)
	if len(flagsOf(cmd)) > 0 {
		h.b.WriteString(" [--flags]")
	}
	h.b.WriteByte('\n')
	if cmd.Example != "" {
		fmt.Fprintf(&h.b, "Examples:\n%s\n", cmd.Example)
	}
}

// writeFlags writes flags below a title. The note on a flag follows its description, on a new line if necessary.
func (h *helpText) writeFlags(title string, flags []*pflag.Flag, indent int, note func(f *pflag.Flag) string) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(&h.b, "\n%s:\n", title)
	for _, f := range flags {
		fmt.Fprintf(&h.b, "%-*s", indent, flagUsage(f))
		column := h.wrap(indent, indent, f.Usage)
		text := note(f)
		if text != "" && column+1+len(text) > h.width {
			column = h.breakLine(indent)
		}
		h.wrap(column, indent, text)
		h.b.WriteByte('\n')
	}
}

// writeLine writes a paragraph, wrapped to the width of help.
func (h *helpText) writeLine(text string) {
	h.wrap(0, 0, text)
	h.b.WriteByte('\n')
}

// wrap writes the words of a text, beginning at the given column, and indents further lines. It returns the column
// after the last word.
func (h *helpText) wrap(column, indent int, text string) int {
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == indent:
		case column+1+len(word) > h.width:
			column = h.breakLine(indent)
		default:
			h.b.WriteByte(' ')
			column++
		}
		h.b.WriteString(word)
		column += len(word)
	}
	return column
}

func (h *helpText) breakLine(indent int) (column int) {
	h.b.WriteString("\n" + strings.Repeat(" ", indent))
	return indent
}

// commonFlags returns the flags that most people need, in the order of the command's annotation.
func commonFlags(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	for name := range strings.FieldsSeq(cmd.Annotations[commonAnnotation]) {
		if f := cmd.Flags().Lookup(name); f != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// usageWidth returns the column at which the flags' descriptions begin.
func usageWidth(flags []*pflag.Flag) int {
	width := 0
	for _, f := range flags {
		width = max(width, len(flagUsage(f))+2)
	}
	return width
}

// flagUsage returns a flag and the placeholder of its value.
func flagUsage(f *pflag.Flag) string {
	return strings.TrimRight("  --"+f.Name+" "+f.Value.Type(), " ")
}

// section is a group of commands in the help of the root command.
type section struct {
	title    string
	commands []*cobra.Command
}
