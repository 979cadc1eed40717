package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/deltalake"
	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// verifyOptions holds the settings of verify.
type verifyOptions struct {
	general
	destination
	runID         string
	snapshotDate  string
	effectiveDate string
}

func (a *app) verifyCommand() *cobra.Command {
	o := &verifyOptions{}
	cmd := newCommand(a, o, a.verify, "dest snapshot-date effective-date run-id history delta-lake all config output", &cobra.Command{
		Use:   "verify",
		Short: "Re-reads a published run and compares it with its manifest",
		Example: "  growth-export verify --dest /data/growth\n" +
			"  growth-export verify --dest /data/growth --snapshot-date 2026-11-20\n" +
			"  growth-export verify --dest /data/growth --all",
	})
	o.destination.define(cmd)
	which := group{cmd.Flags(), "What to verify"}
	define(which, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "the snapshot of this date")
	which.shownDefault("snapshot-date", "the latest")
	define(which, &o.effectiveDate, "effective-date", "DATE", "", parseDate, "the as-of snapshot of this date")
	define(which, &o.runID, "run-id", "ID", "", parseRunID, "the run with this id")
	which.toggle(new(bool), "history", "the history")
	which.toggle(new(bool), "delta-lake", "the Delta Lake logs of all tables")
	which.toggle(new(bool), "all", "all published runs, the history and the Delta Lake logs")
	which.onlyFlags("history", "delta-lake")
	o.general.define(cmd)
	return cmd
}

func (a *app) verify(ctx context.Context, o *verifyOptions, from sources) error {
	o.log = a.newLogger(&o.general)
	from.ignoreUnlessFlags("history", "delta-lake")
	which, err := from.pick("snapshot-date", "effective-date", "run-id", "history", "delta-lake", "all")
	if err != nil {
		return err
	}
	var target maintenance.VerifyTarget
	switch which {
	case "snapshot-date":
		target.SnapshotDate = o.snapshotDate
	case "effective-date":
		target.EffectiveDate = o.effectiveDate
	case "run-id":
		target.RunID = o.runID
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return err
	}
	var done verified
	switch which {
	case "all":
		done, err = a.verifyAll(ctx, catalog)
	case "delta-lake":
		done, err = verifyDeltaLake(ctx, catalog)
	case "history":
		done, err = verifyHistory(ctx, catalog)
	default:
		done, err = a.verifyRun(ctx, catalog, target)
	}
	if refused, none := errors.AsType[*snapshot.RefusedError](err); none {
		return usagef("%w", refused)
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", catalog, err)
	}
	purges, err := await(ctx, func() ([]snapshot.UnfinishedPurge, error) { return catalog.UnfinishedPurges(ctx) })
	if err != nil {
		return fmt.Errorf("verify %s: %w", catalog, err)
	}
	for _, purge := range purges {
		work.LogUnfinishedPurge(ctx, o.log, purge)
	}
	damaged, err := await(ctx, func() ([]string, error) { return catalog.DamagedPurges(ctx) })
	if err != nil {
		return fmt.Errorf("verify %s: %w", catalog, err)
	}
	for _, problem := range damaged {
		o.log.WarnContext(ctx, "a document of a purge is damaged", "problem", problem)
	}
	if which == "all" {
		undone, err := await(ctx, func() ([]string, error) {
			runs, err := catalog.Outcomes(ctx, nil)
			if err != nil {
				return nil, err
			}
			return catalog.UndonePurges(ctx, runs)
		})
		if err != nil {
			return fmt.Errorf("verify %s: %w", catalog, err)
		}
		for _, problem := range undone {
			o.log.WarnContext(ctx, "rows that were purged may be back", "problem", problem)
		}
	}
	slices.Sort(done.missingProofs)
	for _, proof := range slices.Compact(done.missingProofs) {
		o.log.WarnContext(ctx, "the proof of a purge is missing, although a manifest refers to it", "proof", proof, "remedy", snapshot.RestoreProof)
	}
	var text strings.Builder
	writeFirst(&text, "", done.problems)
	text.WriteString(done.text)
	unwritten := a.writeOutput(o.output, done.report, text.String())
	if len(done.problems) == 0 {
		return unwritten
	}
	first := ""
	if o.output == outputJSON { // the text form already lists the problems on stdout
		first = ", the first is " + done.problems[0]
	}
	return fmt.Errorf("found %s in %s at %s%s: %s",
		wording.Many(len(done.problems), "problem"), done.what, catalog, first, strings.Join(done.remedies, "; "))
}

// verified is the result of verify.
type verified struct {
	report   any
	text     string
	problems []string
	what     string
	remedies []string
	// run is the run that was verified.
	run string
	// missingProofs are the paths of missing proofs of purges.
	missingProofs []string
}

// verifyRun verifies one published run. The problems that it finds are part of the result, not an error.
func (a *app) verifyRun(ctx context.Context, catalog snapshot.Catalog, target maintenance.VerifyTarget) (verified, error) {
	report, err := await(ctx, func() (*maintenance.VerifyReport, error) { return maintenance.Verify(ctx, catalog, target) })
	if err != nil {
		return verified{}, err
	}
	return verified{
		report: report, text: verifyText(report), problems: texts(report.Problems), what: "the snapshot",
		remedies: a.remedies(ctx, catalog, target, report), run: report.RunID, missingProofs: report.MissingProofs,
	}, nil
}

