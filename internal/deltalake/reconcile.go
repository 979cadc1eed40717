package deltalake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Options are the options of Reconcile.
type Options struct {
	// Create makes Reconcile create the logs of a destination that has none. Otherwise, Reconcile does nothing there.
	Create bool
	// Now returns the current time, and ToolVersion is recorded in commits.
	Now         func() time.Time
	ToolVersion string
	// CheckpointInterval is the number of commits from one checkpoint to the next. 0 means 100.
	CheckpointInterval int64
}

// Report lists the changes that Reconcile made.
type Report struct {
	Tables []TableReport `json:"tables"`
}

// TableReport lists the changes that Reconcile made to a table's log.
type TableReport struct {
	Table string `json:"table"`
	// Version is the last version of the log. Committed is true if Reconcile has written that version.
	Version   int64 `json:"version"`
	Committed bool  `json:"committed"`
	Added     int   `json:"added"`
	Removed   int   `json:"removed"`
	// Files counts the live files.
	Files int `json:"files"`
	// Checkpoint is the version of the checkpoint that Reconcile wrote, or 0 if it wrote none.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Foreign lists the commits that other programs have made since this program's last commit.
	Foreign []Foreign `json:"foreign,omitempty"`
	// Problem is the reason why the log is not up to date. It is empty if the log is up to date.
	Problem string `json:"problem,omitempty"`
}

// maxTables is the maximum number of tables whose logs are read at once. It is low because all live files of these logs
// are in memory.
const maxTables = 4

// maxChecks is the maximum number of times that Reconcile and Verify check everything before they report a problem.
// They repeat their checks because another process may be replacing files.
const maxChecks = 3

// Reconcile brings the Delta logs up to date with the destination. Afterwards, the live files of each log are the files
// in the manifests of the current snapshots and of the history.
//
// A problem with one log does not prevent the update of the others. A log that cannot be updated is left unchanged. If
// files of a snapshot are missing, the log keeps its entries for that snapshot. The report lists all problems, and the
// error describes the first one.
//
// The report is nil if logs or manifests cannot be read, or if the destination has no log and opts does not ask to
// create one.
func Reconcile(ctx context.Context, catalog snapshot.Catalog, opts Options) (report *Report, err error) {
	r := &reconciler{catalog: catalog, opts: opts, reports: make(map[string]*TableReport)}
	for range maxChecks {
		before := err
		report, err = r.reconcileAll(ctx)
		if err == nil || report == nil || before != nil && err.Error() == before.Error() {
			break
		}
	}
	return report, err
}

// HistoryError means that only the logs of the history are not up to date, because the history cannot be read. Its text
// says what to do.
type HistoryError struct{ Err error }

func (e *HistoryError) Error() string {
	return "the Delta logs of the history are not up to date: " + e.Err.Error()
}

func (e *HistoryError) Unwrap() error { return e.Err }

// reconciler is the state of one call of Reconcile. reports has a report for each table folder, which covers all
// attempts.
type reconciler struct {
	catalog snapshot.Catalog
	opts    Options
	reports map[string]*TableReport
}

// reconcileAll reconciles all logs, and starts over after a conflict.
func (r *reconciler) reconcileAll(ctx context.Context) (*Report, error) {
	var all []*table
	err := sink.Swap(ctx, "the Delta logs", func() (err error) {
		if all, err = load(ctx, r.catalog, r.opts.Create); err != nil {
			return err
		}
		for _, t := range all {
			if r.reports[t.folder] == nil {
				r.reports[t.folder] = &TableReport{Table: t.folder}
			}
		}
		conflicts, err := sink.Map(ctx, maxTables, all, r.reconcile)
		return cmp.Or(err, errors.Join(conflicts...))
	})
	if err != nil || all == nil {
		return nil, err
	}
	report := &Report{Tables: []TableReport{}}
	var problems []string
	var ofHistory *HistoryError
	for _, t := range all {
		found := r.reports[t.folder]
		report.Tables = append(report.Tables, *found)
		switch {
		case t.unreadable != "" && ofHistory == nil:
			ofHistory = &HistoryError{Err: errors.New(t.problem)}
			problems = append(problems, ofHistory.Error())
		case t.unreadable == "" && found.Problem != "":
			problems = append(problems, fmt.Sprintf("the Delta log of %s is not up to date: %s", t.folder, found.Problem))
		}
	}
	switch len(problems) {
	case 0:
		return report, nil
	case 1:
		if ofHistory != nil {
			return report, ofHistory
		}
		return report, errors.New(problems[0])
	}
	return report, fmt.Errorf("%s (problem 1 of %d)", problems[0], len(problems))
}

// reconcile commits the difference between a log and its table, if there is one, and writes a checkpoint if one is due.
// If another process has already written the next version, reconcile returns the error as conflict, so that the other
// tables are reconciled before this table is tried again.
func (r *reconciler) reconcile(ctx context.Context, t *table) (conflict, err error) {
	report := r.reports[t.folder]
	log, err := t.replay(ctx, r.catalog, nil)
	if err != nil {
		return nil, err
	}
	report.Version, report.Files = t.version, len(log.live)
	for _, f := range log.foreign {
		if f.Version > log.own && !slices.Contains(report.Foreign, f) {
			report.Foreign = append(report.Foreign, f)
		}
	}
	if report.Problem = t.problem; report.Problem != "" {
		return nil, nil
	}
	d, err := r.compare(ctx, t, log)
	if err != nil {
		return nil, err
	}
	report.Problem = d.problem
	if log.version < 0 && len(d.added) == 0 && (len(t.files) > 0 || !t.named) {
		return nil, nil // The first commit of a log has files, unless the table has none.
	}
	if conflict, err := r.writeCommit(ctx, t, log, d); conflict != nil || err != nil {
		return conflict, err
	}
	written, err := r.updateCheckpoint(ctx, t)
	report.Checkpoint = cmp.Or(written, report.Checkpoint)
	return nil, err
}

