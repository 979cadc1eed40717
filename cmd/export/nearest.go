package main

import (
	"strconv"
	"strings"
)

// quoted repeats what a user wrote, on one line and shortened.
func quoted(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}

// didYouMean is a clause that names the candidate nearest to word, both without
// their prefix; empty if none is near.
func didYouMean(prefix, word string, candidates []string) string {
	best, least := "", len(word)/3+2
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + prefix + best + "?"
}

// distance is the number of bytes to insert, remove or change between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
