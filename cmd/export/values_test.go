package main

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/schemas"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	good := map[string]int64{
		"1B": 1, "1048576B": 1 << 20, "32MiB": 32 << 20, "8MB": 8e6, "8M": 8e6, "5kib": 5 << 10, "2 GiB": 2 << 30, "7B": 7, "1k": 1000,
	}
	for text, want := range good {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "-1", "1", "32", "1048576", "MiB", "1.5MiB", "1TiB", "1MM", "1iB", "9999999999GiB", "9223372036854775808", "1 MiB x", "0x10"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"unlimited": 0, "5": 5, "0.25": 0.25} {
		got, err := parseRate(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 0, text)
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "fast", "5/s"} {
		_, err := parseRate(text)
		require.Error(t, err, text)
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	got, err := parseDuration("1h30m")
	require.NoError(t, err)
	require.Equal(t, 90*time.Minute, got)
	for _, text := range []string{"", "0", "0s", "-1s", "60", "1 day"} {
		_, err := parseDuration(text)
		require.Error(t, err, text)
	}
	got, err = parseWait("0")
	require.NoError(t, err)
	require.Zero(t, got)
}

func TestParseShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"0": 0, "0.15": 0.15, "15%": 0.15, "15 %": 0.15, "1": 1, "100%": 1} {
		got, err := parseShare(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"", "-0.1", "1.1", "101%", "NaN", "some"} {
		_, err := parseShare(text)
		require.Error(t, err, text)
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()
	got, err := parseDate("2024-02-29")
	require.NoError(t, err)
	require.Equal(t, "2024-02-29", got)
	for _, text := range []string{"", "2025-02-29", "2026-2-3", "20261120", "2026-11-20T00:00:00Z", "today", "../2026-01-01"} {
		_, err := parseDate(text)
		require.Error(t, err, text)
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	n, err := between(1, 8)("8")
	require.NoError(t, err)
	require.Equal(t, 8, n)
	for _, text := range []string{"0", "9", "1.0", "1e1", "", "99999999999999999999"} {
		_, err := between(1, 8)(text)
		require.EqualError(t, err, quoted(text)+" is not a whole number from 1 to 8")
	}
	_, err = between[int64](1, math.MaxInt64)("0")
	require.EqualError(t, err, `"0" is not a whole number of at least 1`)
}

func TestParseBaseURL(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"https://host":                "https://host",
		"https://Host:8443/":          "https://host:8443",
		"HTTP://127.0.0.1:80/a/b%2F/": "http://127.0.0.1/a/b%2F",
		"https://host:443//":          "https://host",
		"http://[::1]:8080/sim":       "http://[::1]:8080/sim",
	}
	for text, want := range good {
		u, err := parseBaseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, u.String())
	}
	bad := []string{
		"", "host", "host:80", "/path", "//host", "ftp://host", "https:", "https://", "https:host", "https://:80",
		"https://host:", "https://host:0", "https://host:65536", "https://host:x", "https://ho st", "https://host/%zz",
		"https://secret@host", "https://u:secret@host", "https://host?", "https://host?secret=1", "https://host#", "https://host#secret",
	}
	for _, text := range bad {
		_, err := parseBaseURL(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestParseDest(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"./growth-data":          "growth-data",
		"/data/x/":               "/data/x",
		"file:///data/x":         "/data/x",
		"file:///a%20b/c%3Fd":    "/a b/c?d",
		"file://localhost/a":     "/a",
		"a:b":                    "a:b",
		"with space/and'quote":   "with space/and'quote",
		"..":                     "..",
		"https-is-not-a-scheme/": "https-is-not-a-scheme",
	}
	for text, want := range good {
		got, err := parseDest(text)
		require.NoError(t, err, text)
		require.Equal(t, filepath.FromSlash(want), got.path)
	}
	got, err := parseDest("S3://some-bucket/a/b/")
	require.NoError(t, err)
	require.Equal(t, place{"s3", "some-bucket/a/b"}, got)
	for _, text := range []string{
		"", "s3://", "s3://b", "s3:/bucket/a", "S3:bucket", "s3://bucket/a//b", "s3://bucket/../b", "gs://b", "http://h/p", "file:x", "file://host/x", "file:///a?b", "file:///a#b", "file://", "file:///a%00", "a\x00b",
	} {
		_, err := parseDest(text)
		require.Error(t, err, "%q", text)
	}
}

func TestParseShard(t *testing.T) {
	t.Parallel()
	got, err := parseShard("2/3")
	require.NoError(t, err)
	require.Equal(t, shard{2, 3}, got)
	for _, text := range []string{"", "1", "/", "1/", "/2", "3/3", "-1/3", "0/0", "a/b", "1/2/3", "1.0/2"} {
		_, err := parseShard(text)
		require.Error(t, err, text)
	}
}

func TestParseRunID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "2026-11-20_x.1", string(make([]byte, 0)) + "A-._9"} {
		_, err := parseRunID(text)
		require.NoError(t, err, text)
	}
	long := make([]byte, 65)
	for i := range long {
		long[i] = 'a'
	}
	for _, text := range []string{"", "a/b", "a b", "é", "a\n", string(long)} {
		_, err := parseRunID(text)
		require.Error(t, err, text)
	}
}

