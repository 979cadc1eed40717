package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// The states of a run, in the order in which it goes through them.
const (
	StateStaging    = "staging"
	StateStaged     = "staged"
	StateHeld       = "held"
	StatePublishing = "publishing"
	StatePublished  = Published
	StateReplaced   = Replaced
)

// RunState describes the state and progress of a run.
type RunState struct {
	RunID        string `json:"run_id"`
	Kind         Kind   `json:"kind"`
	SnapshotDate string `json:"snapshot_date"`
	State        string `json:"state"`
	// PlannedAt is the time at which the run was planned. It is zero if neither the plan nor the manifest can be read.
	PlannedAt time.Time `json:"planned_at"`
	// LastProgress is the time at which the run was published or, before that, one of its files or documents was last
	// written. A working process writes at least every five minutes.
	LastProgress time.Time `json:"last_progress"`
	// Staged counts the staged tasks of the run, and Tasks all tasks in its plan. For a published run, they are equal.
	Staged int `json:"staged"`
	Tasks  int `json:"tasks"`
	// Shards is the progress of each shard of a run that several processes are staging.
	Shards []ShardState `json:"shards,omitempty"`
	// Schools, Failed and Denied count schools, as far as the numbers are known.
	Schools int64 `json:"schools"`
	Failed  int64 `json:"failed"`
	Denied  int64 `json:"denied"`
	// Filtered is true if the run holds only some schools or students.
	Filtered bool `json:"filtered"`
	// Students is the cohort to which the run is restricted. It is nil if the run covers all students.
	Students *Students `json:"students,omitempty"`
	// Privacy is the profile of the run's rows, and PrivacyKey the fingerprint of the key of their pseudonyms.
	Privacy    string `json:"privacy"`
	PrivacyKey string `json:"privacy_key_fingerprint,omitempty"`
	// Rows, Bytes and Duration (from plan to publishing) are set for published and replaced runs. A replaced run no longer
	// has its files.
	Rows     int64         `json:"rows"`
	Bytes    int64         `json:"bytes"`
	Duration time.Duration `json:"duration_ns"`
	// DurationSeconds is Duration in seconds.
	DurationSeconds float64 `json:"duration_seconds"`
	// Changes counts the rows that differ from the previous snapshot. It is nil if the run was not compared.
	Changes *Changes `json:"changes,omitempty"`
	// Warnings is the number of warnings of a published run, including failed checks. Accepted is the number of reasons
	// for holding the run that an operator has accepted.
	Warnings int `json:"warnings,omitempty"`
	Accepted int `json:"accepted,omitempty"`
	// Reasons are the reasons why the run is held. There are no reasons if the run is superseded.
	Reasons []review.Reason `json:"reasons,omitempty"`
	// SupersededBy is the run that has since been published for the date of a held run.
	SupersededBy string `json:"superseded_by,omitempty"`
	// Problems describe the documents of the run that cannot be read.
	Problems []string `json:"problems,omitempty"`
	// ManifestMissing is true if the run was published but has no manifest. Such a run has a ledger, or the pointer of its
	// date refers to it.
	ManifestMissing bool `json:"-"`
	// BeingPruned is true if a prune of the run has begun.
	BeingPruned bool `json:"-"`
	// Purges are the ids of the purges in the manifest.
	Purges []string `json:"-"`
	// notSuppressed are the fingerprints of the keys of suppression lists whose students the run could not leave out.
	notSuppressed []string
	// Report is true if the run has a report.
	Report bool `json:"-"`
	// Resumable is true if an unpublished run has checkpoints, or files beside them.
	Resumable bool `json:"-"`
	// Stamp identifies the version of the manifest. It is empty if there are Problems, or if the state also comes from
	// other documents.
	Stamp string `json:"-"`
	// planWritten orders runs that were planned in the same second.
	planWritten time.Time
}

// ShardState is the progress of a shard: how many of its tasks are staged. A shard without staged tasks has not begun,
// or has just begun.
type ShardState struct {
	Shard  int `json:"shard"`
	Staged int `json:"staged"`
	Tasks  int `json:"tasks"`
}

// Changes counts the rows of all tables that differ from the previous snapshot.
type Changes struct {
	Added   int64 `json:"added"`
	Changed int64 `json:"changed"`
	Removed int64 `json:"removed"`
}

