package report

import (
	"fmt"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

const (
	snapshotDate = wording.Setting("snapshot-date")
	replace      = wording.Setting("replace")
)

// advice returns the next steps for a run.
func advice(p *Page) []wording.Advice {
	m := p.Manifest
	command := func(name string, words ...any) string {
		return wording.Command(name, append([]any{wording.Setting("dest"), p.Destination}, words...)...)
	}
	const runID, dryRun = wording.Setting("run-id"), wording.Setting("dry-run")
	switch p.State {
	case Held:
		return review.Held{
			Destination: p.Destination, RunID: m.RunID, Date: m.SnapshotDate, FixedDate: m.Kind == snapshot.AsOf,
			Reasons: p.Held.Reasons, Failed: m.Schools.Failed,
		}.Advice()
	case Staged:
		return []wording.Advice{{Say: "Publish it:", Command: command("publish", runID, m.RunID)}}
	case Incomplete:
		if m.Parameters.Shards > 1 {
			return []wording.Advice{
				{Say: "Wait for every shard to finish, and run the ones that failed again; each fetches only what is missing."},
				{Say: "Then publish the run:", Command: command("publish", runID, m.RunID)},
			}
		}
		say := "Run the same command again, without " + wording.Setting("restart").String() + ": it fetches only what is missing"
		if m.Kind != snapshot.AsOf { // the id of an as-of run does not depend on the day
			say += " (on a later day, add " + runID.String() + " " + m.RunID + ")"
		}
		return []wording.Advice{{Say: say + "."}}
	case Replaced:
		return []wording.Advice{{Say: "Nothing. This report is removed when its snapshot date is pruned:", Command: command("prune", wording.Setting("keep-days"), 90, dryRun)}}
	case Published:
	}
	var all []wording.Advice
	if p.Failure != "" {
		all = append(all, wording.Advice{Say: "The data is published. The error above says what failed. If it does not say what to do, the next run or publish tries again."})
	}
	if len(falls(p)) > 0 {
		all = append(all, wording.Advice{Say: "Compare the tables below with the previous snapshot: is the drop in rows real?"})
	}
	if len(review.FailedChecks(m.Checks)) > 0 {
		all = append(all, wording.Advice{Say: "See the failed checks below."})
	}
	if m.Schools.Failed > 0 {
		all = append(all, wording.Advice{Say: retry(m) + " If the same schools fail again, see their errors below."})
	}
	if m.Schools.Denied > 0 {
		all = append(all, wording.Advice{
			Say:     "If a school's agreement has ended and its earlier exports must be deleted, see what would be removed:",
			Command: command("purge", wording.Setting("schools"), "LIST", dryRun),
		})
	}
	if len(all) == 0 {
		say := "Nothing. To create views for DuckDB or Spark:"
		words := []any{snapshotDate, m.SnapshotDate}
		switch m.Kind {
		case snapshot.AsOf:
			words[0] = wording.Setting("effective-date")
		case snapshot.Delta:
			say, words = "Nothing. To create views of all changes, with the latest row of each key:", []any{wording.Setting("changes")}
		case snapshot.Full:
		}
		all = []wording.Advice{{Say: say, Command: command("sql", words...)}}
	}
	return append(all, wording.Advice{Say: "Verify the files against the manifest:", Command: command("verify", runID, m.RunID)})
}

// retry returns advice on how to fetch the failed schools of a published run.
func retry(m *snapshot.Manifest) string {
	return map[snapshot.Kind]string{
		snapshot.AsOf:  "Run the same command again with " + replace.String() + ". It fetches all schools again, in a new run that replaces this one.",
		snapshot.Delta: "Run the same command again. It fetches all schools again and publishes a new run beside this one.",
		snapshot.Full: fmt.Sprintf("Run the same command again. It fetches all schools again, not only the failed ones, in a new run "+
			"that replaces this one. On the next day, add %s %s %s.", snapshotDate, m.SnapshotDate, replace),
	}[m.Kind]
}
