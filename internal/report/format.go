package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/wording"
)

// change formats the difference between two counts in percent, or as a count if the percentage would be 0.0%. It
// returns "=" if the counts are equal, and "new" if only the first count is 0.
func change(before, now int64) string {
	switch before {
	case now:
		return "="
	case 0:
		return "new"
	}
	part := (float64(now)/float64(before) - 1) * 100
	if math.Abs(part) < 0.05 { // "-0.0%" is not informative
		return strings.Replace(fmt.Sprintf("%+d", now-before), "-", "−", 1)
	}
	digits := 1
	if math.Abs(part) >= 100 {
		digits = 0
	}
	return strings.Replace(fmt.Sprintf("%+.*f%%", digits, part), "-", "−", 1)
}

// duration formats a duration, with at most three digits if it is below ten seconds.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return wording.Duration(d)
	}
}

// runDuration formats the duration of a run, which is measured in whole seconds.
func runDuration(d time.Duration) string {
	if d < time.Second {
		return "under 1s"
	}
	return duration(d)
}

type percentiles struct{ P50, P90, P99 string }

// percentilesOf formats the percentiles of a histogram. The texts are empty if there were no requests.
func percentilesOf(h activity.Histogram) percentiles {
	if h.Count() == 0 {
		return percentiles{}
	}
	return percentiles{duration(h.Percentile(50)), duration(h.Percentile(90)), duration(h.Percentile(99))}
}

// seconds formats a number of seconds. The number comes from a file and may be out of range.
func seconds(s float64) string {
	if s > 0 {
		return duration(time.Duration(min(s*float64(time.Second), math.MaxInt64/2)))
	}
	return "0s"
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(dayLayout + ", 15:04:05 UTC")
}

const dayLayout = "2 January 2006"

// day formats a date such as 2026-11-20. It returns any other text unchanged.
func day(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format(dayLayout)
}

// maxEscaped is the maximum length of one character's escape sequence.
const maxEscaped = len(`\U0010ffff`)

// clip shortens a text to at most maxChars characters. Characters that are invisible or reverse the direction of
// writing become escapes, and line breaks and tabs become spaces.
func clip(text string, maxChars int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case wording.IsControl(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return wording.Cut(b.String(), maxChars)
}

func sum(counts map[string]int64) int64 {
	var n int64
	for _, count := range counts {
		n += count
	}
	return n
}
