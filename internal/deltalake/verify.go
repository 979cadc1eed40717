package deltalake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// VerifyReport lists the logs of a destination and the problems that were found.
type VerifyReport struct {
	Tables   []VerifiedTable `json:"tables"`
	Problems []Problem       `json:"problems"`
}

// VerifiedTable describes a table that has a log.
type VerifiedTable struct {
	Table   string `json:"table"`
	Version int64  `json:"version"`
	// Files, Rows and Bytes count the live files, their rows and their bytes.
	Files int   `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Checkpoints counts the checkpoints that were compared with the log.
	Checkpoints int `json:"checkpoints"`
	// Foreign lists all commits of other programs.
	Foreign []Foreign `json:"foreign,omitempty"`
}

// Problem is an error that Verify has found.
type Problem struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
	// DataFile is true if the path is in the manifest of a snapshot or of the history. Updating the log does not solve
	// such a problem. History is true if the path belongs to a table of the history.
	DataFile bool `json:"-"`
	History  bool `json:"-"`
}

// String returns the path and the problem.
func (p Problem) String() string { return p.Path + ": " + p.Problem }

// maxProblems is the maximum number of problems listed for each table.
const maxProblems = 20

// Verify compares the logs of a destination with its manifests and files. It returns a *RefusedError if there are no
// logs. The report lists the commits of other programs. Such a commit is a problem only if it makes the live files or
// the metadata wrong.
func Verify(ctx context.Context, catalog snapshot.Catalog) (report *VerifyReport, err error) {
	for range maxChecks {
		before := report
		report, err = verifyOnce(ctx, catalog)
		if err != nil || len(report.Problems) == 0 || before != nil && slices.Equal(before.Problems, report.Problems) {
			break
		}
	}
	if err == nil && len(report.Tables) == 0 {
		err = &snapshot.RefusedError{Reason: "there are no Delta logs at " + catalog.String() + ": growth-export delta-lake writes them"}
	}
	return report, err
}

func verifyOnce(ctx context.Context, catalog snapshot.Catalog) (*VerifyReport, error) {
	all, err := load(ctx, catalog, false)
	if err != nil {
		return nil, err
	}
	verifications, err := sink.Map(ctx, maxTables, all, func(ctx context.Context, t *table) (*tableVerification, error) {
		v := &tableVerification{table: t}
		return v, v.run(ctx, catalog)
	})
	report := &VerifyReport{Tables: []VerifiedTable{}, Problems: []Problem{}}
	for _, v := range verifications {
		for _, problem := range v.listed() {
			if v.table.unreadable == "" || !slices.Contains(report.Problems, problem) {
				report.Problems = append(report.Problems, problem)
			}
		}
		if v.table.hasLog {
			report.Tables = append(report.Tables, v.verified)
		}
	}
	return report, err
}

// tableVerification compares one log with the manifests and the files.
type tableVerification struct {
	table    *table
	verified VerifiedTable
	problems []Problem
}

func (v *tableVerification) problem(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Problem: fmt.Sprintf(format, args...)})
}

// listed returns the problems, sorted. If there are more than maxProblems, a last problem counts the rest.
func (v *tableVerification) listed() []Problem {
	slices.SortFunc(v.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Problem, b.Problem)) })
	if n := len(v.problems); n > maxProblems {
		all := !slices.ContainsFunc(v.problems[maxProblems:], func(p Problem) bool { return !p.DataFile })
		return append(v.problems[:maxProblems:maxProblems], Problem{Path: v.table.folder, Problem: fmt.Sprintf("and %d more problems", n-maxProblems), DataFile: all, History: v.table.history})
	}
	return v.problems
}

func (v *tableVerification) run(ctx context.Context, catalog snapshot.Catalog) error {
	const remedy = ": run growth-export delta-lake"
	t, folder := v.table, v.table.folder+logFolder
	log, err := t.replay(ctx, catalog, func(log *state) error {
		if !t.checkpoints[log.version] {
			return nil
		}
		return v.checkCheckpoint(ctx, catalog, log)
	})
	if err != nil {
		return err
	}
	v.verified.Table, v.verified.Version, v.verified.Files, v.verified.Foreign = t.folder, t.version, len(log.live), log.foreign
	switch {
	case t.unreadable != "": // one problem for all tables of the history
		v.problem(snapshot.HistoryPointerPath, "%s", t.unreadable)
		return nil
	case t.problem != "":
		v.problem(folder, "%s", t.problem)
		return nil
	case !t.hasLog:
		v.problem(folder, "is missing"+remedy)
		return nil
	}
	if meta, err := metaDataOf(t, log); err != nil || !meta.equal(log.meta) {
		v.problem(folder, "describes columns or properties that differ from the table's"+remedy)
	}
	for path, wanted := range t.files {
		live, ok := log.live[path]
		switch {
		case !ok:
			v.problem(t.folder+"/"+path, "is in a manifest but not live in the log"+remedy)
		case live.odd:
			v.problem(t.folder+"/"+path, "has other partition values in the log than in its path"+remedy)
		case live.differs(wanted):
			v.problem(t.folder+"/"+path, "has %d bytes and %d rows in the log, but %d and %d in the manifest"+remedy, live.size, live.rows, wanted.size, wanted.rows)
		}
	}
	if err := v.checkLastCheckpoint(ctx, catalog); err != nil {
		return err
	}
	entries, err := sink.ListAll(ctx, catalog, t.folder+"/")
	if err != nil {
		return err
	}
	sizes := make(map[string]int64)
	for _, entry := range entries {
		sizes[strings.TrimPrefix(entry.Path, t.folder+"/")] = entry.Bytes
	}
	for path, live := range log.live {
		v.verified.Rows += live.rows
		v.verified.Bytes += live.size
		_, wanted := t.files[path]
		if !wanted {
			v.problem(t.folder+"/"+path, "is live in the log but in no manifest"+remedy)
		}
		wrong := Problem{Path: t.folder + "/" + path, DataFile: wanted, History: t.history}
		size, ok := sizes[path]
		switch {
		case !ok:
			wrong.Problem = "is live in the log but missing"
		case size != live.size:
			wrong.Problem = fmt.Sprintf("has %d bytes, but %d in the log", size, live.size)
		default:
			continue
		}
		v.problems = append(v.problems, wrong)
	}
	return nil
}
