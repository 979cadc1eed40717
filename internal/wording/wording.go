package wording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
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

// Duration formats a duration to the second below an hour, and to the minute above.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}

// Cut returns text shortened to at most the given number of characters, the
// last of which is then an ellipsis.
func Cut(text string, maxChars int) string {
	chars, last := 0, 0
	for i := range text {
		switch chars++; {
		case chars == maxChars:
			last = i
		case chars > maxChars:
			return text[:last] + "…"
		}
	}
	return text
}

// MaxName is the length, in characters, at which messages cut a name.
const MaxName = 60

// Name writes a name that came from the service, such as a school's, on one
// line: cut at MaxName characters, and quoted if it holds anything that could
// break the line or change how the rest of it is shown, such as control
// characters and marks that reverse the direction of writing.
func Name(name string) string {
	name = Cut(name, MaxName)
	if strings.ContainsFunc(name, unprintable) || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// Bid writes a bid, which is opaque text, as one word on one line.
func Bid(bid string) string {
	odd := func(r rune) bool { return unprintable(r) || r == ' ' || r == '"' }
	if strings.ContainsFunc(bid, odd) {
		return strconv.Quote(bid)
	}
	return bid
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// School writes a school with its name, if it has one, beside its bid.
func School(name, bid string) string {
	switch {
	case bid == "" && name == "":
		return "a school without a bid"
	case bid == "":
		return Name(name) + " (no bid)"
	case name == "":
		return Bid(bid)
	default:
		return Name(name) + " (" + Bid(bid) + ")"
	}
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