// remedies returns advice on the problems of a run.
func (a *app) remedies(ctx context.Context, catalog snapshot.Catalog, target maintenance.VerifyTarget, report *maintenance.VerifyReport) []string {
	var remedies []string
	others, pointer := false, false
	for _, p := range report.Problems {
		ofDate := p.Path == snapshot.PointerPath(snapshot.Full, report.SnapshotDate) ||
			p.Path == snapshot.PointerPath(snapshot.AsOf, report.SnapshotDate)
		lost := p.Problem == maintenance.Missing || strings.HasPrefix(p.Problem, sink.ErrDamaged.Error())
		if (p.Path == snapshot.LatestPath || ofDate && lost) && report.RunID != "" {
			run := report.RunID
			if p.Path == snapshot.LatestPath {
				if newest, err := catalog.NewestUnfiltered(ctx); err == nil && newest != nil {
					run = newest.RunID
				}
			}
			remedies = []string{wording.WriteAgain(catalog.String(), run)}
			continue
		}
		others = true
		pointer = pointer || ofDate
	}
	past := target.EffectiveDate == "" && report.Kind != snapshot.AsOf && report.Kind != snapshot.Delta &&
		report.SnapshotDate != a.now().UTC().Format(time.DateOnly)
	switch {
	case !others:
	case past, pointer:
		// The service returns only its present state, so exporting again would store today's data under an earlier
		// date. A run without its pointer would not be marked as replaced.
		remedies = append(remedies, wording.Restore)
	default:
		remedies = append(remedies, "export it again")
	}
	return remedies
}

func verifyHistory(ctx context.Context, catalog snapshot.Catalog) (verified, error) {
	report, err := await(ctx, func() (*maintenance.VerifyReport, error) { return maintenance.VerifyHistory(ctx, catalog) })
	if err != nil {
		return verified{}, err
	}
	return verified{
		report: report, text: verifyText(report), problems: texts(report.Problems), what: "the history",
		remedies: []string{wording.RebuildHistory("")}, missingProofs: report.MissingProofs,
	}, nil
}

func verifyDeltaLake(ctx context.Context, catalog snapshot.Catalog) (verified, error) {
	report, err := await(ctx, func() (*deltalake.VerifyReport, error) { return deltalake.Verify(ctx, catalog) })
	if err != nil {
		return verified{}, err
	}
	var remedies []string
	for _, problem := range report.Problems {
		remedy := "growth-export delta-lake brings the Delta logs up to date, or says what to do"
		switch {
		case problem.Path == snapshot.HistoryPointerPath, problem.DataFile && problem.History:
			remedy = wording.RebuildHistory("")
		case problem.DataFile:
			remedy = wording.Restore
		}
		if !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
		}
	}
	return verified{
		report: report, text: verifiedDeltaLake(report), problems: texts(report.Problems), what: "the Delta logs",
		remedies: remedies,
	}, nil
}

// verifiedAll holds the reports of everything at a destination.
type verifiedAll struct {
	Runs []any `json:"runs"`
	// History is nil if there is no history, and DeltaLake if there are no Delta logs. Each is also nil if damage
	// prevents its verification.
	History   any `json:"history,omitempty"`
	DeltaLake any `json:"delta_lake,omitempty"`
	// Unnamed holds the data files that neither a published run nor the history lists.
	Unnamed []*maintenance.UnnamedFiles `json:"unnamed_files,omitempty"`
}

// verifyAll verifies all published runs, the latest first, then the history and the Delta logs if there are any, and
// looks for data files that neither a published run nor the history lists. Parts that another process removes in the
// meantime are left out.
func (a *app) verifyAll(ctx context.Context, catalog snapshot.Catalog) (verified, error) {
	runs, err := await(ctx, func() ([]snapshot.RunState, error) { return catalog.Runs(ctx) })
	if err != nil {
		return verified{}, err
	}
	targets := []maintenance.VerifyTarget{{}} // the latest snapshot, with the pointer to it
	for i := range runs {
		if runs[i].State != snapshot.StateReplaced && runs[i].State != snapshot.StatePublishing && !runs[i].BeingPruned {
			targets = append(targets, maintenance.VerifyTarget{RunID: runs[i].RunID})
		}
	}
	dates, err := await(ctx, func() ([]maintenance.VerifyTarget, error) { return withoutFolder(ctx, catalog, runs) })
	if err != nil {
		return verified{}, err
	}
	targets = append(targets, dates...)
	all := verified{what: "the runs, the history and the Delta logs"}
	reports := verifiedAll{Runs: []any{}}
	latest := ""
	for _, target := range targets {
		if latest != "" && target.RunID == latest {
			continue
		}
		run, err := a.verifyRun(ctx, catalog, target)
		report, err := all.add(run, err)
		if err != nil {
			return verified{}, err
		}
		if report != nil {
			reports.Runs = append(reports.Runs, report)
		}
		if target.RunID == "" {
			latest = run.run
		}
	}
	if reports.History, err = all.add(verifyHistory(ctx, catalog)); err != nil {
		return verified{}, err
	}
	if reports.DeltaLake, err = all.add(verifyDeltaLake(ctx, catalog)); err != nil {
		return verified{}, err
	}
	if reports.Unnamed, err = await(ctx, func() ([]*maintenance.UnnamedFiles, error) {
		return maintenance.FindUnnamed(ctx, catalog)
	}); err != nil {
		return verified{}, err
	}
	all.problems = append(all.problems, texts(reports.Unnamed)...)
	all.remedies = append(all.remedies, unnamedRemedies(catalog, reports.Unnamed)...)
	if len(reports.Runs) == 0 && reports.History == nil && reports.DeltaLake == nil && len(reports.Unnamed) == 0 {
		return verified{}, fmt.Errorf("nothing is published: %w", errNothingPublished)
	}
	all.report = reports
	return all, nil
}

