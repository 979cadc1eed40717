package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
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

// reasonsToHold returns the reasons why a complete run should not be published before an operator has looked at it; none
// if it may be.
func reasonsToHold(g *snapshot.StagedRun, l publishLimits) []review.Reason {
	reasons := []review.Reason{}
	if failed := g.Schools.Failed; failed > int64(l.maxFailed) {
		reasons = append(reasons, review.New(review.MaxFailedSchools, strconv.Itoa(l.maxFailed), []review.Finding{{N: failed, Of: g.Schools.Total}}))
	}
	if l.strict {
		for _, check := range review.FailedChecks(g.Checks) {
			reasons = append(reasons, review.New(check.Check, "", []review.Finding{{Table: check.Table, N: check.Count}}))
		}
	}
	hold, _ := compareWithLimits(g, l)
	return append(reasons, hold...)
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
