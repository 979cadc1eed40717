package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// verdict is what became of the run, in a line.
type verdict struct {
	// Tone chooses the colour: good, fair, bad. Mark follows the word.
	Tone, Word, Mark, Text string
	// Reasons are the lines below.
	Reasons []string
}

func verdictOf(p *Page) verdict {
	v := outcome(p)
	v.Mark = cmp.Or(v.Mark, ".")
	if p.Failure != "" {
		v.Reasons = slices.Concat(strings.Split(p.Failure, "\n"), v.Reasons) // joined errors come as several lines
	}
	for i := range v.Reasons {
		v.Reasons[i] = clip(v.Reasons[i], 4*mostError)
	}
	return v
}

func outcome(p *Page) verdict {
	schools := p.Manifest.Schools
	const stands = "Nothing of this run is visible to readers; the previous snapshot is still current."
	switch p.State {
	case Held:
		return verdict{
			Tone: "bad", Word: "Held back", Text: "Everything is staged, but a check keeps it from being published.",
			Reasons: append(slices.Clone(p.Held.Reasons), stands),
		}
	case Staged:
		v := verdict{Tone: "fair", Word: "Staged", Text: "Everything is fetched; nothing was published yet.", Reasons: []string{stands}}
		if p.Failure != "" {
			v.Tone, v.Word, v.Text = "bad", "Not published", "Everything is fetched, but publishing ended with an error."
		}
		return v
	case Incomplete:
		v := verdict{
			Tone: "fair", Word: "Not complete", Reasons: []string{stands},
			Text: fmt.Sprintf("%s of %s steps are staged; missing: %s.", wording.Count(p.Units-len(p.Missing)), wording.Count(p.Units), first(p.Missing)),
		}
		if p.Failure != "" {
			v.Tone, v.Word = "bad", "Failed"
		}
		return v
	case Replaced:
		v := verdict{Tone: "fair", Word: "Replaced", Text: "Another run has taken the place of this one; its files are gone."}
		if p.Standing != "" {
			v.Text = fmt.Sprintf("Run %s has taken the place of this one, whose files are gone.", p.Standing)
		}
		return v
	case Published:
	}
	if p.Failure != "" {
		return verdict{Tone: "fair", Word: "Published", Text: "The command that published it ended with an error all the same."}
	}
	if short, long := concerns(p); len(short) > 0 {
		return verdict{Tone: "fair", Word: "Published", Mark: ", but", Text: strings.Join(short, "; ") + ".", Reasons: long}
	}
	if schools.Denied > 0 {
		text := fmt.Sprintf("All schools that granted access exported completely; %s of %s denied it", wording.Count(schools.Denied), wording.Count(schools.Total))
		if b := p.Before; b != nil && b.Schools.Denied < schools.Denied {
			text += fmt.Sprintf(", %s in the snapshot of %s", wording.Count(b.Schools.Denied), day(b.SnapshotDate))
		}
		return verdict{Tone: "good", Word: "Published", Text: text + "."}
	}
	return verdict{Tone: "good", Word: "Published", Text: "All schools exported completely."}
}

// first names the first of what is missing.
func first(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + wording.Count(more) + " more"
	}
	return text
}

// next says what one would do now.
func next(p *Page) []wording.Step {
	m := p.Manifest
	at := " --dest " + wording.ShellWord(p.Destination)
	again := wording.Step{Say: "Run the same command again: it fetches what is missing and no more."}
	if m.Kind != sink.AsOf { // whose id does not follow from the day
		again.Say = "Run the same command again: it fetches what is missing and no more (on another day with --run-id " + m.RunID + ")."
	}
	verify := wording.Step{Say: "Compare every byte with the manifest:", Command: "growth-export verify" + at + " --run-id " + m.RunID}
	switch p.State {
	case Held:
		return wording.Held{
			Destination: p.Destination, RunID: m.RunID, FixedDate: m.Kind == sink.AsOf,
			FailedSchools: p.Held.FailedSchools, OtherReasons: p.Held.OtherReasons(),
		}.Steps()
	case Staged:
		return []wording.Step{{Say: "Publish it:", Command: "growth-export publish" + at + " --run-id " + m.RunID}}
	case Incomplete:
		if m.Parameters.Shards > 1 {
			return []wording.Step{
				{Say: "Let every shard of the run end, or run those again that have died; each fetches what is missing and no more."},
				{Say: "Then publish it:", Command: "growth-export publish" + at + " --run-id " + m.RunID},
			}
		}
		return []wording.Step{again}
	case Replaced:
		return []wording.Step{{Say: "Nothing. The documents of the run go with their snapshot:", Command: "growth-export prune" + at + " --keep-days 90 --dry-run"}}
	case Published:
	}
	return append(published(p, at), verify)
}

// published says what one would do with a run that is published.
func published(p *Page, at string) []wording.Step {
	m := p.Manifest
	var steps []wording.Step
	if len(falls(p)) > 0 {
		steps = append(steps, wording.Step{Say: "Compare the tables below with the previous snapshot: is the fall real?"})
	}
	if len(sink.FailedChecks(m.Checks)) > 0 {
		steps = append(steps, wording.Step{Say: "See below which checks of the service's own rules failed."})
	}
	if m.Schools.Failed > 0 {
		steps = append(steps, wording.Step{Say: retake(m) + " If the same schools fail again, what they answered is below."})
	}
	if m.Schools.Denied > 0 {
		steps = append(steps, wording.Step{
			Say:     "If the agreement with a school has ended and its earlier exports must be removed, see what would be:",
			Command: "growth-export purge" + at + " --schools LIST --dry-run",
		})
	}
	if len(steps) > 0 {
		return steps
	}
	switch m.Kind {
	case sink.Full:
		return []wording.Step{{Say: "Nothing. Views of it, for DuckDB or Spark:", Command: "growth-export sql" + at + " --snapshot-date " + m.SnapshotDate}}
	case sink.AsOf:
		return []wording.Step{{Say: "Nothing. Views of it, for DuckDB or Spark:", Command: "growth-export sql" + at + " --effective-date " + m.SnapshotDate}}
	case sink.Delta:
		return []wording.Step{{Say: "Nothing. Views of all changes, with the latest row of each key:", Command: "growth-export sql" + at + " --changes"}}
	}
	return []wording.Step{{Say: "Nothing."}}
}

// retake says how to take a snapshot again of which schools are missing.
func retake(m *sink.Manifest) string {
	const again = "Run the same command again: "
	switch m.Kind {
	case sink.AsOf:
		return "Run the same command again with --replace: a new run takes the place of this one."
	case sink.Delta:
		return again + "a new run is published beside this one."
	case sink.Full:
	}
	return again + "on the same day a new run takes the place of this one; later that needs --snapshot-date " + m.SnapshotDate + " --replace."
}
