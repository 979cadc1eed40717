package maintenance

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters replaces letters that Unicode does not decompose with the letters that users type instead.
var letters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ß", "ss", "æ", "ae", "œ", "oe", "ı", "i")

// inWord contains the signs within words that users may omit: apostrophes, hyphens and dots.
const inWord = "'’‘`´ʼʻ-‐‑–.·"

// name is a name that is split into words, in lower case and without accents.
type name struct {
	// whole contains the words without the signs in inWord, and parts contains the pieces between these signs.
	whole, parts []string
}

func nameOf(text string) name {
	var n name
	folded := letters.Replace(strings.ToLower(norm.NFD.String(text)))
	folded = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, folded)
	isSign := func(r rune) bool { return strings.ContainsRune(inWord, r) }
	words := strings.FieldsFunc(folded, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !isSign(r)
	})
	for _, word := range words {
		parts := strings.FieldsFunc(word, isSign)
		if len(parts) > 0 {
			n.whole = append(n.whole, strings.Join(parts, ""))
			n.parts = append(n.parts, parts...)
		}
	}
	return n
}

// matches reports whether each word of n, or each part of a word of n, is the beginning of a different word, or part of
// a word, of the other name.
func (n name) matches(other name) bool {
	candidates := other.parts
	for _, word := range other.whole {
		if !slices.Contains(candidates, word) {
			candidates = append(candidates, word)
		}
	}
	return beginWords(n.whole, candidates) || beginWords(n.parts, candidates)
}

// beginWords reports whether each of words is the beginning of a different word in others.
func beginWords(words, others []string) bool {
	left := slices.Clone(others)
	for _, word := range words {
		at := slices.IndexFunc(left, func(w string) bool { return strings.HasPrefix(w, word) })
		if at < 0 {
			return false
		}
		left = slices.Delete(left, at, at+1)
	}
	return true
}
