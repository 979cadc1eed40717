package wording

// Step is something to do next, with the command that does it if there is one.
type Step struct {
	Say     string `json:"say"`
	Command string `json:"command,omitempty"`
}

// Held describes a run that was held back, for advice on it.
type Held struct {
	// Destination and RunID identify the run.
	Destination, RunID string
	// FailedSchools reports whether failed schools are among the reasons, and
	// OtherReasons whether anything else is.
	FailedSchools, OtherReasons bool
	// FixedDate reports whether the command that took the run names its date, so
	// that it resumes the run on any day.
	FixedDate bool
	// Report is the place of the run's report; empty on the report itself.
	Report string
}

// Steps returns what to do about the run. Running it again only retries failed
// schools: any other reason would hold it back again.
func (h Held) Steps() []Step {
	var steps []Step
	if h.FailedSchools {
		say := "Run the same growth-export run command again: it retries the schools that failed and fetches nothing else"
		if !h.FixedDate {
			say += " (on another day with --run-id " + h.RunID + ")"
		}
		steps = append(steps, Step{Say: say + "."})
	}
	if h.OtherReasons {
		if h.Report == "" {
			steps = append(steps, Step{Say: "Look at the checks below, and at the tables beside the previous snapshot: is the data right?"})
		} else {
			steps = append(steps, Step{Say: "Read the report to see what is wrong: " + h.Report})
		}
	}
	steps = append(steps, Step{
		Say:     "Publish it as it is:",
		Command: "growth-export publish --dest " + ShellWord(h.Destination) + " --run-id " + h.RunID + " --accept-held",
	})
	if h.OtherReasons {
		steps = append(steps, Step{Say: "Fetch everything again: run the same growth-export run command with --restart added. Without it, what is staged is kept and held back again."})
	}
	return steps
}
