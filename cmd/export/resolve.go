package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// resolve sets the flags that were not given from the environment, and the rest from the configuration file. An empty
// variable counts as not set.
func (a *app) resolve(cmd *cobra.Command) (sources, error) {
	if err := a.checkVariables(cmd.Root()); err != nil {
		return nil, err
	}
	found := make(sources)
	for _, f := range flagsOf(cmd) {
		variable := envName(f.Name)
		switch value := a.env[variable]; {
		case f.Changed:
			found[f.Name] = source{byFlag, "--" + f.Name}
		case value != "":
			if err := f.Value.Set(value); err != nil {
				return nil, usagef("%s: %w", variable, err)
			}
			found[f.Name] = source{byEnvironment, variable}
		}
	}
	if found.given("config") {
		if err := resolveFile(cmd, found); err != nil {
			return nil, err
		}
	}
	for _, f := range flagsOf(cmd) {
		if s, ok := f.Value.(*setting[bool]); ok && !*s.target {
			delete(found, f.Name) // a switch that is set to its default conflicts with nothing
		}
	}
	return found, nil
}

// resolveFile sets the flags that were not found elsewhere from the configuration file.
func resolveFile(cmd *cobra.Command, found sources) error {
	path, err := expandHome(cmd.Flags().Lookup("config").Value.String())
	if err != nil {
		return usagef("%s: %w", found["config"].name, err)
	}
	file, err := readConfig(path, allFlags(cmd.Root()))
	if format := cmd.Flags().Lookup("output"); format != nil && file[format.Name] != nil && !found.given(format.Name) {
		_ = setFromYAML(format, file[format.Name]) // set it first, because errors use this format; its own error is reported below
	}
	if err != nil {
		return usagef("%s: %w", found["config"].name, err)
	}
	for _, f := range flagsOf(cmd) {
		if entry, ok := file[f.Name]; ok && !found.given(f.Name) {
			where := fmt.Sprintf("%s line %d: %s", path, entry.Line, f.Name)
			if err := setFromYAML(f, entry); err != nil {
				return usagef("%s: %w", where, err)
			}
			found[f.Name] = source{byFile, where}
		}
	}
	return nil
}

// ofKubernetes matches the variables, without envPrefix, that Kubernetes sets in every pod beside a service named
// growth-export.
var ofKubernetes = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// checkVariables rejects a variable with the prefix GROWTH_EXPORT_ that is not a setting of any command: it is probably
// misspelled, and ignoring it would silently drop a setting. The error does not repeat its value, which may be a
// secret.
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

// allFlags returns the flags of all commands, because a configuration file or an environment may be used for several
// commands.
func allFlags(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, flagNames(cmd)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
