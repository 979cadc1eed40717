package review

import (
	"fmt"
	"slices"

	"example.org/growthexport/internal/wording"
)

// Held describes a run that is held back.
type Held struct {
	// Destination and RunID identify the run.
	Destination, RunID string
	Reasons            []Reason
	// Failed is the number of schools that failed. The run may be held for another reason that is due to these schools,
	// such as missing rows.
	Failed int64
	// Date is the snapshot date of the run.
	Date string
	// FixedDate is true if the run's command specifies the date, so that the command resumes the run on any day.
	FixedDate bool
	// Report is the location of the run's report. It is empty in the report itself.
	Report string
}

// Advice returns the next steps for the run. Running it again retries the failed schools, together with the other
// schools in the same files. That does not help if a reason is not due to failed schools, because the run would be held
// back again.
func (h Held) Advice() []wording.Advice {
	var all []wording.Advice
	add := func(say, command string) { all = append(all, wording.Advice{Say: say, Command: command}) }
	ofFailedSchools := func(r Reason) bool { return r.Check == MaxFailedSchools }
	failed := h.Failed > 0 || slices.ContainsFunc(h.Reasons, ofFailedSchools)
	others := slices.ContainsFunc(h.Reasons, func(r Reason) bool { return !ofFailedSchools(r) })
	if failed {
		say := "Run the same growth-export run command again, without " + wording.Setting("restart").String() +
			": it retries the schools that failed, together with the other schools in the same files"
		if !h.FixedDate {
			say += " (on a later day, add " + wording.Setting("run-id").String() + " " + h.RunID + "; these schools then have that day's data)"
		}
		add(say+". If a school's error says what to change, change it first.", "")
	}
	if i := slices.IndexFunc(h.Reasons, func(r Reason) bool { return r.Check == DatasetDenied }); i >= 0 {
		add("If the app should have access to "+h.Reasons[i].datasets()+", ask the service's support; otherwise choose other "+
			wording.Setting("datasets").String()+".", "")
	}
	switch {
	case others && h.Report == "":
		add("Look at the checks below, and compare the tables with the previous snapshot: is the data right?", "")
	case others:
		add("Read the report to see what is wrong: "+h.Report, "")
	}
	add("Publish it as it is:", wording.Command("publish",
		wording.Setting("dest"), h.Destination, wording.Setting("run-id"), h.RunID, wording.Setting("accept-held")))
	if others {
		say := "Fetch everything again: run the same growth-export run command with " + wording.Setting("restart").String()
		if !h.FixedDate {
			say += fmt.Sprintf(" (on the next day, also add %s %s %s %s)", wording.Setting("snapshot-date"), h.Date, wording.Setting("run-id"), h.RunID)
		}
		say += "."
		if !failed {
			say += " Without it, the staged data is held back again."
		}
		add(say, "")
	}
	return all
}