// Runs returns the states of all runs at a destination, the most recently planned run first.
func (c Catalog) Runs(ctx context.Context) ([]RunState, error) { return c.runs(ctx, true, nil) }

// Outcomes works like Runs, but does not read the plans of published runs, so it leaves out their tasks. known maps
// Stamps to results of earlier calls. A manifest whose Stamp is in known is not read again.
func (c Catalog) Outcomes(ctx context.Context, known map[string]RunState) ([]RunState, error) {
	return c.runs(ctx, false, known)
}

func (c Catalog) runs(ctx context.Context, plans bool, known map[string]RunState) ([]RunState, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	index = slices.DeleteFunc(index, func(f *RunFolder) bool { return !f.Has(PlanName) && !f.Has(ManifestName) })
	staged, err := c.Staged(ctx)
	if err != nil {
		return nil, err
	}
	found, err := sink.Map(ctx, maxRunsRead, index, func(ctx context.Context, folder *RunFolder) (*RunState, error) {
		if !folder.Has(ManifestName) || plans {
			return c.runState(ctx, folder, staged[folder.Name], true)
		}
		stamp := folder.stamp()
		if state, ok := known[stamp]; ok && stamp != "" {
			state.Report, state.Stamp, state.planWritten = folder.Has(reportName), stamp, folder.written(PlanName)
			return &state, nil
		}
		state, err := c.runState(ctx, folder, time.Time{}, false)
		if err == nil && len(state.Problems) == 0 {
			state.Stamp = stamp
		}
		return state, err
	})
	if err != nil {
		return nil, err
	}
	runs := make([]RunState, len(found))
	for i, run := range found {
		runs[i] = *run
	}
	slices.SortFunc(runs, func(a, b RunState) int {
		return b.compare(&a)
	})
	for i := range runs {
		if held := &runs[i]; held.State == StateHeld {
			if held.SupersededBy = supersededBy(held, runs); held.SupersededBy != "" {
				held.Reasons = nil
			}
		}
	}
	return runs, nil
}

// DamagedPointer is a damaged pointer, or the lost pointer of a history.
type DamagedPointer struct {
	Path string
	// Problem says what is wrong with the pointer.
	Problem string
}

// DamagedPointers returns the damaged pointers of dates, of the latest run and of the history, the pointers of dates
// whose manifests are missing, and the pointer of the history if it is lost.
func (c Catalog) DamagedPointers(ctx context.Context) ([]DamagedPointer, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	manifests := make(map[string]bool)
	for _, folder := range index.With(ManifestName) {
		manifests[DocumentPath(folder, ManifestName)] = true
	}
	entries := []sink.Entry{{Path: LatestPath}, {Path: HistoryPointerPath}}
	for _, kind := range []Kind{Full, AsOf} {
		listed, err := c.pointers(ctx, kind)
		if err != nil {
			return nil, err
		}
		entries = append(entries, listed...)
	}
	found, err := sink.Map(ctx, sink.MaxConcurrency, entries, func(ctx context.Context, entry sink.Entry) (DamagedPointer, error) {
		pointer, _, err := ReadDocument[Pointer](ctx, c, entry.Path, sink.ErrNotFound) // pointers of all kinds refer to a manifest
		if err == nil && pointer != nil && pointer.Manifest == "" {
			err = fmt.Errorf("read %s: %w: it does not refer to a manifest", entry.Path, sink.ErrDamaged)
		}
		if pointer == nil && err == nil && entry.Path == HistoryPointerPath {
			_, err = c.lostHistory(ctx)
		}
		isDate := entry.Path != LatestPath && entry.Path != HistoryPointerPath
		if err == nil && pointer != nil && isDate && !manifests[pointer.Manifest] {
			_, err = c.current(ctx, entry.Path)
		}
		if errors.Is(err, sink.ErrDamaged) {
			return DamagedPointer{Path: entry.Path, Problem: err.Error()}, nil
		}
		return DamagedPointer{}, err
	})
	return slices.DeleteFunc(found, func(d DamagedPointer) bool { return d.Path == "" }), err
}

// maxRunsRead is the maximum number of runs that are read at once. It is small because a manifest or plan may take
// megabytes.
const maxRunsRead = 8

