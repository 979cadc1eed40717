package deltalake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// VerifyReport lists the logs of a destination and every problem that was found.
type VerifyReport struct {
	Tables   []VerifiedTable `json:"tables"`
	Problems []Problem       `json:"problems"`
}

// VerifiedTable is a table with a log.
type VerifiedTable struct {
	Table   string `json:"table"`
	Version int64  `json:"version"`
	// Files, Rows and Bytes are of the live files.
	Files int   `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Foreign are all commits of other programs.
	Foreign []Foreign `json:"foreign,omitempty"`
}

// Problem is what is wrong with a log.
type Problem struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// String names the path and what is wrong with it.
func (p Problem) String() string { return p.Path + ": " + p.Problem }

const (
	// maxProblems bounds the problems listed for each table.
	maxProblems = 20
	// verifyAttempts is how often problems are looked for before they count: another process may be at work.
	verifyAttempts = 3
)

// Verify compares the logs of a destination with its manifests and files. It fails with a *RefusedError if there are no
// logs. Commits of other programs are listed; they are problems only as far as the live files are wrong.
func Verify(ctx context.Context, catalog snapshot.Catalog) (*VerifyReport, error) {
	var logs []*replay
	for _, t := range tables() {
		log := newReplay(catalog, t.folder)
		log.countRows = true
		logs = append(logs, log)
	}
	var report *VerifyReport
	for range verifyAttempts {
		found, err := verifyOnce(ctx, catalog, logs)
		if err != nil {
			return nil, err
		}
		same := report != nil && slices.Equal(found.Problems, report.Problems)
		if report = found; same || len(found.Problems) == 0 {
			break
		}
	}
	if len(report.Tables) == 0 {
		return nil, &snapshot.RefusedError{Reason: "there are no Delta logs at " + catalog.String() + ": growth-export delta-lake writes them"}
	}
	return report, nil
}

func verifyOnce(ctx context.Context, catalog snapshot.Catalog, logs []*replay) (*VerifyReport, error) {
	if err := advanceAll(ctx, logs); err != nil {
		return nil, err
	}
	report := &VerifyReport{Tables: []VerifiedTable{}, Problems: []Problem{}}
	if !slices.ContainsFunc(logs, (*replay).exists) {
		return report, nil
	}
	all := tables()
	if err := readWanted(ctx, catalog, all); err != nil {
		return nil, err
	}
	for i, t := range all {
		log := logs[i]
		if !log.exists() && len(t.files) == 0 && t.problem == "" {
			continue
		}
		v := &tableVerification{log: log, table: t}
		if err := v.run(ctx, catalog); err != nil {
			return nil, err
		}
		slices.SortFunc(v.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Problem, b.Problem)) })
		if n := len(v.problems); n > maxProblems {
			v.problems = append(v.problems[:maxProblems:maxProblems], Problem{t.folder, fmt.Sprintf("and %d more problems", n-maxProblems)})
		}
		report.Problems = append(report.Problems, v.problems...)
		if log.exists() {
			report.Tables = append(report.Tables, v.verified())
		}
	}
	return report, nil
}

// tableVerification compares one log with the manifests and the files.
type tableVerification struct {
	log      *replay
	table    *table
	problems []Problem
}

func (v *tableVerification) problem(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{path, fmt.Sprintf(format, args...)})
}

func (v *tableVerification) run(ctx context.Context, catalog snapshot.Catalog) error {
	t, log := v.table, v.log
	folder := t.folder + strings.TrimSuffix(logFolder, "/")
	switch {
	case log.refused != "":
		v.problem(folder, "%s", log.refused)
		return nil
	case t.problem != "":
		v.problem(folder, "%s", t.problem)
		return nil
	case !log.exists():
		v.problem(folder, "is missing: run growth-export delta-lake")
		return nil
	}
	if meta, err := metaDataOf(t, log.meta); err != nil || !meta.equal(log.meta) {
		v.problem(folder, "describes other columns or properties than the table has: run growth-export delta-lake")
	}
	const remedy = ": run growth-export delta-lake"
	for path, wanted := range t.files {
		live, ok := log.live[path]
		switch {
		case !ok:
			v.problem(t.folder+"/"+path, "is in a manifest but not live in the log"+remedy)
		case live.size != wanted.size || live.rows != wanted.rows:
			v.problem(t.folder+"/"+path, "has %d bytes and %d rows in the log, %d and %d in the manifest"+remedy, live.size, live.rows, wanted.size, wanted.rows)
		case live.odd:
			v.problem(t.folder+"/"+path, "has other partition values in the log than in its path"+remedy)
		}
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
		if _, wanted := t.files[path]; !wanted {
			v.problem(t.folder+"/"+path, "is live in the log but in no manifest"+remedy)
		}
		size, ok := sizes[path]
		switch {
		case !ok:
			v.problem(t.folder+"/"+path, "is live in the log but missing")
		case size != live.size:
			v.problem(t.folder+"/"+path, "has %d bytes, %d in the log", size, live.size)
		}
	}
	return nil
}

// verified counts the live files.
func (v *tableVerification) verified() VerifiedTable {
	found := VerifiedTable{Table: v.table.folder, Version: v.log.version, Files: len(v.log.live), Foreign: v.log.foreign}
	for live := range maps.Values(v.log.live) {
		found.Rows += live.rows
		found.Bytes += live.size
	}
	return found
}
