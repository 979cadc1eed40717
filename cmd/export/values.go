package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// The parsers of settings. Their errors say what is wrong with a value and which values are valid; the caller adds the
// value's source.

// parseText accepts any text that is not empty.
func parseText(text string) (string, error) {
	if text == "" {
		return "", errors.New("the value is empty")
	}
	return text, nil
}

// between returns a parser that accepts only whole numbers from low to high.
func between[T int | int64](low, high T) func(string) (T, error) {
	return func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, strconv.IntSize)
		if err != nil || T(n) < low || T(n) > high {
			if high == T(math.MaxInt) {
				return 0, fmt.Errorf("%s is not a whole number of at least %d", quoted(text), low)
			}
			return 0, fmt.Errorf("%s is not a whole number from %d to %d", quoted(text), low, high)
		}
		return T(n), nil
	}
}

// optional returns a parser for a setting whose value is a pointer, which is nil if the setting was not given.
func optional[T any](parse func(string) (T, error)) func(string) (*T, error) {
	return func(text string) (*T, error) {
		value, err := parse(text)
		if err != nil {
			return nil, err
		}
		return &value, nil
	}
}

// parseRate parses a number of requests per second. It returns 0 for "unlimited".
func parseRate(text string) (float64, error) {
	if text == "unlimited" {
		return 0, nil
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return 0, fmt.Errorf("%s is neither a number of requests per second above 0 nor unlimited", quoted(text))
	}
	return rate, nil
}

// parseDuration parses a time above 0, such as 90s or 1h30m.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, notNumber := strconv.ParseFloat(text, 64); notNumber == nil && n > 0 {
		return 0, fmt.Errorf("%s has no unit: write %ss, %sm or %sh", quoted(text), text, text, text)
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is not a time above 0 with a unit, such as 500ms, 60s or 1h30m", quoted(text))
	}
	return d, nil
}

// parseDays parses a number of days, such as 60d.
func parseDays(text string) (int, error) {
	number, ok := strings.CutSuffix(text, "d")
	days, err := strconv.Atoi(number)
	if !ok || err != nil || days < 1 || days > 36500 {
		return 0, fmt.Errorf("%s is not a number of days such as 60d", quoted(text))
	}
	return days, nil
}

// parseAge parses a time like parseDuration, or a number of days, such as 2d.
func parseAge(text string) (time.Duration, error) {
	if days, err := parseDays(text); err == nil {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	return parseDuration(text)
}

// parseWait parses a time like parseDuration, but also accepts 0.
func parseWait(text string) (time.Duration, error) {
	if text == "0" || text == "0s" {
		return 0, nil
	}
	return parseDuration(text)
}

// timeOfDay is a time of day, local or in UTC.
type timeOfDay struct {
	hour, minute int
	zone         *time.Location
}

// parseTimeOfDay parses a local time of day such as 06:30, or 06:30Z in UTC.
func parseTimeOfDay(text string) (timeOfDay, error) {
	digits, isUTC := strings.CutSuffix(text, "Z")
	t, err := time.Parse("15:04", digits)
	if err != nil || len(digits) != len("15:04") {
		return timeOfDay{}, fmt.Errorf("%s is not a time of day such as 06:30, or 06:30Z in UTC", quoted(text))
	}
	zone := time.Local
	if isUTC {
		zone = time.UTC
	}
	return timeOfDay{t.Hour(), t.Minute(), zone}, nil
}

// next returns the first time after now at which it is this time of day.
func (t timeOfDay) next(now time.Time) time.Time {
	now = now.In(t.zone)
	next := time.Date(now.Year(), now.Month(), now.Day(), t.hour, t.minute, 0, 0, t.zone)
	if !next.After(now) {
		next = time.Date(now.Year(), now.Month(), now.Day()+1, t.hour, t.minute, 0, 0, t.zone)
	}
	return next
}

// parseShare parses a share of the whole, such as 0.15 or 15%.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimRight(number, " "), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%s is not a share from 0 to 1, such as 0.15 or 15%%", quoted(text))
	}
	return share, nil
}

