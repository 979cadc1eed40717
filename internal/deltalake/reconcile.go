package deltalake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// Options are the options of Reconcile.
type Options struct {
	// Create creates missing logs. Without it, nothing is done unless the destination has a log.
	Create bool
	// Now returns the current time, and ToolVersion is recorded in commits.
	Now         func() time.Time
	ToolVersion string
}

// Report is what Reconcile has done.
type Report struct {
	Tables []TableReport `json:"tables"`
}

// TableReport is what Reconcile has done to a table's log.
type TableReport struct {
	Table string `json:"table"`
	// Version is the last version, and Committed is set if Reconcile has written it.
	Version   int64 `json:"version"`
	Committed bool  `json:"committed"`
	Added     int   `json:"added"`
	Removed   int   `json:"removed"`
	// Files counts the live files.
	Files int `json:"files"`
	// Foreign are the commits of other programs since this program's last one.
	Foreign []Foreign `json:"foreign,omitempty"`
	// Problem is why the log is not up to date; empty if it is.
	Problem string `json:"problem,omitempty"`
}

const (
	// maxAttempts bounds the attempts to write a version that other processes keep taking. Each time one of them succeeds,
	// so it takes as many processes to run out of attempts.
	maxAttempts = 100
	minPause    = 10 * time.Millisecond
	maxPause    = time.Second
)