// writeCommit commits a difference, unless it is empty, and adds it to the report. If another process has already
// written the next version, writeCommit returns the error as conflict.
func (r *reconciler) writeCommit(ctx context.Context, t *table, log *state, d *difference) (conflict, err error) {
	actions, err := r.commit(t, log, d)
	if err != nil || actions == nil {
		return nil, err
	}
	data, err := encodeCommit(actions)
	if err != nil {
		return nil, err
	}
	path := t.commitPath(t.version + 1)
	if err := r.catalog.Store().Write(ctx, path, data, sink.Condition{Absent: true}); err != nil {
		if errors.Is(err, sink.ErrConflict) {
			return fmt.Errorf("write %s: %w", path, err), nil
		}
		return nil, err
	}
	log.apply(t, actions)
	t.version = log.version
	report := r.reports[t.folder]
	report.Version, report.Committed, report.Files = log.version, true, len(log.live)
	report.Added += len(d.added)
	report.Removed += len(d.removed)
	return nil, nil
}

// difference lists the changes that a commit has to make.
type difference struct {
	added   []*add
	removed []string
	groups  []string // the groups that change, sorted
	problem string
}

// compare returns the difference between the live files and the files in the manifests. If a file of a group is missing
// or damaged, the log's entries for that group are left unchanged.
func (r *reconciler) compare(ctx context.Context, t *table, log *state) (*difference, error) {
	var paths []string
	for path, file := range t.files {
		if live, ok := log.live[path]; !ok || live.differs(file) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	adds, err := sink.Map(ctx, sink.MaxConcurrency, paths, func(ctx context.Context, path string) (*add, error) {
		a, err := addOf(ctx, r.catalog, t, path)
		if err != nil {
			err = fmt.Errorf("read the statistics of %s/%s: %w", t.folder, path, err)
		}
		return a, err
	})
	if err != nil {
		return nil, err
	}
	unusable := make(map[string]string) // the last unusable file of a group
	for i, path := range paths {
		if adds[i] == nil {
			unusable[t.group(path)] = path
		}
	}
	d := &difference{}
	changed := make(map[string]bool) // by group
	for i, path := range paths {
		if group := t.group(path); unusable[group] == "" {
			d.added = append(d.added, adds[i])
			changed[group] = true
		}
	}
	for path := range log.live {
		_, wanted := t.files[path]
		if group := t.group(path); !wanted && unusable[group] == "" {
			d.removed = append(d.removed, path)
			changed[group] = true
		}
	}
	slices.Sort(d.removed)
	d.groups = slices.Sorted(maps.Keys(changed))
	if len(unusable) > 0 {
		remedy := "export that date again with " + wording.Setting("replace").String()
		if t.history {
			remedy = "run " + wording.Command("history", wording.Setting("rebuild"))
		}
		groups := slices.Sorted(maps.Keys(unusable))
		d.problem = fmt.Sprintf("%s/%s is missing or damaged, so %s stays as it is in the log: restore the file, or %s",
			t.folder, unusable[groups[0]], strings.Join(groups, ", "), remedy)
	}
	return d, nil
}

// differs reports whether a live file has to be added again, because the log describes it incorrectly.
func (f liveFile) differs(wanted wantedFile) bool {
	return f.size != wanted.size || f.rows != wanted.rows || f.odd
}

// commit returns the actions of the next commit, or nil if there is nothing to commit.
func (r *reconciler) commit(t *table, log *state, d *difference) ([]action, error) {
	meta, err := metaDataOf(t, log)
	if err != nil {
		return nil, err
	}
	if len(d.added)+len(d.removed) == 0 && meta.equal(log.meta) {
		return nil, nil
	}
	now := r.opts.Now().UnixMilli()
	actions := []action{{CommitInfo: &commitInfo{
		Timestamp: now, Operation: "RECONCILE", EngineInfo: appID + "/" + r.opts.ToolVersion,
		Parameters: map[string]string{"partitions": strings.Join(d.groups, ",")},
		Metrics: map[string]string{
			"numAddedFiles": strconv.Itoa(len(d.added)), "numRemovedFiles": strconv.Itoa(len(d.removed)),
		},
	}}}
	if log.version < 0 {
		actions = append(actions, action{Protocol: &protocol{readerVersion, writerVersion}})
	}
	if !meta.equal(log.meta) {
		actions = append(actions, action{MetaData: meta})
	}
	actions = append(actions, action{Txn: &txn{AppID: appID, Version: log.version + 1}})
	for _, path := range d.removed {
		actions = append(actions, action{Remove: &remove{Path: log.live[path].raw, DeletionTimestamp: now, DataChange: true}})
	}
	for _, a := range d.added {
		actions = append(actions, action{Add: a})
	}
	return actions, nil
}
