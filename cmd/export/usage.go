package main

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
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

// didYouMean returns a clause that suggests the candidate nearest to word, both without their prefix; empty if none is
// near.
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
