package review

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits are the limits beyond which a run is held back. In JSON, they have the same names as in reasons.
type Limits struct {
	MaxFailedSchools int   `json:"max_failed_schools"`
	MaxShrink        Share `json:"max_shrink"`  // the maximum share of a table's rows, and of the schools with rows in it, that may be gone
	MaxRemoved       Share `json:"max_removed"` // the maximum share of a district's test results that may be gone for no known reason
	MaxChanged       Share `json:"max_changed"` // the maximum share of a district's rows in a table that may have changed in a column that matters
	MaxEmptied       Share `json:"max_emptied"` // the maximum share of a district's values in a column that may be gone
	StrictChecks     bool  `json:"strict_checks"`
}

// The names of limits in reasons.
const (
	MaxFailedSchools = "max_failed_schools"
	MaxShrink        = "max_shrink"
	MaxRemoved       = "max_removed"
	MaxChanged       = "max_changed"
	MaxEmptied       = "max_emptied"
)

// Share is a limit on a share, from 0 to 1, or no limit if Off is true. In JSON it has the form that ParseShare reads.
type Share struct {
	Part float64
	Off  bool
}

// ParseShare parses a percentage such as 20%, 20 % or 12.5%, or the word off. A number without a percent sign is an
// error.
func ParseShare(text string) (Share, error) {
	if text == "off" {
		return Share{Off: true}, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(strings.TrimRight(number, " "), 64)
	if !ok && err == nil && percent > 0 && percent < 1 {
		return Share{}, fmt.Errorf("%q has no unit: write %s%% if you mean the share, or %s%%", text,
			strconv.FormatFloat(percent*100, 'f', -1, 64), text)
	}
	if !ok && err == nil && percent >= 0 && percent <= 100 {
		return Share{}, fmt.Errorf("%q has no unit: write %s%%, or off", text, text)
	}
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return Share{}, fmt.Errorf("%q is neither a percentage from 0%% to 100%% nor off", text)
	}
	return Share{Part: percent / 100}, nil
}

// String returns the share in the form that ParseShare reads.
func (s Share) String() string {
	if s.Off {
		return "off"
	}
	return strconv.FormatFloat(s.Part*100, 'f', -1, 64) + "%"
}

// MarshalText implements encoding.TextMarshaler.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShare(string(text))
	return err
}

// Exceeded reports whether n is more than the share of the whole. It returns false if s.Off is true.
func (s Share) Exceeded(n, of int64) bool { return !s.Off && float64(n) > s.Part*float64(of) }
