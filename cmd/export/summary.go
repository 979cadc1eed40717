package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// jsonSummary is the JSON form of a summary, or of an error that occurred before there was a summary. Its paths do not
// depend on the working directory.
type jsonSummary struct {
	*pipeline.Summary
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
	ExitCode        int     `json:"exit_code"`
	Error           string  `json:"error,omitempty"`
}

func newJSONSummary(summary *pipeline.Summary, code int, err error) jsonSummary {
	r := jsonSummary{ExitCode: code}
	if summary != nil {
		// A failed run has empty lists rather than null.
		s := *summary
		s.Tables, s.Datasets, s.Drift = notNil(s.Tables), notNil(s.Datasets), notNil(s.Drift)
		s.Checks, s.Warnings = notNil(s.Checks), notNil(s.Warnings)
		s.Schools.Failures = notNil(s.Schools.Failures)
		if s.Requests.ByStatus == nil {
			s.Requests.ByStatus = map[string]int64{}
		}
		if s.Outcome == "" {
			s.Outcome = pipeline.Failed
		}
		s.Destination = absolute(s.Destination)
		if s.Report != "" {
			s.Report = joinPath(s.Destination, s.Report)
		}
		r.Summary, r.DurationSeconds = &s, s.Duration.Seconds()
	}
	if err == nil && summary != nil {
		if what, cause := outcomeError(summary); cause != nil {
			err = fmt.Errorf("%s: %w", what, cause)
		}
	}
	if err != nil {
		r.Error = wording.OneLine(err)
	}
	return r
}

// maxListed is the maximum number of items of a list in text, such as failures, denials, kinds of drift or problems.
// Longer lists end with the number of the other items.
const maxListed = 20

// summaryText formats the summary of a run.
func summaryText(s *pipeline.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", headline(s))
	if s.Outcome == pipeline.Abandoned {
		return b.String()
	}
	for _, reason := range s.Held {
		fmt.Fprintf(&b, "  because %s\n", reason)
	}
	for _, reason := range s.Accepted {
		fmt.Fprintf(&b, "  accepted by hand: %s\n", reason)
	}
	if s.Unfinished != "" {
		fmt.Fprintf(&b, "  published, but not finished: %s\n", s.Unfinished)
		if !s.Advised {
			b.WriteString("  the next run or publish at this destination tries again\n")
		}
	}
	for _, purged := range s.PurgedBefore {
		are := "are"
		if purged.Schools == 1 {
			are = "is"
		}
		fmt.Fprintf(&b, "  warning: %s purged on %s %s being exported again\n", wording.Many(purged.Schools, "school"), purged.Date, are)
	}
	for _, purged := range s.NotSuppressed {
		fmt.Fprintf(&b, "  warning: %s\n", purged)
	}
	for _, purge := range s.UnfinishedPurges {
		fmt.Fprintf(&b, "  warning: %s\n", printable(purge))
	}
	if len(s.LeftOut) > 0 {
		run := map[snapshot.Kind]string{snapshot.Full: "a full run", snapshot.AsOf: "an as-of run", snapshot.Delta: "a delta run"}
		fmt.Fprintf(&b, "  skipped (not available for %s): %s\n", run[s.Kind], strings.Join(s.LeftOut, ", "))
	}
	summarizeTables(&b, s.Tables)
	if s.PrivacyKey != "" {
		fmt.Fprintf(&b, "\nprivacy   %s, key fingerprint %s: pseudonymised, still education records", s.Privacy, s.PrivacyKey)
	}
	fmt.Fprintf(&b, "\nschools   %s: %s ok, %s denied, %s failed\n",
		wording.Count(s.Schools.Total), wording.Count(s.Schools.OK), wording.Count(s.Schools.Denied), wording.Count(s.Schools.Failed))
	b.WriteString(studentsLine(s.Students))
	b.WriteString(suppressedLine(s.Suppressed))
	for i, failure := range s.Schools.Failures {
		if i == maxListed {
			fmt.Fprintf(&b, "  and %d more failures, see the ledger\n", len(s.Schools.Failures)-i)
			break
		}
		fmt.Fprintf(&b, "  failed  %s\n", failureText(failure))
	}
	summarizeDenied(&b, s)
	summarizeRequests(&b, s.Requests)
	summarizeComparison(&b, s)
	summarizeWarnings(&b, s.Warnings)
	summarizeChecks(&b, s.Checks)
	summarizeDrift(&b, s.Drift, s.PrivacyKey == "")
	b.WriteString(reportLine(s))
	b.WriteString(nextSteps(s))
	return b.String()
}

