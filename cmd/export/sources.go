package main

import "strings"

// envPrefix begins the names of our environment variables.
const envPrefix = "GROWTH_EXPORT_"

// envName returns the variable of a flag: GROWTH_EXPORT_SOME_NAME of --some-name.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// rank orders the sources of a value: the highest wins.
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
	name string // as a user would search for it
}

// sources holds the source of every flag that was set.
type sources map[string]source

// given reports whether the flag was set.
func (s sources) given(flag string) bool { return s[flag].rank != byDefault }

// pick returns which of several settings that cannot be used together takes effect: the one from the strongest source,
// so that a flag overrides a file; empty if none was given. Two from sources of equal strength are an error.
func (s sources) pick(names ...string) (string, error) {
	chosen := ""
	for _, name := range names {
		switch {
		case !s.given(name):
		case chosen == "" || s[name].rank > s[chosen].rank:
			chosen = name
		case s[name].rank == s[chosen].rank:
			return "", usagef("%s and %s cannot be used together: remove one of them", s[chosen].name, s[name].name)
		}
	}
	return chosen, nil
}

// ignoreUnlessFlags forgets settings that a command takes as flags alone: in the environment or a file that commands
// share, the same names are settings of run.
func (s sources) ignoreUnlessFlags(names ...string) {
	for _, name := range names {
		if s[name].rank != byFlag {
			delete(s, name)
		}
	}
}