func TestExpandDatasets(t *testing.T) {
	t.Parallel()
	var all, byDefault []string
	for _, d := range schemas.Datasets() {
		all = append(all, d.Name)
		if d.Default {
			byDefault = append(byDefault, d.Name)
		}
	}
	tests := []struct{ words, want []string }{
		{[]string{"all"}, all},
		{[]string{"default"}, byDefault},
		{[]string{"test_results", "schools", "test_results"}, []string{"schools", "test_results"}},
		{[]string{"default", "all"}, all},
	}
	for _, test := range tests {
		got, err := expandDatasets(test.words)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
	both, err := expandDatasets([]string{"student_details", "default"})
	require.NoError(t, err)
	require.Len(t, both, len(byDefault)+1)
	_, err = expandDatasets([]string{"schools", "growth"})
	require.ErrorContains(t, err, `unknown dataset "growth"`)
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	names := []string{"students", "test_result_norms", "test_results", "rate", "report", "run", "status", "output"}
	for word, want := range map[string]string{
		"Test_result":  ", did you mean --test_results?",
		"tets_results": ", did you mean --test_results?",
		"test":         ", did you mean --test_results?",
		"results":      ", did you mean --test_results?",
		"rnu":          ", did you mean --run?",
		"export":       ", did you mean --run?",
		"ls":           ", did you mean --status?",
		"JSON":         ", did you mean --output json?",
		"url":          "", // base-url is not among the names
		"wat":          "",
		"growth":       "",
	} {
		require.Equal(t, want, didYouMean("--", word, names), word)
	}
}

func TestTimeOfDay(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 10, 24, 5, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		zone         *time.Location
		hour, minute int
		want         string
	}{
		{time.UTC, 6, 0, "2026-10-24T06:00:00Z"},
		{time.UTC, 5, 30, "2026-10-25T05:30:00Z"}, // not now
		{time.UTC, 0, 0, "2026-10-25T00:00:00Z"},
		{berlin, 7, 31, "2026-10-24T05:31:00Z"},
		{berlin, 7, 0, "2026-10-25T06:00:00Z"}, // clocks go back in between
	} {
		next := timeOfDay{test.hour, test.minute, test.zone}.next(now)
		require.Equal(t, test.want, next.UTC().Format(time.RFC3339))
	}
	require.Equal(t, "2026-10-25 05:30Z", pipeline.DeadlineText(timeOfDay{5, 30, time.UTC}.next(now)), "it is the next day's")
	require.Equal(t, "2026-10-25 07:30", pipeline.DeadlineText(timeOfDay{7, 30, berlin}.next(now)))
	parsed, err := parseTimeOfDay("06:05Z")
	require.NoError(t, err)
	require.Equal(t, timeOfDay{6, 5, time.UTC}, parsed)
	parsed, err = parseTimeOfDay("23:59")
	require.NoError(t, err)
	require.Equal(t, timeOfDay{23, 59, time.Local}, parsed)
	for _, text := range []string{"", "6:05", "24:00", "06:60", "0605", "06:05z", "06:05:00", "06:05 Z"} {
		_, err := parseTimeOfDay(text)
		require.Error(t, err, text)
	}
}

func TestRateOfShards(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rate, total    float64
		shards, atOnce int
		want           float64
	}{
		{0, 0, 3, 0, 0},
		{5, 0, 3, 0, 5},
		{0, 12, 3, 0, 4},
		{5, 12, 3, 0, 4},
		{2, 12, 3, 0, 2},
		{0, 12, 1, 0, 12},
		{0, 12, 3, 2, 6},
		{5, 12, 3, 2, 5},
		{0, 12, 3, 4, 4},
		{7, 0, 3, 2, 7},
		{0, 12, 1, 4, 12},
	} {
		require.InDelta(t, test.want, (&sharding{rateTotal: test.total, atOnce: test.atOnce}).rateOf(test.rate, test.shards), 0)
	}
}