// studentsLine describes the cohort of a run.
func studentsLine(s *snapshot.Students) string {
	switch {
	case s == nil:
		return ""
	case s.Matched == nil:
		return fmt.Sprintf("students  only rows about %s\n", wording.Many(s.Listed, "listed student"))
	}
	return fmt.Sprintf("students  %s listed, %s with rows\n", wording.Count(s.Listed), wording.Count(*s.Matched))
}

// suppressedLine says how many students are on the suppression list and, once it is known, how many of them the run
// left out.
func suppressedLine(s *snapshot.Suppression) string {
	if s == nil {
		return ""
	}
	line := "erased    " + wording.Many(s.Listed, "student") + " on the suppression list"
	if s.Matched != nil {
		line += ", " + wording.Count(*s.Matched) + " left out of this run"
	}
	return line + "\n"
}

// listedText says how many students are on a list and, once it is known, how many of them have rows.
func listedText(s *snapshot.Students) string {
	text := wording.Many(s.Listed, "student") + " listed"
	if s.Matched != nil {
		text += ", " + wording.Count(*s.Matched) + " with rows"
	}
	return text
}

// reportLine returns the line with the path of the report, which is the only output of a failed run on stdout.
func reportLine(s *pipeline.Summary) string {
	if s.Report == "" {
		return ""
	}
	return "report    " + joinPath(s.Destination, s.Report) + "\n"
}

func headline(s *pipeline.Summary) string {
	at := fmt.Sprintf("%s, run %s, at %s", snapshotName(s.Kind, s.SnapshotDate), s.RunID, s.Destination)
	took := " (" + wording.Duration(s.Duration) + ")"
	if s.TasksResumed > 0 {
		took = fmt.Sprintf(" (%s; %d of %d tasks were already staged)", wording.Duration(s.Duration), s.TasksResumed, s.TasksTotal)
	}
	switch {
	case s.AlreadyPublished:
		done := "Already published"
		if len(s.Restored) > 0 {
			done += ", wrote " + strings.Join(s.Restored, " and ") + " again"
		}
		if len(s.Updated) > 0 {
			done += ", updated " + strings.Join(s.Updated, " and ")
		}
		return done + ": " + at
	case s.Outcome == pipeline.HeldBack:
		return "Held back: " + at + took
	case s.Outcome == pipeline.Abandoned:
		return fmt.Sprintf("Abandoned: run %s at %s: removed what it had staged or committed", s.RunID, s.Destination)
	case s.Outcome == pipeline.Staged:
		return "Staged: " + at + took
	default:
		return "Published: " + at + took
	}
}

