package wording

import (
	"strconv"
	"strings"
)

// Count writes a whole number with commas between the thousands.
func Count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Many writes how many there are of a thing whose plural ends in s.
func Many[N int | int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Size writes bytes with a decimal unit.
func Size(bytes int64) string {
	if bytes < 1000 {
		return Count(bytes) + " B"
	}
	value, units := float64(bytes)/1000, "kMGTPE"
	for value >= 999.95 && len(units) > 1 {
		value, units = value/1000, units[1:]
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[:1] + "B"
}

// ShellWord quotes a word for a shell where it needs quotes.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-:=@%+,", r)
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
