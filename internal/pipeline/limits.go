package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// publishLimits decide whether a complete run is published.
type publishLimits struct {
	maxFailed     int
	maxShrink     Share
	changes       ChangeLimits
	compare       bool // whether the run's comparison counts
	strict        bool // of the checks of the service's own rules
	acceptHeld    bool
	replace       bool
	acceptBaseURL bool // allows moving the destination to another service
}

// ChangeLimits are the limits on what may change in the schools of a district since the previous snapshot.
type ChangeLimits struct {
	MaxRemoved Share // of the test results that were compared: those that are gone without an explanation
	MaxChanged Share // of a table's rows in both snapshots: those that changed in a column other than modified_date_time
	MaxEmptied Share // of a table's rows in both that had a value in a column: those that have none now
}

// Share is a share of something, from 0 to 1, beyond which a run is held back.
type Share struct {
	Part float64
	Off  bool
}

// ParseShare reads a percentage such as 20% or 12.5%, or the word off.
func ParseShare(text string) (Share, error) {
	if text == "off" {
		return Share{Off: true}, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok && err == nil && percent >= 0 && percent <= 100 {
		return Share{}, fmt.Errorf("%q has no unit: write %s%%, or off", text, text)
	}
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return Share{}, fmt.Errorf("%q is neither a percentage from 0%% to 100%% nor off", text)
	}
	return Share{Part: percent / 100}, nil
}

// String returns the share as ParseShare reads it.
func (s Share) String() string {
	if s.Off {
		return "off"
	}
	return strconv.FormatFloat(s.Part*100, 'f', -1, 64) + "%"
}

// exceeded reports whether n of a whole is more than the share.
func (s Share) exceeded(n, of int64) bool { return !s.Off && float64(n) > s.Part*float64(of) }

// checkLimits returns the reasons why a complete run should not be published before an operator has looked at it; none
// if it may be.
func checkLimits(g *snapshot.StagedRun, l publishLimits) snapshot.Held {
	var held snapshot.Held
	if failed := g.Schools.Failed; failed > int64(l.maxFailed) {
		held.FailedSchools = true
		held.Reasons = append(held.Reasons, fmt.Sprintf("%d of %d schools failed, more than --max-failed-schools %d",
			failed, g.Schools.Total, l.maxFailed))
	}
	if l.strict {
		for _, check := range snapshot.FailedChecks(g.Checks) {
			held.Reasons = append(held.Reasons, check.String()+" (--strict-checks)")
		}
	}
	held.Reasons = append(held.Reasons, l.changes.exceeded(g)...)
	if large, _ := falls(g, l.maxShrink); len(large) > 0 {
		held.Reasons = append(held.Reasons, shrunk(g, l.maxShrink, large))
	}
	return held
}

// fall is a count that fell.
type fall struct {
	what    string
	was, is int64
}

// falls returns what shrank since the baseline by more than the share. Small tables and the calendar's only warn: few rows
// are a large share of them, and school years end.
func falls(g *snapshot.StagedRun, most Share) (large, small []fall) {
	if g.Baseline == nil {
		return nil, nil
	}
	compare := func(what string, was, is int64, warn bool) {
		switch {
		case was == 0 || !most.exceeded(was-is, was):
		case warn:
			small = append(small, fall{what, was, is})
		default:
			large = append(large, fall{what, was, is})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Baseline.Tables)) {
		if now, both := g.Tables[name]; both {
			was := g.Baseline.Tables[name].Rows
			compare("rows of "+name, was, now.Rows, was < minLimitedRows || isCalendar(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Lost)) {
		counts := g.Lost[name]
		compare("schools with rows in "+name, counts.Had, counts.Had-counts.Lost, isCalendar(name))
	}
	return large, small
}

// shrunk returns one reason that covers everything that shrank too much.
func shrunk(g *snapshot.StagedRun, most Share, falls []fall) string {
	// The report compares every table: here the largest falls are enough.
	slices.SortStableFunc(falls, func(a, b fall) int {
		return cmp.Compare(float64(a.is)/float64(a.was), float64(b.is)/float64(b.was))
	})
	const maxListed = 4
	var list []string
	for _, f := range falls[:min(len(falls), maxListed)] {
		list = append(list, fmt.Sprintf("%s from %s to %s", f.what, wording.Count(f.was), wording.Count(f.is)))
	}
	if n := len(falls) - maxListed; n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("%s fell by more than --max-shrink %s since the snapshot of %s (run %s): %s",
		wording.Many(int64(len(falls)), "count"), most, g.Baseline.SnapshotDate, g.Baseline.RunID, strings.Join(list, ", "))
}

// allDenied reports whether the service denied every per-school dataset of every school, and so the app as a whole.
func allDenied(g *snapshot.StagedRun) bool {
	denied := false
	for i := range g.Ledger {
		row := &g.Ledger[i]
		if row.SchoolBid == "" {
			continue
		}
		if row.Status != snapshot.StatusDenied {
			return false
		}
		denied = true
	}
	return denied
}