func summarizeTables(b *strings.Builder, tables []pipeline.TableSummary) {
	if len(tables) == 0 {
		return
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
	// The tabwriter aligns all columns to the right, so the names are padded here.
	width := len("table")
	for i := range tables {
		width = max(width, len(tables[i].Table))
	}
	line := func(name, rows, files, bytes string) {
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\t\n", width, name, rows, files, bytes)
	}
	line("table", "rows", "files", "size")
	var all pipeline.TableSummary
	for _, table := range tables {
		line(table.Table, wording.Count(table.Rows), wording.Count(table.Files), wording.Size(table.Bytes))
		all.Rows += table.Rows
		all.Files += table.Files
		all.Bytes += table.Bytes
	}
	line("all", wording.Count(all.Rows), wording.Count(all.Files), wording.Size(all.Bytes))
	_ = t.Flush() // Writing to a strings.Builder cannot fail.
}

// summarizeDenied lists denials, which are not failures and are easily overlooked.
func summarizeDenied(b *strings.Builder, s *pipeline.Summary) {
	named := make(map[string]int64)
	for i, denial := range s.Denials {
		for _, dataset := range denial.Datasets {
			named[dataset]++
		}
		if i < maxListed {
			fmt.Fprintf(b, "  denied  %s: %s\n", wording.School(denial.SchoolName, denial.SchoolBid), strings.Join(denial.Datasets, ", "))
		}
	}
	if more := len(s.Denials) - maxListed; more > 0 {
		fmt.Fprintf(b, "  and %s more schools denied, see the ledger\n", wording.Count(more))
	}
	for _, d := range s.Datasets {
		if n := d.Denied - named[d.Dataset]; n > 0 {
			fmt.Fprintf(b, "  denied  %s: %s, see the ledger\n", d.Dataset, wording.Count(n))
		}
	}
}

func summarizeRequests(b *strings.Builder, r snapshot.Requests) {
	fmt.Fprintf(b, "requests  %s, %s, %s",
		wording.Count(r.Total), wording.Retries(r.Retries), wording.Many(r.TokenRefreshes, "new token"))
	var answers []string
	for _, status := range slices.Sorted(maps.Keys(r.ByStatus)) {
		answers = append(answers, status+": "+wording.Count(r.ByStatus[status]))
	}
	if len(answers) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(answers, ", "))
	}
	b.WriteByte('\n')
}

// summarizeComparison describes how the run differs from the previous snapshot, with a line for each table that
// differs, or says why it was not compared.
func summarizeComparison(b *strings.Builder, s *pipeline.Summary) {
	if s.NotCompared != "" {
		fmt.Fprintf(b, "changes   not compared with a previous snapshot: %s\n", s.NotCompared)
	}
	c := s.Comparison
	if c == nil {
		return
	}
	fmt.Fprintf(b, "changes   since %s (run %s), in %s", c.SnapshotDate, c.With, wording.Many(c.SchoolsCompared, "school"))
	if c.SchoolsNotCompared > 0 {
		fmt.Fprintf(b, "; %s not compared", wording.Count(c.SchoolsNotCompared))
	}
	b.WriteByte('\n')
	differ := false
	for _, name := range schemas.TablesInOrder(c.Tables) {
		if counts := c.Tables[name]; counts.Differs() {
			differ = true
			fmt.Fprintf(b, "  %s: %s\n", name, history.Describe(name, counts))
		}
	}
	if !differ {
		b.WriteString("  nothing has changed\n")
	}
}

func summarizeWarnings(b *strings.Builder, warnings []review.Reason) {
	for _, warning := range review.Lines(warnings) {
		fmt.Fprintf(b, "  warning  %s\n", warning)
	}
}

// summarizeChecks says how many checks of the service's own rules have passed, and lists the failed checks.
func summarizeChecks(b *strings.Builder, checks []review.Check) {
	if len(checks) == 0 {
		return
	}
	failed := review.FailedChecks(checks)
	fmt.Fprintf(b, "checks    %d of %d passed\n", len(checks)-len(failed), len(checks))
	for _, c := range failed {
		fmt.Fprintf(b, "  warning  %s: %s %s\n", c.Check, wording.Count(c.Count), c.Meaning())
	}
}

// summarizeDrift lists the kinds of drift. kept is true if _extra holds the unexpected values.
func summarizeDrift(b *strings.Builder, drift []snapshot.Drift, kept bool) {
	for i, d := range drift {
		if i == maxListed {
			fmt.Fprintf(b, "          and %d more kinds, see the manifest\n", len(drift)-i)
			break
		}
		label := ""
		if i == 0 {
			label = "drift"
		}
		fmt.Fprintf(b, "%-9s %s %s: %s, %s\n", label, d.Table, fieldName(d.Field), d.Kind, wording.Count(d.Count))
	}
	switch {
	case len(drift) == 0:
	case kept:
		b.WriteString("          fields and values that the schema does not expect are kept in _extra; duplicates are dropped\n")
	default:
		b.WriteString("          under the privacy profile, fields and values that the schema does not expect are dropped, and so are duplicates\n")
	}
}

