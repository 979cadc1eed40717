package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
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
	if err := a.checkVariables(cmd.Root()); err != nil {
		return nil, err
	}
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
	path, err := expandHome(cmd.Flags().Lookup("config").Value.String())
	if err != nil {
		return found, usagef("%s: %w", found["config"].name, err)
	}
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

// ofKubernetes matches the variables, without envPrefix, that Kubernetes sets in
// every pod beside a service named growth-export.
var ofKubernetes = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// checkVariables refuses a variable that begins with envPrefix and is not a
// setting of any command: it is most likely misspelled, and ignoring it would
// silently drop a setting. Its value, which may be a secret, is not repeated. An
// empty one counts as not set.
func (a *app) checkVariables(root *cobra.Command) error {
	var known []string
	for _, name := range allFlags(root) {
		known = append(known, strings.TrimPrefix(envName(name), envPrefix))
	}
	for _, variable := range secretVariables() {
		name := strings.TrimPrefix(variable, envPrefix)
		known = append(known, name, name+fileSuffix)
	}
	for _, variable := range slices.Sorted(maps.Keys(a.env)) {
		name, ours := strings.CutPrefix(variable, envPrefix)
		if ours && a.env[variable] != "" && !slices.Contains(known, name) && !ofKubernetes.MatchString(name) {
			return usagef("environment variable %s is not a setting%s", variable, didYouMean(envPrefix, name, known))
		}
	}
	return nil
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