// compare orders runs by the time at which they were planned.
func (s *RunState) compare(other *RunState) int {
	return cmp.Or(s.PlannedAt.Compare(other.PlannedAt), s.planWritten.Compare(other.planWritten), cmp.Compare(s.RunID, other.RunID))
}

// supersededBy returns the id of a run that was published for the held run's date, if it was planned later than the
// held run or published after that run was held. It returns "" if there is no such run.
func supersededBy(held *RunState, runs []RunState) string {
	for i := range runs {
		r := &runs[i]
		same := r.State == StatePublished && r.Kind == held.Kind && r.SnapshotDate == held.SnapshotDate && r.Kind != Delta
		if same && (r.compare(held) > 0 || r.LastProgress.After(held.LastProgress)) {
			return r.RunID
		}
	}
	return ""
}

// stamp returns a string that identifies the version of the manifest, or "" while the run is being changed. The string
// includes the size of the manifest, because times on S3 are in whole seconds.
func (f *RunFolder) stamp() string {
	if f.Has(ChangeName) {
		return ""
	}
	return fmt.Sprintf("%s@%d:%d", f.Name, f.written(ManifestName).UnixNano(), f.contents[ManifestName].Bytes)
}

// runState returns the state of the run in a folder.
func (c Catalog) runState(ctx context.Context, folder *RunFolder, staged time.Time, readPlan bool) (*RunState, error) {
	state := &RunState{RunID: folder.Name, State: StateStaging, Report: folder.Has(reportName), planWritten: folder.written(PlanName)}
	var plan *Plan
	if readPlan {
		var err error
		if plan, err = readInto[Plan](ctx, c, folder.path(PlanName), state); err != nil {
			return nil, err
		}
	}
	if plan != nil {
		if err := plan.check(folder.Name); err != nil {
			state.Problems = append(state.Problems, fmt.Sprintf("read %s: %v", folder.path(PlanName), err))
			plan = nil
		}
	}
	if plan != nil {
		state.RunID, state.Kind, state.SnapshotDate = plan.RunID, plan.Kind, plan.SnapshotDate
		state.Filtered, state.Students = plan.Scope.Filtered(), plan.Scope.Students
		state.Privacy, state.PrivacyKey = string(plan.Scope.Profile()), plan.Scope.PrivacyKey
		state.Tasks = len(plan.Tasks())
		state.Schools = int64(len(plan.Schools) + len(plan.FailedSchools))
		state.PlannedAt, state.LastProgress = plan.PlannedAt, plan.PlannedAt
	}
	switch {
	case folder.Has(ManifestName):
		return state, c.published(ctx, folder, state)
	case plan == nil:
		return state, nil
	}
	return state, c.unpublished(ctx, folder, plan, staged, state)
}

// readInto reads a document of a run. If it is damaged or missing, readInto adds a problem with advice to the run and
// returns nil.
func readInto[T any](ctx context.Context, store sink.Reader, path string, state *RunState) (*T, error) {
	document, _, err := ReadDocument[T](ctx, store, path)
	if Unreadable(err) {
		state.Problems = append(state.Problems, err.Error()+": "+wording.Restore)
		return nil, nil
	}
	return document, err
}

func (c Catalog) published(ctx context.Context, folder *RunFolder, state *RunState) error {
	state.LastProgress = folder.written(ManifestName)
	state.Staged = state.Tasks
	state.State = StatePublished
	manifest, err := readInto[Manifest](ctx, c, folder.path(ManifestName), state)
	if err != nil {
		return err
	}
	if manifest != nil && sink.Escape(manifest.RunID) != folder.Name {
		state.Problems = append(state.Problems, folder.path(ManifestName)+" is not the manifest of this run: "+wording.Restore)
		manifest = nil
	}
	if manifest != nil {
		state.addManifest(manifest)
	}
	if !folder.Has(ChangeName) {
		if ledger := folder.contents[LedgerName]; manifest != nil && ledger.Bytes != manifest.Ledger.Bytes {
			state.Problems = append(state.Problems, folder.path(LedgerName)+" is damaged or missing: "+wording.Restore)
		}
		return nil
	}
	change, err := readInto[Change](ctx, c, folder.path(ChangeName), state)
	switch {
	case err != nil || change == nil:
		return err
	case change.Publishes():
		state.State = StatePublishing
	default:
		what := " of this run is in progress or was interrupted: the next command that changes the destination finishes "
		if state.BeingPruned = change.Prunes(); state.BeingPruned {
			what += "it"
		} else {
			what += "this run's files, but the purge itself has to be repeated"
		}
		state.Problems = append(state.Problems, "a "+change.verb()+what)
	}
	return nil
}

