package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// purgeRounds is the maximum number of times that a purge starts over because its final search has found rows again.
// Such rows are in runs that were started or published after the first search, or replaced while they were being
// purged.
const purgeRounds = 3

// Purge removes all rows of some schools, of some districts and their schools, or of some students, from every
// published run at a destination and from the history. Staged files cannot be searched, so Purge drops the staged files
// of unfinished runs. The next command for such a run plans and fetches again. The rows of purged schools are also
// removed from ledgers, and their failures from manifests, so that a rebuilt history does not contain the schools. The
// plans of published runs are kept. erase.Target defines which rows are removed, erase.DistrictIndex defines the
// schools of a district, and endedSchools finds the schools whose agreements have ended. No document that a purge
// writes identifies a student.
//
// Only files that contain such rows are rewritten, run by run. The new files are staged, and a Change replaces the old
// files with them. Calling Purge again finishes a purge that was killed, and any command that changes the destination
// finishes a change that has begun (Recover). Finally, every file is read again, and the report is stored as the proof,
// _purges/<id>.json. The state of the report is done, or incomplete if remaining rows still mention the students.
//
// Purge cannot reach backups, copies, or old versions of removed objects that the store keeps (NotReached). It fails
// with a *RefusedError if a process is working on a run or something else blocks the purge, with an *UnknownBidsError
// if a bid does not occur anywhere, with a *WrongKindError if a school's bid was given as a district's or the other way
// round, with a *HasBidError if a listed number belongs to a student with a bid, with a *NotIDError if a listed bid or
// number occurs only in columns that do not contain ids of students, with a *NotAloneError if a listed text contains
// more than a bid or number, with a *PseudonymError if a student cannot be found everywhere by a listed pseudonym, and
// with a *KeyNeededError if students cannot be found without a key. In these cases, nothing was changed, except if a
// *RefusedError is due to a process that began to work on a run during the purge. Purge also fails if data files that
// are listed neither in a run nor in the history contain such rows. It reports these files, but does not change them.
func Purge(ctx context.Context, catalog snapshot.Catalog, opts PurgeOptions) (_ *PurgeReport, err error) {
	if opts.kinds() != 1 {
		return nil, errors.New("purge: say either which schools, districts or students to purge, or for how long agreements must have ended")
	}
	if !opts.DryRun {
		// A fold may take a long time. Wait for it before taking locks that other commands wait for.
		unlockHistory, lockErr := catalog.LockHistory(ctx)
		if lockErr != nil {
			return nil, lockErr
		}
		defer func() { err = errors.Join(err, unlockHistory()) }()
		_, unlock, lockErr := catalog.RecoverAndLock(ctx)
		if lockErr != nil {
			return nil, lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	opts, err = trimStudents(ctx, catalog, opts)
	if err != nil {
		return nil, err
	}
	p, err := newPurger(ctx, catalog, opts)
	if err != nil {
		return nil, err
	}
	if asked := p.report.Asked; asked.EndedFor != "" && len(asked.Schools) == 0 {
		return p.report, nil
	}
	listed, err := sink.ListAll(ctx, p.catalog, "")
	if err != nil {
		return nil, err
	}
	if err := p.survey(ctx); err != nil {
		return nil, err
	}
	if err := p.checkKeys(ctx); err != nil {
		return nil, err
	}
	if !opts.DryRun {
		defer func() { err = errors.Join(err, p.unlockRuns()) }()
		p.locks = p.catalog.Info().Locks
		if err := p.refuseWorking(ctx); err != nil {
			return p.report, err
		}
	}
	find := func(ctx context.Context) error { return p.findRows(ctx, nil) }
	if p.students != nil {
		find = p.findAndCount // a dry run reports the rows that will be left, and all text is read anyway
	}
	if err := find(ctx); err != nil {
		return nil, err
	}
	if err := p.findOrphans(ctx, listed); err != nil {
		return nil, err
	}
	if err := p.summarize(ctx); err != nil {
		return nil, err
	}
	if err := p.suppress(ctx); err != nil || opts.DryRun {
		return p.report, err
	}
	if p.report.Nothing() {
		if err := p.report.OrphansError(); err != nil {
			return p.report, err
		}
		p.report.Verification = nil
		return p.report, errors.Join(p.sweepLeftovers(ctx), catalog.Check(ctx))
	}
	return p.report, p.carryOut(ctx)
}

// survey reads the manifests and plans of all runs, and finds unfinished runs.
func (p *purger) survey(ctx context.Context) error {
	folders, err := p.catalog.Index(ctx)
	if err != nil {
		return err
	}
	runs, unreadable, err := p.catalog.PublishedRuns(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return fmt.Errorf("purge: cannot list the files of a run: %w", err)
	}
	p.all = maps.Clone(runs)
	maps.DeleteFunc(runs, func(_ string, m *snapshot.Manifest) bool { return m.Status != snapshot.Published })
	going, err := p.catalog.Changes(ctx, (*snapshot.Change).Prunes)
	if err != nil {
		return err
	}
	maps.DeleteFunc(runs, func(run string, _ *snapshot.Manifest) bool { return going[sink.Escape(run)] != nil })
	p.runs = runs
	if p.plans, err = snapshot.ReadAll[snapshot.Plan](ctx, p.catalog, folders, snapshot.PlanName); err != nil {
		return err
	}
	if len(p.opts.Districts) > 0 {
		for _, plan := range p.plans {
			p.index.AddPlan(plan)
		}
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			if err := p.unlessPruned(ctx, run, p.index.AddTables(ctx, p.catalog, runs[run])); err != nil {
				return fmt.Errorf("purge run %s: %w", run, err)
			}
		}
		if err := p.index.AddHistory(ctx, p.catalog); err != nil {
			return fmt.Errorf("purge the history: %w", err)
		}
	}
	return p.findUnfinished(ctx, folders)
}

// surveyAgain finds the unfinished runs again, and returns the runs that have been published since the survey. Both may
// have changed, because reading all files takes a long time.
func (p *purger) surveyAgain(ctx context.Context) (newlyPublished []string, err error) {
	folders, err := p.catalog.Index(ctx)
	if err != nil {
		return nil, err
	}
	if p.plans, err = snapshot.ReadAll[snapshot.Plan](ctx, p.catalog, folders, snapshot.PlanName); err != nil {
		return nil, err
	}
	known := make(erase.Set)
	for run := range p.all {
		known[sink.Escape(run)] = true
	}
	busy, err := p.catalog.Changes(ctx, (*snapshot.Change).Publishes)
	if err != nil {
		return nil, err
	}
	for _, run := range folders.With(snapshot.ManifestName) {
		if !known[run] && busy[run] == nil {
			newlyPublished = append(newlyPublished, run)
		}
	}
	return newlyPublished, p.findUnfinished(ctx, folders)
}

// findUnfinished finds the runs that are neither published nor being published, and that have staged files, documents
// besides the plan, no readable plan, or a plan with a purged bid. It also finds staged files that processes of
// published runs, or killed folds, left behind. It returns a *RefusedError if one of the unfinished runs was once
// published and has lost its manifest.
func (p *purger) findUnfinished(ctx context.Context, folders snapshot.Index) error {
	list := p.catalog.AllStaged
	if p.opts.DryRun {
		list = p.catalog.Staged // a dry run writes nothing to the destination, not even to probe it
	}
	staged, err := list(ctx)
	if err != nil {
		return err
	}
	p.unfinished = make(map[string]string)
	has := make(map[string]*snapshot.RunFolder)
	p.leftovers, p.alive = nil, make(erase.Set)
	for _, f := range folders {
		has[f.Name], p.alive[f.Name] = f, f.Has(snapshot.AliveName)
		plan := p.plans[f.Name]
		_, isStaged := staged[f.Name]
		switch {
		case f.Has(snapshot.ChangeName):
		case f.Has(snapshot.ManifestName):
			if isStaged || f.HasCheckpoints() {
				p.leftovers = append(p.leftovers, f.Name)
			}
		case f.Len() > 1 || plan == nil || isStaged:
			p.unfinished[f.Name] = f.Name
		default:
			b := p.targetOf(plan.RunID)
			dropping := p.report.resumed && slices.Contains(p.report.DroppedRuns, plan.RunID) // the plan is removed last
			if dropping || b.NamesPlan(plan) {
				p.unfinished[f.Name] = f.Name
			}
		}
	}
	for folder := range staged {
		switch {
		case has[folder] != nil:
		case snapshot.IsHistoryID(folder): // a killed fold left the files behind
			p.leftovers = append(p.leftovers, folder)
		default:
			p.unfinished[folder] = folder
		}
	}
	for folder := range p.unfinished {
		plan := p.plans[folder]
		if plan == nil {
			continue
		}
		p.unfinished[folder] = plan.RunID
		published, err := p.catalog.WasPublished(ctx, plan)
		if err != nil {
			return err
		}
		if published {
			return &snapshot.RefusedError{Reason: fmt.Sprintf("the manifest of run %s is missing, so a purge could leave rows in its files: %s", plan.RunID, wording.Restore)}
		}
	}
	return nil
}

// summarize adds the findings to the report: the schools that are purged, the changes to be made, and the bids that do
// not occur anywhere.
func (p *purger) summarize(ctx context.Context) error {
	r := p.report
	schools := make(erase.Set)
	for _, school := range r.Schools {
		schools[school] = true
	}
	for run := range p.runs {
		maps.Copy(schools, p.targetOf(run).Schools)
	}
	for _, plan := range p.plans {
		maps.Copy(schools, p.targetOf(plan.RunID).Schools)
	}
	r.Schools = schools.Sorted()
	r.reset()
	for _, run := range slices.Sorted(maps.Keys(p.found)) {
		r.add(p.all[run], p.found[run])
	}
	r.History = p.history.Report(r.ID)
	if p.history != nil {
		maps.Copy(schools, p.history.Schools)
		r.Schools = schools.Sorted()
	}
	if !p.continues() { // the killed purge had a different list of students
		p.fresh.NotReached, p.fresh.Verification, p.fresh.Orphans = r.NotReached, r.Verification, r.Orphans
		p.report = p.fresh
		return p.summarize(ctx)
	}
	if r.resumed {
		if r.Asked.Students != nil {
			r.Asked.Students.Digest = p.digest()
		}
		return nil
	}
	if r.Asked.Students != nil {
		return p.summarizeStudents(ctx)
	}
	var err error
	if r.Unknown, err = p.unknownBids(ctx); err != nil {
		return err
	}
	if len(r.Unknown) > 0 && !p.opts.AllowUnknown {
		return &UnknownBidsError{Bids: r.Unknown}
	}
	if len(r.Unknown) < len(r.Asked.Schools)+len(r.Asked.Districts) {
		r.DroppedRuns = append(r.DroppedRuns, slices.Sorted(maps.Values(p.unfinished))...)
	}
	return nil
}

// carryOut makes the necessary changes, and repeats the search until it finds no more rows. It fails if it still finds
// rows after purgeRounds repetitions. It also finds and drops files that another process has staged since the last
// search, either for a new run or because no lock excluded that process.
func (p *purger) carryOut(ctx context.Context) error {
	if err := p.lockAndRecord(ctx); err != nil {
		return err
	}
	for round := 0; ; round++ {
		disturbed, err := p.changeAndVerify(ctx)
		if err != nil {
			return err
		}
		changes, err := p.changesLeft(ctx)
		if err != nil {
			return err
		}
		pending, err := p.history.Pending()
		if err != nil {
			return err
		}
		if len(changes) == 0 && !pending {
			if err := p.writeReports(ctx); err != nil {
				return err
			}
			return p.writeProof(ctx)
		}
		if round == purgeRounds {
			where := "the history"
			if len(changes) > 0 {
				where = "run " + changes[0]
			}
			return errors.Join(disturbed, p.rowsRemain(ctx, where))
		}
		if !p.locks { // the process that began a change may be slow or dead
			recovered, err := p.catalog.Recover(ctx)
			if err := errors.Join(err, recovered.Err()); err != nil {
				return err
			}
		}
		if err := p.lockRuns(ctx, changes); err != nil {
			return err
		}
	}
}

// rowsRemain returns the error of a purge that keeps finding rows. The error says what the probable cause is.
func (p *purger) rowsRemain(ctx context.Context, where string) error {
	if probe, ok := p.catalog.Store().(sink.AbortProber); ok {
		removes, err := probe.AbortRemoves(ctx)
		if err != nil {
			return err
		}
		if removes {
			return fmt.Errorf("purge: open uploads that may hold rows remain, for example in %s: this store removes published files when "+
				"such an upload is aborted, so wait until the store has expired the uploads, then purge again", where)
		}
	}
	return fmt.Errorf("purge: other processes keep writing to the destination, and rows remain, for example in %s: stop these processes, then purge again", where)
}

// lockAndRecord locks the runs that have to be changed, and writes the report so that the purge can be resumed.
func (p *purger) lockAndRecord(ctx context.Context) error {
	if err := p.lockRuns(ctx, p.toChange()); err != nil {
		return err
	}
	var err error
	if p.listed, err = p.catalog.ListsStaged(ctx); err != nil {
		return err
	}
	return p.record(ctx)
}

// record writes the report before the purge makes its first change. Further calls do nothing.
func (p *purger) record(ctx context.Context) error {
	if p.report.resumed || p.recorded {
		return nil
	}
	p.recorded = true
	begun := *p.report
	begun.Runs, begun.History, begun.Verification, begun.Orphans = []PurgedRun{}, nil, nil, nil
	return snapshot.WriteDocument(ctx, p.catalog.Store(), PurgePath(p.report.ID), begun, sink.Condition{Absent: true})
}

// changeAndVerify makes the planned changes and reads all files again. disturbed is the error of changes that another
// process has prevented. The next search finds the rows of these changes again.
func (p *purger) changeAndVerify(ctx context.Context) (disturbed, err error) {
	if err := p.dropUnfinished(ctx); err != nil {
		return nil, err
	}
	if disturbed, err = p.purgeRuns(ctx); err != nil {
		return disturbed, err
	}
	if err := p.survey(ctx); err != nil {
		return disturbed, err
	}
	if p.history != nil && !p.history.Anew {
		p.moved = max(p.moved, len(p.history.Moved))
	}
	// The history is changed last, because it records the hashes of the snapshots' new manifests.
	switch err := p.history.Erase(ctx, p.catalog, p.report.ID, p.suppressed, p.runs); {
	case errors.Is(err, sink.ErrConflict), errors.Is(err, sink.ErrStagedLost):
		disturbed = errors.Join(disturbed, err)
	case err != nil:
		return disturbed, err
	}
	return disturbed, p.verifyPurged(ctx)
}

// changesLeft returns the runs that the next round has to change or wait for.
func (p *purger) changesLeft(ctx context.Context) ([]string, error) {
	newlyPublished, err := p.surveyAgain(ctx)
	if err != nil {
		return nil, err
	}
	changes := append(p.toChange(), newlyPublished...)
	pruning, err := p.catalog.Changes(ctx, (*snapshot.Change).Prunes)
	for _, change := range pruning {
		changes = append(changes, change.RunID)
	}
	return changes, err
}

// writeReports writes the HTML reports of all runs that this purge has changed, including those that it changed before it
// was killed.
func (p *purger) writeReports(ctx context.Context) error {
	if p.opts.WriteReports == nil {
		return nil
	}
	var changed []string
	for run, m := range p.all {
		if slices.ContainsFunc(m.Purges, func(purge snapshot.ManifestPurge) bool { return purge.ID == p.report.ID }) {
			changed = append(changed, run)
		}
	}
	slices.Sort(changed)
	if err := p.opts.WriteReports(ctx, changed); err != nil {
		return fmt.Errorf("purge: all rows are removed, but reports of runs still have to be written: %w", err)
	}
	return nil
}

// writeProof stores the report as the proof. It fails if unlisted data files contain rows to purge, or if runs are
// being published.
func (p *purger) writeProof(ctx context.Context) error {
	if err := p.report.OrphansError(); err != nil {
		return err
	}
	// Runs that are being published may contain rows too, but can only be searched once they are published.
	busy, err := p.catalog.Changes(ctx, (*snapshot.Change).Publishes)
	if err != nil {
		return err
	}
	if len(busy) > 0 {
		return fmt.Errorf("purge: %d runs are being published: purge again when they have been published", len(busy))
	}
	if err := p.catalog.Check(ctx); err != nil { // Check removes leftovers of killed processes.
		return err
	}
	p.completeReport()
	return snapshot.WriteDocument(ctx, p.catalog.Store(), PurgePath(p.report.ID), p.report, sink.Condition{})
}

// countChanges replaces the counts with the sums of this purge's changes, as recorded in the manifests of the given
// runs.
func (r *PurgeReport) countChanges(runs map[string]*snapshot.Manifest) {
	r.reset()
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		m := runs[run]
		for i := range m.Purges {
			if m.Purges[i].ID == r.ID {
				r.addPurge(m, &m.Purges[i])
			}
		}
	}
}

// completeReport completes the report from the manifests. If the purge was resumed, the manifests also record what it
// removed before it was killed.
func (p *purger) completeReport() {
	r := p.report
	r.countChanges(p.all)
	if p.history != nil {
		r.History = cmp.Or(p.history.Manifest.PurgeBy(r.ID), r.History)
	}
	r.State = purgeDone
	if r.Left() > 0 {
		r.State = purgeIncomplete
	}
	if p.moved > 0 {
		r.NotReached = append(r.NotReached, fmt.Sprintf("the coverage of %s in the history: they changed districts, and "+
			"some of the snapshots that the history was built from are pruned, so the coverage is unknown", wording.Many(p.moved, "school")))
	}
	r.FinishedAt = p.opts.Now().UTC().Truncate(time.Second)
}
