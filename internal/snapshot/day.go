package snapshot

import (
	"fmt"
	"time"

	"example.org/growthexport/schemas"
)

const secondsPerDay = 24 * 60 * 60

// DayOf returns the day of a date, counted from 1970-01-01 as date columns do.
func DayOf(date string) (int32, error) {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("read a date: %w", err)
	}
	return int32(t.Unix() / secondsPerDay), nil
}

// DateOf returns the date of a day.
func DateOf(day int32) string {
	return time.Unix(int64(day)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// YearBefore returns the time, in microseconds since 1970, before which results are more than a year old on a date:
// 00:00 UTC of the same day one year earlier, or of 28 February for 29 February. Under a profile that replaces the date
// of a result by the first day of its month, it is the first day of that month, so that no result counts as older than
// it may be.
func YearBefore(date string, profile schemas.Profile) (int64, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("read the snapshot date: %w", err)
	}
	before := day.AddDate(-1, 0, 0)
	if before.Day() != day.Day() {
		before = before.AddDate(0, 0, -1) // 29 February became 1 March
	}
	if profile == schemas.Minimal {
		before = before.AddDate(0, 0, 1-before.Day())
	}
	return before.UnixMicro(), nil
}