// parseSize parses a size with a decimal or binary unit, and returns it in bytes.
func parseSize(text string) (int64, error) {
	units := map[string]int64{
		"B": 1,
		"K": 1e3, "KB": 1e3, "KIB": 1 << 10,
		"M": 1e6, "MB": 1e6, "MIB": 1 << 20,
		"G": 1e9, "GB": 1e9, "GIB": 1 << 30,
	}
	number := strings.TrimRight(text, "BKMGIbkmgi ")
	unit, known := units[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil && n > 0 && number == text {
		likely := "MiB"
		if n >= 1<<10 {
			likely = "B"
		}
		return 0, fmt.Errorf("%s has no unit, such as B, KiB or MiB: write %s%s", quoted(text), text, likely)
	}
	if err != nil || !known || n < 1 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%s is not a size above 0 with a unit, such as 32MiB, 8MB or 1048576B", quoted(text))
	}
	return n * unit, nil
}

// parseDate accepts a date in the form that paths use.
func parseDate(text string) (string, error) {
	if day, err := time.Parse(time.DateOnly, text); err != nil || day.Format(time.DateOnly) != text {
		return "", fmt.Errorf("%s is not a date such as 2026-11-20", quoted(text))
	}
	return text, nil
}

func parseRunID(text string) (string, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(text) {
		return "", fmt.Errorf("%s is not 1 to 64 letters, digits, dots, underscores and hyphens", quoted(text))
	}
	if snapshot.RunsPrefix+text == snapshot.IndexPath {
		return "", fmt.Errorf("%s is the name of the page of all runs: choose another id", quoted(text))
	}
	return text, nil
}

// parseBaseURL parses the root URL of a service. Its errors do not repeat the URL, which may hold a password.
func parseBaseURL(text string) (*url.URL, error) {
	const want = "write it like https://host or https://host/path"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("not a URL: " + want)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("not an absolute http or https URL: " + want)
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host: " + want)
	case u.User != nil:
		return nil, errors.New("the URL contains a user or password: remove them, because credentials come from GROWTH_EXPORT_API_KEY and GROWTH_EXPORT_API_SECRET")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("the URL contains a query: remove the ? and everything after it")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("the URL contains a fragment: remove the # and everything after it")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return nil, errors.New("the URL has a colon and no port: " + want)
	case u.Port() != "":
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
			return nil, errors.New("the port of the URL is not from 1 to 65535")
		}
	}
	// Run ids depend on the URL, so equivalent URLs are converted to the same form.
	if u, err = url.Parse(snapshot.CanonicalBaseURL(u.String())); err != nil {
		return nil, errors.New("not a URL: " + want)
	}
	return u, nil
}

// parseScratch accepts a folder in which files can be created.
func parseScratch(text string) (string, error) {
	text, err := parsePath(text)
	if err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(text, ".growth-export-*")
	if err != nil {
		if inner, ok := errors.AsType[*fs.PathError](err); ok {
			err = inner.Err // the error without the random file name
		}
		return "", fmt.Errorf("%s is not a folder that can be written: %w", quoted(text), err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return "", fmt.Errorf("remove the probe file: %w", err)
	}
	return text, nil
}

// expandDatasets replaces the words "default" and "all" with the names of datasets, checks all other words, and returns
// the names in the order in which the datasets are declared.
func expandDatasets(words []string) ([]string, error) {
	selected := make(map[string]bool)
	names := datasetNames()
	for _, word := range words {
		if word != "all" && word != "default" && !slices.Contains(names, word) {
			return nil, fmt.Errorf("unknown dataset %s%s (there are %s, and the words default and all)",
				quoted(word), didYouMean("", word, names), strings.Join(names, ", "))
		}
		for _, d := range schemas.Datasets() {
			selected[d.Name] = selected[d.Name] || d.Name == word || word == "all" || word == "default" && d.Default
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !selected[name] }), nil
}

func datasetNames() []string {
	var names []string
	for _, d := range schemas.Datasets() {
		names = append(names, d.Name)
	}
	return names
}
