package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// resolve sets each flag that was not given to the value of its environment variable or, if that is not set, to its
// value in the configuration file. An empty variable counts as not set. resolve returns the sources of the settings,
// except for switches that are off. The error is the first mistake.
func (a *app) resolve(cmd *cobra.Command) (sources, error) {
	found, mistakes := a.resolveAll(cmd)
	if len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	return found, nil
}

// resolveAll works like resolve, but returns all mistakes, and the sources of the valid settings.
func (a *app) resolveAll(cmd *cobra.Command) (sources, []error) {
	mistakes := a.checkVariables(cmd.Root())
	found := make(sources)
	for _, f := range flagsOf(cmd) {
		variable := envName(f.Name)
		switch value := a.env[variable]; {
		case f.Changed:
			found[f.Name] = source{byFlag, "--" + f.Name}
		case value != "":
			if err := f.Value.Set(value); err != nil {
				mistakes = append(mistakes, usagef("%s: %w", variable, err))
				continue
			}
			found[f.Name] = source{byEnvironment, variable}
		}
	}
	if found.given("config") {
		mistakes = append(mistakes, resolveFile(cmd, found)...)
	}
	for _, f := range flagsOf(cmd) {
		if s, ok := f.Value.(*setting[bool]); ok && !*s.target {
			delete(found, f.Name) // a switch that is off does not conflict with other settings
		}
	}
	return found, mistakes
}

// resolveFile sets the flags that are not in found to their values in the configuration file, and adds the sources of
// these values to found. It returns all mistakes.
func resolveFile(cmd *cobra.Command, found sources) (mistakes []error) {
	path, err := expandHome(cmd.Flags().Lookup("config").Value.String())
	if err != nil {
		return []error{usagef("%s: %w", found["config"].name, err)}
	}
	file, errs := readConfig(path, allFlags(cmd.Root()))
	if format := cmd.Flags().Lookup("output"); format != nil && file[format.Name] != nil && !found.given(format.Name) {
		// The output format is set first, because errors are written in it. An invalid format is reported below.
		_ = setFromYAML(format, file[format.Name])
	}
	for _, err := range errs {
		mistakes = append(mistakes, usagef("%s: %w", found["config"].name, err))
	}
	for _, f := range flagsOf(cmd) {
		if entry, ok := file[f.Name]; ok && !found.given(f.Name) {
			where := fmt.Sprintf("%s line %d: %s", path, entry.Line, f.Name)
			if err := setFromYAML(f, entry); err != nil {
				mistakes = append(mistakes, usagef("%s: %w", where, err))
				continue
			}
			found[f.Name] = source{byFile, where}
		}
	}
	return mistakes
}

// ofKubernetes matches the names, without envPrefix, of variables that Kubernetes sets in every pod if there is a
// service named growth-export.
var ofKubernetes = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// checkVariables returns a mistake for each variable with the prefix GROWTH_EXPORT_ that is not a setting of any
// command, unless it is empty or looks like a variable of Kubernetes. Such a variable is probably misspelled, and
// ignoring it would silently drop a setting. The mistake does not repeat the variable's value, which may be a secret.
func (a *app) checkVariables(root *cobra.Command) (mistakes []error) {
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
			mistakes = append(mistakes, usagef("environment variable %s is not a setting%s", variable, didYouMean(envPrefix, name, known)))
		}
	}
	return mistakes
}

// allFlags returns the names of the flags of all commands, because a configuration file or an environment may be used
// for several commands.
func allFlags(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, flagNames(cmd)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
