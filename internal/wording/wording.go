package wording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Count formats a whole number with commas between thousands.
func Count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Many formats a count with the name of the things counted, whose plural must end in s.
func Many[N int | int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// IsControl reports whether a character controls a terminal or page instead of being shown: a control character, a line
// separator, or a mark that reverses the direction of writing.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Retries formats a count of retries.
func Retries(n int64) string {
	if n == 1 {
		return "1 retry"
	}
	return Count(n) + " retries"
}

// Size formats a number of bytes with a decimal unit.
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

// Duration formats a duration: to the tenth of a second if it is below a second, to the second if it is below an hour,
// and to the minute otherwise, without trailing zero units.
func Duration(d time.Duration) string {
	unit := time.Second
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d >= time.Hour:
		unit = time.Minute
	}
	text := d.Round(unit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Cut returns text, shortened to maxChars characters with an ellipsis at the end if it is longer.
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

// OneLine returns the text of an error on one line, even if the error joins several.
func OneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// First lists up to most words and counts the remaining words.
func First(words []string, most int) string {
	text := strings.Join(words[:min(len(words), most)], ", ")
	if more := len(words) - most; more > 0 {
		text += " and " + Count(more) + " more"
	}
	return text
}

// MaxName is the number of characters to which messages shorten a name.
const MaxName = 60

// Name formats a name from the service, such as a school's, for a line of text. It is shortened to MaxName characters,
// and quoted if it has characters that could break the line or change how the rest is shown, such as control characters
// and marks that reverse the direction of writing.
func Name(name string) string {
	name = Cut(name, MaxName)
	if strings.ContainsFunc(name, unprintable) || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// Bid formats a bid, which is opaque text, as one word.
func Bid(bid string) string {
	odd := func(r rune) bool { return unprintable(r) || r == ' ' || r == '"' }
	if strings.ContainsFunc(bid, odd) {
		return strconv.Quote(bid)
	}
	return bid
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// School formats a school as its name, if it has one, and its bid.
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

// ShellWord returns text as one word of a shell command, quoted if necessary.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-:=@%+,", r)
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