// Reconcile makes the live files of every log those that the manifests of the current snapshots name. It does what it
// can: a log that cannot be kept up to date, or a snapshot whose files are missing, is left as it is, and the error and
// the report say so. The report is nil if the destination has no log and none is to be created.
func Reconcile(ctx context.Context, catalog snapshot.Catalog, opts Options) (*Report, error) {
	r := &reconciler{catalog: catalog, opts: opts, reports: make(map[string]*TableReport)}
	for _, t := range tables() {
		r.logs = append(r.logs, newReplay(catalog, t.folder))
	}
	for attempt, pause := 1, minPause; ; attempt, pause = attempt+1, min(2*pause, maxPause) {
		found, err := r.attempt(ctx)
		switch {
		case err == nil && !found:
			return nil, nil
		case err == nil:
			return r.result()
		case !errors.Is(err, sink.ErrConflict) || attempt == maxAttempts:
			return nil, fmt.Errorf("update the Delta logs: %w", err)
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// reconciler is the work of one Reconcile.
type reconciler struct {
	catalog snapshot.Catalog
	opts    Options
	logs    []*replay
	reports map[string]*TableReport
}

// attempt reads the logs, then the manifests, and commits what differs. It returns false if there is nothing to keep up
// to date, and ErrConflict if another process took a version.
func (r *reconciler) attempt(ctx context.Context) (bool, error) {
	if err := advanceAll(ctx, r.logs); err != nil {
		return false, err
	}
	if !r.opts.Create && !slices.ContainsFunc(r.logs, (*replay).exists) {
		return false, nil
	}
	all := tables()
	if err := readWanted(ctx, r.catalog, all); err != nil {
		return false, err
	}
	var conflict error
	for i, t := range all {
		log := r.logs[i]
		if !log.exists() && len(t.files) == 0 && t.problem == "" {
			continue
		}
		switch err := r.reconcileTable(ctx, log, t); {
		case errors.Is(err, sink.ErrConflict):
			conflict = err // the other tables first
		case err != nil:
			return false, err
		}
	}
	return true, conflict
}

// result returns the report, and an error if there are problems.
func (r *reconciler) result() (*Report, error) {
	report := &Report{Tables: []TableReport{}}
	var problems []error
	for _, log := range r.logs {
		t := r.reports[log.folder]
		if t == nil {
			continue
		}
		report.Tables = append(report.Tables, *t)
		if t.Problem != "" {
			problems = append(problems, fmt.Errorf("the Delta log of %s is not up to date: %s", t.Table, t.Problem))
		}
	}
	return report, errors.Join(problems...)
}

// reconcileTable commits the difference between a log and its table, if there is one.
func (r *reconciler) reconcileTable(ctx context.Context, log *replay, t *table) error {
	report := r.reports[t.folder]
	if report == nil {
		report = &TableReport{Table: t.folder}
		r.reports[t.folder] = report
	}
	report.Version, report.Files = log.version, len(log.live)
	for _, f := range log.foreign {
		if f.Version > log.own && !slices.Contains(report.Foreign, f) {
			report.Foreign = append(report.Foreign, f)
		}
	}
	if report.Problem = cmp.Or(log.refused, t.problem); report.Problem != "" {
		return nil
	}
	d, err := r.compare(ctx, log, t)
	if err != nil {
		return err
	}
	report.Problem = d.problem
	if log.version < 0 && len(d.added) == 0 {
		return nil // a log begins with files
	}
	actions, err := r.commit(log, t, d)
	if err != nil || actions == nil {
		return err
	}
	data, err := encodeCommit(actions)
	if err != nil {
		return err
	}
	path := log.commitPath(log.version + 1)
	if err := r.catalog.Write(ctx, path, data, sink.Condition{Absent: true}); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	log.apply(actions)
	report.Version, report.Committed, report.Files = log.version, true, len(log.live)
	report.Added += len(d.added)
	report.Removed += len(d.removed)
	return nil
}

// difference is what a commit has to change.
type difference struct {
	added   []*add
	removed []string
	groups  []string // that change, sorted
	problem string
}

// compare returns how the live files differ from those that the manifests name. A snapshot of which a file is missing
// is left as the log has it.
func (r *reconciler) compare(ctx context.Context, log *replay, t *table) (*difference, error) {
	var paths []string
	for path, file := range t.files {
		if live, ok := log.live[path]; !ok || live.size != file.size || live.odd {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	adds, err := sink.Map(ctx, sink.MaxConcurrency, paths, func(ctx context.Context, path string) (*add, error) {
		return r.addOf(ctx, t, path)
	})
	if err != nil {
		return nil, err
	}
	var unusable []string           // the first of each group
	broken := make(map[string]bool) // groups
	for i, path := range paths {
		if adds[i] == nil && !broken[t.group(path)] {
			broken[t.group(path)] = true
			unusable = append(unusable, path)
		}
	}
	d := &difference{}
	changed := make(map[string]bool)
	for i, path := range paths {
		if !broken[t.group(path)] {
			d.added = append(d.added, adds[i])
			changed[t.group(path)] = true
		}
	}
	for path := range log.live {
		if _, wanted := t.files[path]; !wanted && !broken[t.group(path)] {
			d.removed = append(d.removed, path)
			changed[t.group(path)] = true
		}
	}
	slices.Sort(d.removed)
	d.groups = slices.Sorted(maps.Keys(changed))
	if len(unusable) > 0 {
		remedy := "export that date again with --replace"
		if t.history {
			remedy = "run growth-export history --rebuild"
		}
		d.problem = fmt.Sprintf("%s/%s is missing or damaged, so %s stays as it is in the log: restore the file, or %s",
			t.folder, unusable[0], strings.Join(slices.Sorted(maps.Keys(broken)), ", "), remedy)
	}
	return d, nil
}

// addOf returns the action that makes a file live, or nil if the file is missing or damaged.
func (r *reconciler) addOf(ctx context.Context, t *table, path string) (*add, error) {
	file := t.files[path]
	stats, err := readStats(ctx, r.catalog, t.folder+"/"+path, file, t.declared)
	if errors.Is(err, errUnusable) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the statistics of %s/%s: %w", t.folder, path, err)
	}
	return &add{
		Path: encodePath(path), PartitionValues: partitionsOf(path), Size: file.size,
		ModificationTime: file.published.UnixMilli(), DataChange: true, Stats: stats,
	}, nil
}

// commit returns the actions of the next commit, or nil if there is nothing to commit.
func (r *reconciler) commit(log *replay, t *table, d *difference) ([]action, error) {
	meta, err := metaDataOf(t, log.meta)
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
		live := log.live[path]
		// The partition values of another program's file may not be those in its path.
		gone := &remove{Path: cmp.Or(live.raw, encodePath(path)), DeletionTimestamp: now, DataChange: true}
		if !live.odd {
			gone.ExtendedFileMetadata, gone.PartitionValues, gone.Size = true, partitionsOf(path), live.size
		}
		actions = append(actions, action{Remove: gone})
	}
	for _, a := range d.added {
		actions = append(actions, action{Add: a})
	}
	return actions, nil
}
