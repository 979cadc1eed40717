package main

import (
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/internal/pipeline"
)

// usagef returns an error for a command called with wrong settings.
func usagef(format string, args ...any) error { return pipeline.Usagef(format, args...) }

// quoted returns a user's text in quotes, on one line and shortened to maxQuoted characters.
func quoted(text string) string {
	const maxQuoted = 60
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "..."
	}
	return strconv.Quote(text)
}

// synonyms maps words that users may try first, or know from other tools, to commands, flags and datasets.
var synonyms = map[string]string{
	"export": "run", "fetch": "run", "download": "run", "sync": "run", "list": "status", "ls": "status", "runs": "status",
	"check": "doctor", "compare": "diff", "erase": "purge", "delete": "purge", "serve": "simulate", "search": "find",
	"json": "output json", "format": "output", "out": "dest", "destination": "dest", "date": "snapshot-date", "url": "base-url",
	"verbose": "log-level debug", "quiet": "log-level error", "force": "replace",
	"results": "test_results", "classes": "school_classes",
}

// didYouMean returns a clause that suggests a candidate for word: a synonym, a candidate that begins with word, or one
// that differs in one letter or in at most a third of the letters of word. prefix is added to the suggestion; word and
// candidates do not contain it. It returns "" if there is no such candidate.
func didYouMean(prefix, word string, candidates []string) string {
	word = strings.ToLower(word)
	nearest := synonyms[word]
	if name, _, _ := strings.Cut(nearest, " "); !slices.Contains(candidates, name) {
		nearest = ""
		least := max(1, len(word)/3) + 1
		for _, candidate := range candidates {
			distance := edits(word, strings.ToLower(candidate))
			if strings.HasPrefix(candidate, word) {
				distance = min(distance, 1)
			}
			if distance < least || distance == least && nearest != "" && len(candidate) < len(nearest) {
				nearest, least = candidate, distance
			}
		}
	}
	if nearest == "" {
		return ""
	}
	return ", did you mean " + prefix + nearest + "?"
}

// edits returns the edit distance from a to b: the minimum number of letters to insert, remove, replace or swap with
// the next letter.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			changed := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			rows[i][j] = min(changed, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
