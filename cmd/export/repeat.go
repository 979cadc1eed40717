package main

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/wording"
)

// repeater completes the commands that this process suggests: it adds the flags of this process that they need, such as
// the flags that select the destination or the configuration file, so that each command can be run as it is printed. It
// changes only the output. Documents at the destination never hold these flags, which may contain paths of local files.
// Settings from environment variables are not repeated. The zero value changes nothing.
type repeater struct {
	root  *cobra.Command
	flags []repeatedFlag
}

// repeatedFlag is a flag of this process, as a user would type it.
type repeatedFlag struct{ name, text string }

// newRepeater returns a repeater for those flags given to cmd that suggested commands may need.
func newRepeater(cmd *cobra.Command) repeater {
	r := repeater{root: cmd.Root()}
	for _, f := range flagsOf(cmd) {
		place := slices.Contains(f.Annotations[groupAnnotation], destinationGroup)
		publishes := isPublishingFlag(f.Name) && (cmd.Name() == "run" || cmd.Name() == "publish")
		if !f.Changed || !place && f.Name != "config" && !publishes && !isServiceFlag(f.Name) {
			continue
		}
		name, value := wording.Setting(f.Name).String(), f.Value.String()
		switch {
		case f.NoOptDefVal == "true" && value == "true":
			r.flags = append(r.flags, repeatedFlag{f.Name, name})
		case f.NoOptDefVal == "true":
			r.flags = append(r.flags, repeatedFlag{f.Name, name + "=" + value})
		default:
			if f.Name == "config" || f.Name == "dest" || f.Name == "scratch" {
				value = absolutePath(value)
			}
			r.flags = append(r.flags, repeatedFlag{f.Name, name + " " + wording.ShellWord(value)})
		}
	}
	return r
}

// isPublishingFlag reports whether a flag of run or publish controls what happens after publishing. A suggested publish
// command needs such a flag too. In other commands, flags with these names mean something else.
func isPublishingFlag(name string) bool { return name == "history" || name == "delta-lake" }

// isServiceFlag reports whether a flag selects the service. Of the suggested commands, only doctor gets such flags.
func isServiceFlag(name string) bool {
	return name == "base-url" || name == "allow-http" || name == "simulate"
}

// absolutePath expands a leading ~ and returns an absolute path. It returns a URL unchanged.
func absolutePath(path string) string {
	if expanded, err := expandHome(path); err == nil {
		path = expanded
	}
	return absolute(path)
}

var (
	// advisedCommand matches the beginning of a command in a text.
	advisedCommand = regexp.MustCompile(`\bgrowth-export ([a-z][a-z-]*)`)
	// nextFlag and nextValue match the next flag, and the next value, of a command.
	nextFlag  = regexp.MustCompile(`^ --([a-z0-9-]+)(=\S*)?`)
	nextValue = regexp.MustCompile(`^ (?:'[^']*'|\\.|[^\s'\\])+`)
)

// complete returns text with flags added to the commands in it. A command gets the flags that it accepts and does not
// have yet. Each added flag is converted by escape.
func (r repeater) complete(text string, escape func(string) string) string {
	if len(r.flags) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, found := range advisedCommand.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[done:found[1]])
		done = found[1]
		for _, missing := range r.missing(text[found[2]:found[3]], text[done:]) {
			b.WriteString(" " + escape(missing))
		}
	}
	return b.String() + text[done:]
}

// missing returns the flags to add to the command called name. rest is the text after that name.
func (r repeater) missing(name, rest string) (texts []string) {
	cmd, _, err := r.root.Find([]string{name})
	if err != nil || cmd.Flags().Lookup("dest") == nil || name == "run" || strings.HasPrefix(rest, ",") {
		return nil // the command does not need the flags, or the text only mentions it
	}
	var has []string
	for match := nextFlag.FindStringSubmatch(rest); match != nil; match = nextFlag.FindStringSubmatch(rest) {
		has = append(has, match[1])
		rest = rest[len(match[0]):]
		if f := cmd.Flags().Lookup(match[1]); f != nil && f.NoOptDefVal == "" && match[2] == "" {
			rest = rest[len(nextValue.FindString(rest)):]
		}
	}
	if slices.Contains(has, "help") {
		return nil
	}
	for _, f := range r.flags {
		fits := cmd.Flags().Lookup(f.name) != nil && (name == "publish" || !isPublishingFlag(f.name)) && (name == "doctor" || !isServiceFlag(f.name))
		if fits && !slices.Contains(has, f.name) {
			texts = append(texts, f.text)
		}
	}
	return texts
}

// inText completes the commands in a text.
func (r repeater) inText(text string) string {
	return r.complete(text, func(added string) string { return added })
}

// inJSON completes the commands in the strings of encoded JSON.
func (r repeater) inJSON(encoded string) string { return r.complete(encoded, jsonText) }

// inAttr completes the commands in an attribute of a log line that is a string or an error.
func (r repeater) inAttr(attr slog.Attr) slog.Attr {
	if len(r.flags) == 0 {
		return attr
	}
	switch value := attr.Value.Any().(type) {
	case string:
		attr.Value = slog.StringValue(r.inText(value))
	case error:
		attr.Value = slog.StringValue(r.inText(value.Error()))
	}
	return attr
}
