package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpandDates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want string }{
		{"2026-09-01", "2026-09-01"},
		{"2026-09-01,2026-09-02,2026-09-01", "2026-09-01 2026-09-02"},
		{"2026-09-01..2026-09-03/1d", "2026-09-01 2026-09-02 2026-09-03"},
		{"2026-09-01..2026-09-05/2d", "2026-09-01 2026-09-03 2026-09-05"},
		{"2026-09-01..2026-09-04/2d", "2026-09-01 2026-09-03 2026-09-04"},
		{"2026-09-01..2026-09-15/1w", "2026-09-01 2026-09-08 2026-09-15"},
		{"2025-12-31..2026-04-30/1mo", "2025-12-31 2026-01-31 2026-02-28 2026-03-31 2026-04-30"},
		{"2025-09-01..2026-06-01/3mo", "2025-09-01 2025-12-01 2026-03-01 2026-06-01"},
		{"2026-09-01..2026-09-01/1d", "2026-09-01"},
	} {
		dates, err := expandDates(strings.Split(c.given, ","))
		require.NoError(t, err, c.given)
		require.Equal(t, c.want, strings.Join(dates, " "), c.given)
	}
	for _, bad := range []string{
		"2026-02-30", "2026-09-01..", "..2026-09-01", "2026-09-03..2026-09-01", "2026-09-01..2026-09-03/0d",
		"2026-09-01..2026-09-03/1y", "2026-09-01..2026-09-03/d", "2026-09-01..2026-09-03/-1d", "0001-01-01..9999-12-31/1d", "yesterday",
	} {
		_, err := expandDates([]string{bad})
		require.Error(t, err, bad)
	}
	dates, err := expandDates([]string{"2000-01-01..2027-05-18/1d"})
	require.NoError(t, err)
	require.Len(t, dates, maxDates)
	_, err = expandDates([]string{"2000-01-01..2027-05-19/1d"})
	require.ErrorContains(t, err, "more than 10000 dates")
	_, err = expandDates([]string{"2025-09-01..2026-06-01"})
	require.ErrorContains(t, err, `"2025-09-01..2026-06-01" has no step: write 2025-09-01..2026-06-01/1mo (or 1d, 1w: d is days, w weeks, mo months)`)
}

func TestWorseExitCode(t *testing.T) {
	t.Parallel()
	order := []int{exitUsage, exitInterrupted, exitRefused, exitFailed, exitHeld, exitPartial, exitOK}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, order[min(i, j)], worse(a, b))
		}
	}
}