// nextSteps returns a line for each suggestion of what to do next.
func nextSteps(s *pipeline.Summary) string {
	var steps []string
	label := "or"
	switch s.Outcome {
	case pipeline.HeldBack:
		for _, step := range s.Next {
			steps = append(steps, strings.TrimSpace(step.Say+" "+step.Command))
		}
	case pipeline.Staged:
		steps = []string{fmt.Sprintf("growth-export publish --dest %s --run-id %s, once every shard is done",
			wording.ShellWord(s.Destination), s.RunID)}
	case pipeline.Published:
		label = ""
		if s.Schools.Failed > 0 {
			steps = append(steps, "failures are listed in "+joinPath(s.Destination, snapshot.LedgerPath(s.RunID)))
		}
		if table := tableToShow(s.Tables); table != "" {
			steps = append(steps, inDuckDB(s, table))
		}
	}
	var b strings.Builder
	for i, step := range steps {
		if i == 0 {
			fmt.Fprintf(&b, "\n%-9s %s\n", "next", step)
		} else {
			fmt.Fprintf(&b, "%-9s %s\n", label, step)
		}
	}
	return b.String()
}

// tableToShow returns test_results if it has rows, and otherwise the table with the most rows. It returns "" if no
// table has rows.
func tableToShow(tables []pipeline.TableSummary) string {
	best, rows := "", int64(0)
	for _, t := range tables {
		if t.Table == "test_results" && t.Rows > 0 {
			return t.Table
		}
		if t.Rows > rows {
			best, rows = t.Table, t.Rows
		}
	}
	return best
}

// inDuckDB says how to look at a run with DuckDB. For Azure, it refers to the views of growth-export sql, because
// DuckDB then needs a secret, and rejects patterns with **, which match folders of any depth.
func inDuckDB(s *pipeline.Summary, table string) string {
	if strings.HasPrefix(s.Destination, azure.Scheme) {
		return "in DuckDB: growth-export sql, with the same settings, prints the secret and the views that DuckDB needs"
	}
	return "in DuckDB: " + countQuery(s, table)
}

// countQuery returns a DuckDB query that counts the rows of a table of a run.
func countQuery(s *pipeline.Summary, table string) string {
	files := "*.parquet"
	if s.Kind == snapshot.Delta {
		// The folder may hold other delta runs of the same day.
		files = "part-????-" + s.RunID + ".parquet"
	}
	folder := strings.TrimSuffix(filepath.ToSlash(s.Destination), "/")
	glob := render.DuckDBPath(folder, snapshot.DatePath(s.Kind, table, s.SnapshotDate)+"**/"+files)
	return fmt.Sprintf("SELECT count(*) FROM read_parquet(%s, hive_partitioning = true);", glob)
}

// failureText describes a failed school and its error. It adds the dataset and the bid unless the error already
// contains the bid, as most errors of the service do. A school may have no bid.
func failureText(f snapshot.SchoolFailure) string {
	text := printable(f.Error)
	if f.SchoolBid == "" || !strings.Contains(f.Error, wording.Bid(f.SchoolBid)) {
		return strings.TrimSpace(wording.School(f.SchoolName, f.SchoolBid)+" "+f.Dataset) + ": " + text
	}
	if f.SchoolName != "" {
		return wording.Name(f.SchoolName) + ": " + text
	}
	return text
}

// fieldName formats a JSON member's name, which may be any text, even empty.
func fieldName(name string) string {
	if name == "" || strings.ContainsAny(name, ` ":,`) {
		return strconv.Quote(name)
	}
	return printable(name)
}
