package report

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.org/growthexport/internal/wording"
)

// change formats the difference between two counts in percent.
func change(before, now int64) string {
	switch before {
	case now:
		return "="
	case 0:
		return "new"
	}
	part := (float64(now) - float64(before)) / math.Abs(float64(before)) * 100
	sign, digits := "+", 1
	if part < 0 {
		sign = "−"
	}
	part = math.Abs(part)
	if part >= 100 {
		digits = 0
	}
	text := strconv.FormatFloat(part, 'f', digits, 64)
	if text == "0.0" {
		return map[string]string{"+": "< +0.1%", "−": "> −0.1%"}[sign]
	}
	return sign + text + "%"
}

// duration formats a duration with two or three digits, or in two units.
func duration(d time.Duration) string {
	decimal := func(unit time.Duration, decimals int, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', decimals, 64) + " " + name
	}
	switch {
	case d < 10*time.Millisecond && d%time.Millisecond != 0:
		return decimal(time.Millisecond, 1, "ms")
	case d < 995*time.Millisecond:
		return decimal(time.Millisecond, 0, "ms")
	case d < 10*time.Second && d%time.Second != 0:
		return decimal(time.Second, 1, "s")
	case d < time.Minute:
		return decimal(time.Second, 0, "s")
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	default:
		return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	d = d.Round(small)
	text := wording.Count(int64(d/large)) + " " + largeName
	if rest := int64(d % large / small); rest > 0 {
		text += " " + wording.Count(rest) + " " + smallName
	}
	return text
}

// seconds formats a duration that was read from a file.
func seconds(s float64) string {
	if !(s > 0) { //nolint:staticcheck // NaN as well
		s = 0
	}
	return duration(time.Duration(min(s*float64(time.Second), math.MaxInt64/2)))
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(dayLayout + ", 15:04:05 UTC")
}

const dayLayout = "2 January 2006"

// day formats a date such as 2026-11-20.
func day(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format(dayLayout)
}

// first lists up to most names and counts the others.
func first(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + wording.Count(more) + " more"
	}
	return text
}

// clip shortens text, and replaces characters that cannot be shown.
func clip(text string, maxChars int) string {
	return wording.Cut(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")), maxChars)
}
