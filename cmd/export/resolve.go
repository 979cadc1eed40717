package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envPrefix starts the name of every environment variable that is ours.
const envPrefix = "GROWTH_EXPORT_"

// envName is the variable of a flag: GROWTH_EXPORT_SOME_NAME of --some-name.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// rank orders where a value may come from: the higher wins.
type rank int

const (
	byDefault rank = iota
	byFile
	byEnvironment
	byFlag
)

// source is where a value came from.
type source struct {
	rank rank
	name string // as a user would look for it
}

// sources tells of every flag that was given where it came from.
type sources map[string]source

// given tells whether the flag has another value than its default.
func (s sources) given(flag string) bool { return s[flag].rank != byDefault }

// choose returns which of settings that exclude each other counts: the one
// from the stronger source, so that a flag overrules what a file says; none if
// none was given. Two of one source are a mistake.
func (s sources) choose(names ...string) (string, error) {
	chosen := ""
	for _, name := range names {
		switch {
		case !s.given(name):
		case chosen == "" || s[name].rank > s[chosen].rank:
			chosen = name
		case s[name].rank == s[chosen].rank:
			return "", usagef("%s and %s exclude each other: leave one of them out", s[chosen].name, s[name].name)
		}
	}
	return chosen, nil
}

// resolved is what runs a command: its work, once its settings are filled in.
func resolved[O any](
	a *app, settings *O, work func(ctx context.Context, settings *O, from sources) error,
) func(cmd *cobra.Command, _ []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		from, err := a.resolve(cmd)
		if err != nil {
			return err
		}
		return work(cmd.Context(), settings, from)
	}
}

// resolve fills in the flags that were not given from the environment, and
// those that are not there from the configuration file. A variable that is
// empty counts as not set.
func (a *app) resolve(cmd *cobra.Command) (sources, error) {
	a.unknown = a.unknownVariables(cmd.Root())
	found := make(sources)
	var problem error
	visit := func(set func(f *pflag.Flag) error) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if problem == nil && f.Name != "help" && !found.given(f.Name) {
				problem = set(f)
			}
		})
	}
	visit(func(f *pflag.Flag) error {
		variable := envName(f.Name)
		switch {
		case f.Changed:
			found[f.Name] = source{byFlag, "--" + f.Name}
		case a.env[variable] != "":
			if err := f.Value.Set(a.env[variable]); err != nil {
				return usagef("%s: %w", variable, err)
			}
			found[f.Name] = source{byEnvironment, variable}
		}
		return nil
	})
	if problem != nil || !found.given("config") {
		return found, problem
	}
	path := cmd.Flags().Lookup("config").Value.String()
	file, err := readConfig(path, allFlags(cmd.Root()))
	if err != nil {
		return found, usagef("%s: %w", found["config"].name, err)
	}
	visit(func(f *pflag.Flag) error {
		entry, ok := file[f.Name]
		if !ok {
			return nil
		}
		where := fmt.Sprintf("%s line %d: %s", path, entry.Line, f.Name)
		if err := setFromYAML(f, entry); err != nil {
			return usagef("%s: %w", where, err)
		}
		found[f.Name] = source{byFile, where}
		return nil
	})
	return found, problem
}

// unknownVariable looks like one of ours and is not: most often it is
// misspelled. Its value is not kept.
type unknownVariable struct{ name, hint string }

// unknownVariables finds them. They are no error, since Kubernetes makes such
// variables for a service named growth-export.
func (a *app) unknownVariables(root *cobra.Command) []unknownVariable {
	var known []string
	for _, name := range allFlags(root) {
		known = append(known, strings.TrimPrefix(envName(name), envPrefix))
	}
	for _, variable := range secretVariables() {
		name := strings.TrimPrefix(variable, envPrefix)
		known = append(known, name, name+fileSuffix)
	}
	var unknown []unknownVariable
	for _, variable := range slices.Sorted(maps.Keys(a.env)) {
		name, ours := strings.CutPrefix(variable, envPrefix)
		if ours && a.env[variable] != "" && !slices.Contains(known, name) {
			unknown = append(unknown, unknownVariable{variable, didYouMean(envPrefix, name, known)})
		}
	}
	return unknown
}

// allFlags lists the flags of all commands: a configuration file and an
// environment may serve several.
func allFlags(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, flagNames(cmd)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
