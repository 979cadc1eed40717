package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// largeFall is the share of its rows that a table may lose before the page of a
// published run is no longer green.
const largeFall = 0.2

// fall is a table with far fewer rows than in the run before.
type fall struct {
	table    string
	was, now int64
}

func (f fall) String() string {
	return fmt.Sprintf("%s fell from %s to %s rows (%s).", f.table, wording.Count(f.was), wording.Count(f.now), change(f.was, f.now))
}

// falls are the tables that fell by more than largeFall since the run before,
// the largest fall first.
func falls(p *Page) []fall {
	if p.Before == nil || p.Manifest.Kind == sink.Delta {
		return nil
	}
	var found []fall
	for name, before := range p.Before.Tables {
		now, taken := p.Manifest.Tables[name]
		if taken && float64(before.Rows-now.Rows) > largeFall*float64(before.Rows) {
			found = append(found, fall{clip(name, mostField), before.Rows, now.Rows})
		}
	}
	slices.SortFunc(found, func(a, b fall) int {
		return cmp.Or(cmp.Compare(float64(a.now)/float64(a.was), float64(b.now)/float64(b.was)), cmp.Compare(a.table, b.table))
	})
	return found
}

// concerns returns what needs attention although the run was published: in a
// few words for the headline, and in full.
func concerns(p *Page) (short, long []string) {
	m := p.Manifest
	if n := m.Schools.Failed; n > 0 {
		short = append(short, fmt.Sprintf("%s of %s schools failed", wording.Count(n), wording.Count(m.Schools.Total)))
	}
	switch fell := falls(p); len(fell) {
	case 0:
	case 1:
		short = append(short, "table "+fell[0].table+" lost "+strings.TrimPrefix(change(fell[0].was, fell[0].now), "−")+" of its rows")
		long = append(long, fell[0].String())
	default:
		short = append(short, fmt.Sprintf("%d tables lost more than %.0f %% of their rows", len(fell), largeFall*100))
		for _, f := range fell[:min(len(fell), mostConcerns)] {
			long = append(long, f.String())
		}
		if more := len(fell) - mostConcerns; more > 0 {
			long = append(long, "And "+wording.Many(more, "more table")+", see below.")
		}
	}
	if n := len(sink.FailedChecks(m.Checks)); n == 1 {
		short = append(short, "1 check of the service's own rules failed")
	} else if n > 1 {
		short = append(short, fmt.Sprintf("%d checks of the service's own rules failed", n))
	}
	for i, reason := range m.Accepted {
		if i == 0 {
			short = append(short, "it was held back until somebody accepted it")
		}
		long = append(long, "Accepted by hand: "+reason)
	}
	return short, long
}

// current is the age of the snapshot that readers have while this run is not
// published.
func current(p *Page) []fact {
	if p.State == Published || p.State == Replaced || p.Manifest.Kind != sink.Full {
		return nil
	}
	f := fact{Name: "current snapshot", Value: "none", Note: "of the same scope"}
	if b := p.Before; b != nil {
		f.Note = "of " + day(b.SnapshotDate) + ", as before this run"
		if age := lastMoment(p.Manifest).Sub(b.StartedAt); !b.StartedAt.IsZero() && age >= 0 {
			f.Value = hours(age) + " old"
		} else {
			f.Value, f.Note = day(b.SnapshotDate), "as before this run"
		}
	}
	return []fact{f}
}

// lastMoment is when something of a run last happened.
func lastMoment(m *sink.Manifest) time.Time {
	if steps := m.Activity.Steps; len(steps) > 0 && m.Activity.Sound() {
		return time.Unix(steps[len(steps)-1].At+m.Activity.StepSeconds, 0)
	}
	return m.StartedAt
}

// hours writes an age in hours, below four days.
func hours(age time.Duration) string {
	switch {
	case age < time.Hour:
		return wording.Many(int(age.Minutes()), "minute")
	case age < 96*time.Hour:
		return wording.Many(int(age.Hours()), "hour")
	default:
		return wording.Many(int(age.Hours()/24), "day")
	}
}
