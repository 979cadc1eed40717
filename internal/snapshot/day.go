package snapshot

import (
	"fmt"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// DayOf returns the number of days from 1970-01-01 to a date, which is how date columns store dates.
func DayOf(date string) (int32, error) {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("read a date: %w", err)
	}
	return int32(t.Unix() / secondsPerDay), nil
}

// DateOf returns the date that is the given number of days after 1970-01-01.
func DateOf(day int32) string {
	return time.Unix(int64(day)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// YearBefore returns the time, in microseconds since 1970, before which results are more than a year old on a date:
// 00:00 UTC of the same day one year earlier, or of 28 February for 29 February.
func YearBefore(date string) (int64, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("read the snapshot date: %w", err)
	}
	before := day.AddDate(-1, 0, 0)
	if before.Day() != day.Day() {
		before = before.AddDate(0, 0, -1) // 29 February became 1 March
	}
	return before.UnixMicro(), nil
}