// withoutFolder returns a target for each date whose pointer is damaged or refers to a missing manifest, unless the
// pointer belongs to one of the runs.
func withoutFolder(ctx context.Context, catalog snapshot.Catalog, runs []snapshot.RunState) ([]maintenance.VerifyTarget, error) {
	damaged, err := catalog.DamagedPointers(ctx)
	if err != nil {
		return nil, err
	}
	var targets []maintenance.VerifyTarget
	for _, d := range damaged {
		pointer, err := snapshot.ReadIfSound[snapshot.Pointer](ctx, catalog, d.Path)
		if err != nil {
			return nil, err
		}
		known := slices.ContainsFunc(runs, func(r snapshot.RunState) bool {
			return pointer != nil && pointer.RunID == r.RunID || snapshot.PointerPath(r.Kind, r.SnapshotDate) == d.Path && r.State == snapshot.StatePublished
		})
		date := strings.TrimSuffix(path.Base(d.Path), ".json")
		switch {
		case known:
		case d.Path == snapshot.PointerPath(snapshot.Full, date):
			targets = append(targets, maintenance.VerifyTarget{SnapshotDate: date})
		case d.Path == snapshot.PointerPath(snapshot.AsOf, date):
			targets = append(targets, maintenance.VerifyTarget{EffectiveDate: date})
		}
	}
	return targets, nil
}

// unnamedRemedies returns advice on data files that neither a published run nor the history lists.
func unnamedRemedies(catalog snapshot.Catalog, unnamed []*maintenance.UnnamedFiles) []string {
	var remedies []string
	for _, u := range unnamed {
		remedy := "remove the files that neither a published run nor the history lists"
		if u.Run != "" {
			remedy = wording.Command("publish", wording.Setting("dest"), catalog, wording.Setting("abandon"), wording.Setting("run-id"), u.Run) +
				" removes the files of run " + u.Run + "; if they do not belong to a run of this destination, remove them yourself"
		}
		if !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
		}
	}
	return remedies
}

// add adds the result of verifying one part of the destination. It returns the part's report, or nil if there is no
// such part. If damage prevents the verification of the part, add records the damage as a problem, and the report is
// also nil.
func (v *verified) add(part verified, err error) (any, error) {
	if _, none := errors.AsType[*snapshot.RefusedError](err); none {
		return nil, nil
	}
	if errors.Is(err, sink.ErrDamaged) { // other parts can still be verified
		problem, remedy := err.Error(), wording.Restore
		if advised, ok := errors.AsType[*wording.AdvisedError](err); ok {
			problem, remedy = strings.TrimSuffix(problem, ": "+advised.Advice), advised.Advice
		}
		part, err = verified{problems: []string{problem}, remedies: []string{remedy}}, nil
	}
	v.text += part.text
	for _, problem := range part.problems {
		if !slices.Contains(v.problems, problem) { // the Delta logs of the history have the problems of the history, too
			v.problems = append(v.problems, problem)
		}
	}
	v.missingProofs = append(v.missingProofs, part.missingProofs...)
	for _, remedy := range part.remedies {
		if len(part.problems) > 0 && !slices.Contains(v.remedies, remedy) {
			v.remedies = append(v.remedies, remedy)
		}
	}
	return part.report, err
}

// texts returns the text of each item.
func texts[T fmt.Stringer](items []T) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = item.String()
	}
	return all
}

// verifyText describes the data that was verified. It returns "" if there are problems.
func verifyText(r *maintenance.VerifyReport) string {
	switch {
	case !r.OK():
		return ""
	case r.HistoryID != "":
		return fmt.Sprintf("OK: history through %s: %s, %s, %s\n",
			r.SnapshotDate, wording.Many(r.Files, "file"), wording.Many(r.Rows, "row"), wording.Size(r.Bytes))
	}
	return fmt.Sprintf("OK: %s, run %s: %s, %s, %s, and the ledger\n",
		snapshotName(r.Kind, r.SnapshotDate), r.RunID, wording.Many(r.Files, "file"), wording.Many(r.Rows, "row"), wording.Size(r.Bytes))
}
