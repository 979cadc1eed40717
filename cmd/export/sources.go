package main

import "strings"

// envPrefix is the prefix of the environment variables for settings.
const envPrefix = "GROWTH_EXPORT_"

// envName returns the variable for a flag: GROWTH_EXPORT_SOME_NAME for --some-name.
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

// source describes where a value came from.
type source struct {
	rank rank
	name string // in the form that a user would search for
}

// sources holds the source of every flag that was set, except for switches that were set to off.
type sources map[string]source

// given reports whether the flag was set.
func (s sources) given(flag string) bool { return s[flag].rank != byDefault }

// pick returns the name of the setting that takes effect out of several that cannot be used together: the one whose
// source has the highest rank, so that, for example, a flag overrides a file. It returns "" if none was given, and a
// usage error if two sources have the same rank.
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

// ignoreUnlessFlags drops the given settings unless they were set by flags, because the command only takes them as
// flags. In the environment or a file that commands share, the same names are settings of run.
func (s sources) ignoreUnlessFlags(names ...string) {
	for _, name := range names {
		if s[name].rank != byFlag {
			delete(s, name)
		}
	}
}
