package wording

// Advice is something to do next, and the command for it if there is one.
type Advice struct {
	Say     string `json:"say"`
	Command string `json:"command,omitempty"`
}

// Held describes a run that was held back.
type Held struct {
	// Destination and RunID identify the run.
	Destination, RunID string
	// FailedSchools reports whether failed schools are among the reasons, OtherReasons whether anything else is.
	FailedSchools, OtherReasons bool
	// FixedDate reports whether the run's command names its date and so resumes the run on any day.
	FixedDate bool
	// Report is the place of the run's report; empty on the report itself.
	Report string
}

// Advice returns the next step for the run. Running it again retries failed schools only: any other reason would hold
// it back again.
func (h Held) Advice() []Advice {
	var all []Advice
	if h.FailedSchools {
		say := "Run the same growth-export run command again: it retries the schools that failed and fetches nothing else"
		if !h.FixedDate {
			say += " (on a later day, add --run-id " + h.RunID + ")"
		}
		all = append(all, Advice{Say: say + "."})
	}
	if h.OtherReasons {
		if h.Report == "" {
			all = append(all, Advice{Say: "Look at the checks below, and compare the tables with the previous snapshot: is the data right?"})
		} else {
			all = append(all, Advice{Say: "Read the report to see what is wrong: " + h.Report})
		}
	}
	all = append(all, Advice{
		Say:     "Publish it as it is:",
		Command: "growth-export publish --dest " + ShellWord(h.Destination) + " --run-id " + h.RunID + " --accept-held",
	})
	if h.OtherReasons {
		all = append(all, Advice{Say: "Fetch everything again: run the same growth-export run command with --restart. Without it, the staged data is held back again."})
	}
	return all
}
