package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// verdict is the headline of the page, and the reasons for the headline.
type verdict struct {
	// Tone selects the colour: good, fair or bad. Mark is the punctuation after Word.
	Tone, Word, Mark, Text string
	Reasons                []string
}

func newVerdict(p *Page) verdict {
	v := outcome(p)
	v.Mark = cmp.Or(v.Mark, ".")
	if p.Failure != "" {
		v.Reasons = slices.Concat(strings.Split(p.Failure, "\n"), v.Reasons) // joined errors are on separate lines
	}
	for i := range v.Reasons {
		v.Reasons[i] = clip(v.Reasons[i], 4*maxError)
	}
	return v
}

func outcome(p *Page) verdict {
	unseen := []string{"Readers cannot see this run's data; the current snapshot is unchanged."}
	switch p.State {
	case Held:
		return verdict{
			Tone: "bad", Word: "Held back", Text: "All tasks are staged, but a check failed, so the run was not published.",
			Reasons: slices.Concat(review.Texts(p.Held.Reasons), unseen),
		}
	case Staged:
		if p.Failure != "" {
			return verdict{Tone: "bad", Word: "Not published", Text: "All tasks are staged, but publishing failed.", Reasons: unseen}
		}
		return verdict{Tone: "fair", Word: "Staged", Text: "All tasks are staged; the run is not published yet.", Reasons: unseen}
	case Incomplete:
		v := verdict{
			Tone: "fair", Word: "Incomplete", Reasons: unseen,
			Text: fmt.Sprintf("%s of %s tasks are staged; missing: %s.", wording.Count(p.Tasks-len(p.Missing)), wording.Count(p.Tasks), wording.First(p.Missing, 3)),
		}
		if p.Failure != "" {
			v.Tone, v.Word = "bad", "Failed"
		}
		return v
	case Replaced:
		v := verdict{Tone: "fair", Word: "Replaced", Text: "Another run replaced this one, and its files were removed."}
		if p.ReplacedBy != "" {
			v.Text = "Run " + p.ReplacedBy + " replaced this one, and its files were removed."
		}
		return v
	case Published:
	}
	if p.Failure != "" {
		return verdict{Tone: "fair", Word: "Published", Text: "A step after publishing failed."}
	}
	if short, long := concerns(p); len(short) > 0 {
		return verdict{Tone: "fair", Word: "Published", Mark: ", but", Text: strings.Join(short, "; ") + ".", Reasons: long}
	}
	v := verdict{Tone: "good", Word: "Published", Text: "All schools exported completely."}
	if schools := p.Manifest.Schools; schools.Denied > 0 {
		v.Text = fmt.Sprintf("All accessible schools exported completely; access to %s of %s was denied", wording.Count(schools.Denied), wording.Count(schools.Total))
		if b := p.Baseline; b != nil && b.Schools.Denied < schools.Denied {
			v.Text += fmt.Sprintf(" (%s in the snapshot of %s)", wording.Count(b.Schools.Denied), day(b.SnapshotDate))
		}
		v.Text += "."
	}
	return v
}

// concerns returns the findings that need attention although the run was published. short is for the headline, and long
// has the details.
func concerns(p *Page) (short, long []string) {
	m := p.Manifest
	if m.Schools.Failed > 0 {
		short = append(short, wording.Count(m.Schools.Failed)+" of "+wording.Count(m.Schools.Total)+" schools failed")
	}
	fell := falls(p)
	for _, f := range fell[:min(len(fell), maxConcerns)] {
		long = append(long, fmt.Sprintf("%s fell from %s to %s rows (%s).", f.Name, wording.Count(f.Was), wording.Count(f.Rows), f.Change()))
	}
	switch {
	case len(fell) == 1:
		short = append(short, "table "+fell[0].Name+" lost "+strings.TrimPrefix(fell[0].Change(), "−")+" of its rows")
	case len(fell) > 1:
		short = append(short, fmt.Sprintf("%d tables lost more than %.0f%% of their rows", len(fell), largeFall*100))
	}
	if more := len(fell) - maxConcerns; more > 0 {
		long = append(long, "And "+wording.Many(more, "more table")+", see below.")
	}
	short = append(short, warnedOf(m.Comparison)...)
	if n := len(review.FailedChecks(m.Checks)); n > 0 {
		short = append(short, wording.Many(n, "check")+" of the service's own rules failed")
	}
	if purged := m.Parameters.NotSuppressed; len(purged) > 0 {
		short = append(short, "students who were purged may be exported again")
		for _, p := range purged {
			long = append(long, p.String()+".")
		}
	}
	if len(m.Accepted) > 0 {
		short = append(short, "it was held back and then accepted by hand")
	}
	for _, reason := range m.Accepted {
		long = append(long, "Accepted by hand: "+reason.String())
	}
	return short, long
}

// warnedOf returns a few words for each kind of warning of a comparison.
func warnedOf(c *snapshot.Comparison) (short []string) {
	if c == nil {
		return nil
	}
	for _, w := range c.Warnings {
		text := "much has changed since the last run, see below"
		switch w.Check {
		case review.NewlyDenied:
			text = "schools that were read in the last run are denied now"
		case review.LessThanReplaced:
			text = "the run that it replaced was more complete"
		}
		if !slices.Contains(short, text) {
			short = append(short, text)
		}
	}
	return short
}
