package snapshot

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// The states of a run, in the order of its life.
const (
	StateStaging    = "staging"
	StateStaged     = "staged"
	StateHeld       = "held"
	StatePublishing = "publishing"
	StatePublished  = Published
	StateReplaced   = Replaced
)

// RunState is how far a run has come.
type RunState struct {
	RunID        string `json:"run_id"`
	Kind         Kind   `json:"kind"`
	SnapshotDate string `json:"snapshot_date"`
	State        string `json:"state"`
	// PlannedAt is when the run was planned; zero if its plan cannot be read.
	PlannedAt time.Time `json:"planned_at"`
	// LastProgress is when something of the run was last written. A working process writes at least every five minutes.
	LastProgress time.Time `json:"last_progress"`
	// Staged is how many of the run's Tasks are staged. For a published run both are as in its plan.
	Staged int `json:"staged"`
	Tasks  int `json:"units"`
	// Schools, Failed and Denied count schools, as far as they are known.
	Schools int64 `json:"schools"`
	Failed  int64 `json:"failed"`
	Denied  int64 `json:"denied"`
	// Rows, Bytes and Duration (from plan to publishing) are set for published and replaced runs. The files of a
	// replaced run are removed.
	Rows     int64         `json:"rows"`
	Bytes    int64         `json:"bytes"`
	Duration time.Duration `json:"duration_ns"`
	// Reasons are why a held run is held, unless it is superseded.
	Reasons []string `json:"reasons,omitempty"`
	// SupersededBy is the run that has since been published for the date of a held run.
	SupersededBy string `json:"superseded_by,omitempty"`
	// Problems name documents of the run that cannot be read.
	Problems []string `json:"problems,omitempty"`
	// planWritten orders runs that were planned in the same second.
	planWritten time.Time
}

// Runs returns the states of all runs at a destination, those planned last first.
func (c Catalog) Runs(ctx context.Context) ([]RunState, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return nil, err
	}
	staged, err := c.Staged(ctx)
	if err != nil {
		return nil, err
	}
	var runs []RunState
	for len(entries) > 0 {
		// Entries are sorted by path, so the entries of a run are adjacent.
		folder, _, _ := strings.Cut(strings.TrimPrefix(entries[0].Path, RunsPrefix), "/")
		n := slices.IndexFunc(entries, func(e sink.Entry) bool {
			return !strings.HasPrefix(e.Path, RunsPrefix+folder+"/")
		})
		if n < 0 {
			n = len(entries)
		}
		if n == 0 { // a file beside the runs' folders
			entries = entries[1:]
			continue
		}
		run, err := c.runState(ctx, RunsPrefix+folder+"/", entries[:n], staged[folder])
		if err != nil {
			return nil, err
		}
		if run != nil {
			runs = append(runs, *run)
		}
		entries = entries[n:]
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

// compare orders runs by when they were planned.
func (s *RunState) compare(other *RunState) int {
	return cmp.Or(s.PlannedAt.Compare(other.PlannedAt), s.planWritten.Compare(other.planWritten), cmp.Compare(s.RunID, other.RunID))
}

// supersededBy returns the run of the held run's date that was published after the run was held, or planned later.
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

// runFolder is the contents of a run's folder.
type runFolder struct {
	path     string
	modified map[string]time.Time // by name below path
}

func (f *runFolder) has(name string) bool {
	_, ok := f.modified[name]
	return ok
}

// runState returns the state of the run in a folder, or nil if the folder does not hold a run.
func (c Catalog) runState(
	ctx context.Context, path string, entries []sink.Entry, staged time.Time,
) (*RunState, error) {
	folder := &runFolder{path: path, modified: make(map[string]time.Time)}
	for _, entry := range entries {
		folder.modified[strings.TrimPrefix(entry.Path, path)] = entry.Modified
	}
	if !folder.has(PlanName) && !folder.has(ManifestName) {
		return nil, nil
	}
	state := &RunState{State: StateStaging, planWritten: folder.modified[PlanName]}
	plan, err := readInto[Plan](ctx, c, path+PlanName, state)
	if err != nil {
		return nil, err
	}
	if plan != nil {
		state.RunID, state.Kind, state.SnapshotDate = plan.RunID, plan.Kind, plan.SnapshotDate
		state.Tasks = len(plan.Tasks())
		state.Schools = int64(len(plan.Schools) + len(plan.FailedSchools))
		state.PlannedAt, state.LastProgress = plan.PlannedAt, plan.PlannedAt
	}
	if folder.has(ManifestName) {
		return state, c.published(ctx, folder, state)
	}
	if plan == nil {
		state.RunID = strings.TrimSuffix(strings.TrimPrefix(path, RunsPrefix), "/")
		return state, nil
	}
	return state, c.unpublished(ctx, folder, plan, staged, state)
}

// readInto reads a document of a run. If it is damaged or missing, that is added to the run's problems and the result
// is nil.
func readInto[T any](ctx context.Context, store sink.Store, path string, state *RunState) (*T, error) {
	document, _, err := ReadDocument[T](ctx, store, path)
	if Unreadable(err) {
		state.Problems = append(state.Problems, err.Error())
		return nil, nil
	}
	return document, err
}

func (c Catalog) published(ctx context.Context, folder *runFolder, state *RunState) error {
	state.LastProgress = folder.modified[ManifestName]
	state.Staged = state.Tasks
	state.State = StatePublished
	manifest, err := readInto[Manifest](ctx, c, folder.path+ManifestName, state)
	if err != nil {
		return err
	}
	if manifest != nil {
		state.RunID, state.Kind, state.SnapshotDate = manifest.RunID, manifest.Kind, manifest.SnapshotDate
		state.Schools = manifest.Schools.Total
		state.Failed, state.Denied = manifest.Schools.Failed, manifest.Schools.Denied
		state.State, state.LastProgress = manifest.Status, manifest.PublishedAt
		state.PlannedAt = manifest.StartedAt
		state.Duration = manifest.PublishedAt.Sub(manifest.StartedAt)
		for _, table := range manifest.Tables {
			state.Rows += table.Rows
		}
		state.Bytes = manifest.Bytes()
	}
	if !folder.has(ChangeName) {
		return nil
	}
	change, err := readInto[Change](ctx, c, folder.path+ChangeName, state)
	switch {
	case err != nil || change == nil:
		return err
	case change.Publishes():
		state.State = StatePublishing
	default:
		state.Problems = append(state.Problems, "a "+change.verb()+
			" of this run is in progress or was interrupted: the next command that changes the destination finishes it")
	}
	return nil
}

func (c Catalog) unpublished(
	ctx context.Context, folder *runFolder, plan *Plan, staged time.Time, state *RunState,
) error {
	later := func(t time.Time) {
		if t.After(state.LastProgress) {
			state.LastProgress = t
		}
	}
	for name, modified := range folder.modified {
		if strings.HasPrefix(name, checkpointFolder) || name == heldName || name == ChangeName || name == aliveName {
			later(modified)
		}
	}
	later(staged)
	state.LastProgress = state.LastProgress.UTC()
	stagedRun, err := c.Collect(ctx, plan)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		state.Problems = append(state.Problems, err.Error())
		return nil
	}
	state.Staged = state.Tasks - len(stagedRun.Missing)
	state.Failed, state.Denied = stagedRun.Schools.Failed, stagedRun.Schools.Denied
	switch {
	case folder.has(ChangeName):
		state.State = StatePublishing
	case len(stagedRun.Missing) > 0:
	case folder.has(heldName):
		state.State = StateHeld
		held, err := readInto[Held](ctx, c, folder.path+heldName, state)
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
