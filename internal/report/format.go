package report

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.org/growthexport/internal/wording"
)

// functions are what the template formats values with.
func functions() template.FuncMap {
	return template.FuncMap{
		"count": wording.Count[int64], "number": wording.Count[int], "size": wording.Size, "clock": clock, "day": day,
	}
}

// change is how much of before was won or lost, in percent: empty where that says nothing.
func change(before, now int64) string {
	switch before {
	case now:
		return "="
	case 0:
		return "new"
	}
	part := float64(now-before) / float64(before) * 100
	digits := 1
	if math.Abs(part) >= 100 {
		digits = 0
	}
	text := strconv.FormatFloat(math.Abs(part), 'f', digits, 64)
	switch {
	case text == "0.0" && part > 0:
		return "< +0.1 %"
	case text == "0.0":
		return "> −0.1 %"
	case part > 0:
		return "+" + text + " %"
	default:
		return "−" + text + " %"
	}
}

// short writes a length of time with two or three digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms"
	case d < 995*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 0, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	case d < time.Hour:
		return pair(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return pair(d, time.Hour, "h", time.Minute, "min")
	default:
		return pair(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

// pair writes a length of time in a unit and a smaller one.
func pair(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	d = d.Round(small)
	text := strconv.FormatInt(int64(d/large), 10) + " " + largeName
	if rest := int64(d % large / small); rest > 0 {
		text += " " + strconv.FormatInt(rest, 10) + " " + smallName
	}
	return text
}

// clock writes a moment.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 January 2006, 15:04:05 UTC")
}

// day writes a date as people do.
func day(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format("2 January 2006")
}

// clip keeps a text of the service to a length that a page bears, and to what can be shown.
func clip(text string, most int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}
