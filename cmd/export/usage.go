package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
)

// usagef returns an error for a command called with wrong settings.
func usagef(format string, args ...any) error { return pipeline.Usagef(format, args...) }

// quoted repeats a user's text on one line, shortened.
func quoted(text string) string {
	const maxQuoted = 60
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "..."
	}
	return strconv.Quote(text)
}

// didYouMean returns a clause that suggests the candidate nearest to word, both without their prefix; empty if none is near.
func didYouMean(prefix, word string, candidates []string) string {
	var all cobra.Command // SuggestionsFor knows commands only
	for _, candidate := range candidates {
		all.AddCommand(&cobra.Command{Use: candidate, Run: func(*cobra.Command, []string) {}})
	}
	for ; all.SuggestionsMinimumDistance < len(word)/3+2; all.SuggestionsMinimumDistance++ {
		if near := all.SuggestionsFor(word); len(near) > 0 {
			nearest := slices.MinFunc(near, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
			return ", did you mean " + prefix + nearest + "?"
		}
	}
	return ""
}

func unknownCommand(root *cobra.Command, name string) error {
	return usagef("unknown command %s%s; see growth-export --help", quoted(name), didYouMean("", name, commandNames(root)))
}

// noArguments refuses arguments: a forgotten --datasets must not be ignored.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	if cmd.Name() == "schema" {
		hint = "it prints every table, search its output: growth-export schema | less -p " + wording.ShellWord(args[0])
	}
	return usagef("%s takes flags only, not %s; %s", cmd.Name(), quoted(args[0]), hint)
}

// flagError words an error of pflag. It never repeats the value of an unknown flag, which may be a secret.
func flagError(cmd *cobra.Command, err error) error {
	hint := "; see " + cmd.CommandPath() + " --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name, dashes := unknown.GetSpecifiedName(), "--"
		word := name
		if short, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); short != "" {
			// The rest of the word may be a value: only its first letter, or the name of a secret, is repeated.
			word, dashes = short, "-"
		}
		if variable, secret := secretName(word); secret {
			return usagef("%s%s: secrets are not taken from flags, which every user of the machine can read: set %s,"+
				" or %s%s to the path of a file", dashes, word, variable, variable, fileSuffix)
		}
		return usagef("unknown flag %s%s%s%s", dashes, name, didYouMean("--", word, flagNames(cmd)), hint)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s needs a value%s", missing.GetFlag().Name, hint)
	}
	return usagef("%w%s", err, hint)
}