// addManifest fills in the fields that come from the manifest.
func (s *RunState) addManifest(m *Manifest) {
	s.RunID, s.Kind, s.SnapshotDate = m.RunID, m.Kind, m.SnapshotDate
	s.Filtered, s.Students = m.Parameters.Filtered(), m.Parameters.Students
	s.Privacy, s.PrivacyKey = string(m.Parameters.Profile()), m.Parameters.PrivacyKey
	s.Schools, s.Failed, s.Denied = m.Schools.Total, m.Schools.Failed, m.Schools.Denied
	for i := range m.Purges {
		s.Purges = append(s.Purges, m.Purges[i].ID)
	}
	for _, of := range m.Parameters.NotSuppressed {
		if of.Key != "" {
			s.notSuppressed = append(s.notSuppressed, of.Key)
		}
	}
	s.State, s.PlannedAt, s.LastProgress = m.Status, m.StartedAt, m.PublishedAt
	s.Duration = m.PublishedAt.Sub(m.StartedAt)
	s.DurationSeconds = s.Duration.Seconds()
	for _, table := range m.Tables {
		s.Rows += table.Rows
	}
	s.Bytes = m.Bytes()
	s.Warnings, s.Accepted = len(review.FailedChecks(m.Checks)), len(m.Accepted)
	if m.Comparison == nil {
		return
	}
	s.Warnings += len(m.Comparison.Warnings)
	s.Changes = new(Changes)
	for _, table := range m.Comparison.Tables {
		s.Changes.Added += table.Added
		s.Changes.Changed += table.Changed
		s.Changes.Removed += table.Removed
	}
}

func (c Catalog) unpublished(
	ctx context.Context, folder *RunFolder, plan *Plan, staged time.Time, state *RunState,
) error {
	later := func(t time.Time) {
		if t.After(state.LastProgress) {
			state.LastProgress = t
		}
	}
	for name, entry := range folder.contents {
		state.Resumable = state.Resumable || strings.HasPrefix(name, CheckpointFolder)
		if strings.HasPrefix(name, CheckpointFolder) || name == heldName || name == ChangeName || name == AliveName {
			later(entry.Modified)
		}
	}
	later(staged)
	state.LastProgress = state.LastProgress.UTC()
	if !folder.Has(ChangeName) {
		named, err := c.IsNamed(ctx, plan.Kind, plan.SnapshotDate, plan.RunID)
		if err != nil {
			return err
		}
		state.ManifestMissing = named || folder.Has(LedgerName) // a ledger is published together with the manifest
	}
	stagedRun, err := c.Collect(ctx, plan)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		state.Problems = append(state.Problems, err.Error())
		return nil
	}
	state.Staged = state.Tasks - len(stagedRun.Missing)
	state.Shards = shardStates(plan, stagedRun.Missing)
	state.Failed, state.Denied = stagedRun.Schools.Failed, stagedRun.Schools.Denied
	switch {
	case folder.Has(ChangeName):
		state.State = StatePublishing
	case len(stagedRun.Missing) > 0:
	case folder.Has(heldName):
		state.State = StateHeld
		held, err := readInto[Held](ctx, c, folder.path(heldName), state)
		if err != nil {
			return err
		}
		if held != nil {
			state.Reasons = held.Reasons
		}
	default:
		state.State = StateStaged
	}
	return nil
}

// shardStates returns the progress of each shard of a run in which tasks are missing. It returns nil if the run has
// only one shard or is completely staged.
func shardStates(plan *Plan, missing []Task) []ShardState {
	if plan.Shards <= 1 || len(missing) == 0 {
		return nil
	}
	shards := make([]ShardState, plan.Shards)
	for i := range shards {
		shards[i].Shard = i
	}
	for _, task := range plan.Tasks() {
		shards[task.Shard(plan.Shards)].Tasks++
		shards[task.Shard(plan.Shards)].Staged++
	}
	for _, task := range missing {
		shards[task.Shard(plan.Shards)].Staged--
	}
	return shards
}
