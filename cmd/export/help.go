package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The columns that help fills: as many as the terminal has, within bounds, and
// of the short form no more than any terminal has.
const (
	narrowest  = 60
	widest     = 100
	shortWidth = 80
)

// help writes the help of a command to stdout: every setting, or in short, for
// -h, those that most people need, which fit a screen of 24 lines.
func (a *app) help(cmd *cobra.Command, sections []section, short bool) {
	h := helpText{width: min(max(a.stderr.width(), narrowest), widest)}
	switch {
	case cmd == cmd.Root():
		h.root(cmd, sections)
	case short:
		h.width = min(h.width, shortWidth)
		h.short(cmd)
	default:
		h.long(cmd)
	}
	// Nothing can be told of a stdout that cannot be written.
	_, _ = a.stdout.Write([]byte(h.b.String()))
}

// helpText is help as it is being written.
type helpText struct {
	b     strings.Builder
	width int
}

func (h *helpText) root(root *cobra.Command, sections []section) {
	fmt.Fprintf(&h.b, "%s\n\nUsage: growth-export COMMAND [--flags]\n\n", root.Long)
	for _, s := range sections {
		fmt.Fprintf(&h.b, "%s:\n", s.title)
		for _, cmd := range s.commands {
			fmt.Fprintf(&h.b, "  %-10s  %s\n", cmd.Name(), cmd.Short)
		}
	}
	h.b.WriteString("First try growth-export run --simulate. COMMAND -h is short help, --help is all.\n")
}

// short shows the flags that most people need, with their defaults.
func (h *helpText) short(cmd *cobra.Command) {
	h.beginning(cmd)
	title, often := "Often used", oftenUsed(cmd)
	if len(often) == 0 {
		title, often = "Settings", shownFlags(cmd)
	}
	h.flags(title, often, usageWidth(often), func(f *pflag.Flag) string {
		if text := flagDefault(f); text != "none" && text != "off" {
			return "(default " + text + ")"
		}
		return ""
	})
	if cmd.Flags().Lookup("base-url") != nil {
		fmt.Fprintf(&h.b, "\nSecrets: %s and %s in the environment.", apiKeyVariable, apiSecretVariable)
	}
	if len(often) < len(shownFlags(cmd)) {
		fmt.Fprintf(&h.b, "\nAll settings, with their variables and defaults: %s --help\n", cmd.CommandPath())
	}
}

// long shows every setting with its environment variable and its default.
func (h *helpText) long(cmd *cobra.Command) {
	h.beginning(cmd)
	var titles []string
	groups := make(map[string][]*pflag.Flag)
	often, all := oftenUsed(cmd), shownFlags(cmd)
	for _, f := range slices.Concat(often, all) {
		title := f.Annotations[groupAnnotation][0]
		if slices.Contains(often, f) {
			title = "Often used"
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		if !slices.Contains(groups[title], f) {
			groups[title] = append(groups[title], f)
		}
	}
	for _, title := range titles {
		h.flags(title, groups[title], usageWidth(all), func(f *pflag.Flag) string {
			return "(default " + flagDefault(f) + ") [" + envName(f.Name) + "]"
		})
	}
	if cmd.Flags().Lookup("config") != nil {
		h.b.WriteByte('\n')
		h.line("A flag overrules its environment variable, that overrules the file of --config, that overrules the default.")
	}
	if cmd.Flags().Lookup("base-url") != nil {
		h.line("Secrets come from the environment alone: " + apiKeyVariable + " and " + apiSecretVariable +
			", or " + accessTokenVariable + "; each also as ..._FILE with the path of a file.")
	}
	if slices.Contains(measuredCommands(), cmd.Name()) {
		h.line("OpenTelemetry metrics and traces go where OTEL_EXPORTER_OTLP_ENDPOINT says, by OTLP over HTTP; the README tells of them.")
	}
}

// beginning is what a command does and how it is called.
func (h *helpText) beginning(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		h.line(paragraph)
		h.b.WriteByte('\n')
	}
	fmt.Fprintf(&h.b, "Usage: %s %s", cmd.Parent().CommandPath(), cmd.Use)
	if len(shownFlags(cmd)) > 0 {
		h.b.WriteString(" [--flags]")
	}
	h.b.WriteByte('\n')
	if cmd.Example != "" {
		fmt.Fprintf(&h.b, "Examples:\n%s\n", cmd.Example)
	}
}

// flags shows some flags, each with what note says of it: on its last line if
// there is room, else on lines of its own.
func (h *helpText) flags(title string, flags []*pflag.Flag, indent int, note func(f *pflag.Flag) string) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(&h.b, "\n%s:\n", title)
	for _, f := range flags {
		fmt.Fprintf(&h.b, "%-*s", indent, flagUsage(f))
		column := h.words(indent, indent, f.Usage)
		text := note(f)
		if text != "" && column+1+len(text) > h.width {
			h.b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		}
		h.words(column, indent, text)
		h.b.WriteByte('\n')
	}
}

// line writes words from the first column on.
func (h *helpText) line(text string) {
	h.words(0, 0, text)
	h.b.WriteByte('\n')
}

// words writes words, in lines that begin at column indent and end at the last
// one where that is possible, and returns the column at which it has come.
func (h *helpText) words(column, indent int, text string) int {
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == indent:
		case column+1+len(word) > h.width:
			h.b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			h.b.WriteByte(' ')
			column++
		}
		h.b.WriteString(word)
		column += len(word)
	}
	return column
}

// oftenUsed are the flags that most people need, in the order of the command's
// own list of them.
func oftenUsed(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	for name := range strings.FieldsSeq(cmd.Annotations[oftenAnnotation]) {
		if f := cmd.Flags().Lookup(name); f != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// shownFlags are the flags of a command in the order of their definition.
func shownFlags(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isShown(f) {
			flags = append(flags, f)
		}
	})
	return flags
}

func isShown(f *pflag.Flag) bool { return f.Name != "help" && !f.Hidden }

// usageWidth is the column at which what the flags do is told.
func usageWidth(flags []*pflag.Flag) int {
	width := 0
	for _, f := range flags {
		width = max(width, len(flagUsage(f))+2)
	}
	return width
}

// flagUsage is a flag and what its value is called.
func flagUsage(f *pflag.Flag) string {
	usage := "  --" + f.Name
	if f.NoOptDefVal == "" {
		usage += " " + f.Value.Type()
	}
	return usage
}

// flagDefault is the default as help shows it.
func flagDefault(f *pflag.Flag) string {
	text := f.DefValue
	if shown := f.Annotations[defaultAnnotation]; len(shown) > 0 {
		text = shown[0]
	}
	switch {
	case f.NoOptDefVal == "true" && text == "false":
		return "off"
	case text == "":
		return "none"
	}
	return text
}
