package deltalake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// table is a table that may have a log.
type table struct {
	// folder is the folder of the table, without a trailing slash.
	folder     string
	declared   *schemas.Table
	partitions []partition
	// history is true for the tables of the history, whose files form one group.
	history bool
	// created is the time at which the earliest snapshot was published, or, for tables of the history, the first folded
	// snapshot. service is the destination's first service.
	created time.Time
	service string
	// files are the files in the manifests, by path relative to the folder. named is true if the table is in the manifest
	// of the history, even if it has no files.
	files map[string]wantedFile
	named bool
	// version is the version of the last commit in the folder of the log, or -1 if there is no commit. hasLog is true if
	// the folder is not empty.
	version int64
	hasLog  bool
	// checkpoints has the versions that have a checkpoint. The value is true if the checkpoint is a single Parquet
	// file, like the checkpoints that this program writes.
	checkpoints map[int64]bool
	// problem is the reason why the log cannot be brought up to date. It is empty if there is no such reason.
	problem string
	// unreadable is the reason why the history cannot be read. It is set in all tables of the history, and empty if the
	// history can be read.
	unreadable string
}

// wantedFile is a file in a manifest. It is small, because there may be hundreds of thousands of such files.
type wantedFile struct {
	size, rows int64
	published  int64 // in milliseconds
}

// partition is a column whose values are in the paths of files.
type partition struct {
	name string
	kind schemas.Type
	doc  string
}

// tables returns all tables in the order of their declarations, without their files and logs.
func tables() []*table {
	byDate := partition{"snapshot_date", schemas.Date, "Date of the snapshot."}
	byEnd := partition{"valid_to", schemas.Date, "The first snapshot date without this version; 9999-12-31 if it is in the newest snapshot."}
	var all []*table
	add := func(history bool, folder string, declared *schemas.Table, p partition) {
		// The folder of a partition is below the folder of the table.
		folder, _, _ = strings.Cut(folder, "/"+p.name+"=")
		all = append(all, &table{
			folder: folder, declared: declared, partitions: []partition{p}, history: history,
			files: make(map[string]wantedFile), version: -1, checkpoints: make(map[int64]bool),
		})
	}
	for _, declared := range schemas.Tables() {
		add(false, snapshot.DatePath(snapshot.Full, declared.Name, "any"), declared, byDate)
	}
	for _, declared := range append(schemas.Tables(), snapshot.CoverageTable()) {
		add(true, snapshot.HistoryFolder(declared.Name, "any"), snapshot.HistoryTable(declared), byEnd)
	}
	return all
}

// load returns the tables that have a log, files or a problem. If there are no logs and create is false, it returns no
// tables.
//
// The logs are listed before the manifests are read. If another process commits in between, this process cannot commit
// outdated files, because the version that it would write already exists.
func load(ctx context.Context, catalog snapshot.Catalog, create bool) ([]*table, error) {
	all := tables()
	err := sink.ForEach(ctx, all, func(ctx context.Context, t *table) error { return t.listLog(ctx, catalog) })
	if err != nil || !create && !slices.ContainsFunc(all, func(t *table) bool { return t.hasLog }) {
		return nil, err
	}
	if err := readWanted(ctx, catalog, all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t *table) bool { return !t.hasLog && len(t.files) == 0 && !t.named && t.problem == "" }), nil
}

// addFiles adds the files in a manifest.
func (t *table) addFiles(files []sink.File, published time.Time) {
	for i := range files {
		f := &files[i]
		t.files[strings.TrimPrefix(f.Path, t.folder+"/")] = wantedFile{f.Bytes, f.Rows, published.UnixMilli()}
	}
}

// group returns the group of a file: its partition, such as snapshot_date=2026-11-20, or the whole history. Either all
// files of a group are made live, or none of them.
func (t *table) group(path string) string {
	if t.history {
		return "the history"
	}
	group, _, _ := strings.Cut(path, "/")
	return group
}

// readWanted fills in the tables from the manifests of the current snapshots and of the history.
func readWanted(ctx context.Context, catalog snapshot.Catalog, all []*table) error {
	var first, last *snapshot.Manifest
	published := make(map[string]time.Time) // by run
	for s, err := range catalog.Snapshots(ctx, snapshot.Full, "") {
		if err == nil && s.Err != nil {
			err = fmt.Errorf("read the manifest that %s refers to: %w", s.Path, s.Err)
		}
		if err != nil {
			return fmt.Errorf("list the files of the tables: %w", err)
		}
		m := s.Manifest
		for _, t := range all {
			if !t.history {
				t.addFiles(m.Tables[t.declared.Name].Files, m.PublishedAt)
			}
		}
		published[m.RunID] = m.PublishedAt
		header := *m
		header.Tables = nil // so that the lists of files can be freed
		if first == nil || snapshot.ByPlan(&header, first) < 0 {
			first = &header
		}
		if last == nil || snapshot.ByPlan(&header, last) > 0 {
			last = &header
		}
	}
	// Without its pointer, a snapshot would look pruned, and its files would be removed from the tables.
	if err := catalog.CheckPointers(ctx, slices.Collect(maps.Keys(published))); err != nil {
		return fmt.Errorf("list the files of the tables: %w", err)
	}
	service, err := catalog.FirstService(ctx, first)
	if err != nil {
		return fmt.Errorf("find the destination's first service: %w", err)
	}
	for _, t := range all {
		t.service = service
		if last == nil || t.history {
			continue
		}
		t.created = first.PublishedAt
		_, dataset, _ := schemas.FindTable(t.declared.Name)
		if last.Parameters.PartitionBy == snapshot.ByDistrict && !dataset.IsLookup() {
			t.partitions = append(t.partitions, partition{
				"district", schemas.String, "District of the school, as in schools; a very long one is cut and ends in a hash.",
			})
		}
	}
	return readHistory(ctx, catalog, all, published)
}

// readHistory fills in the tables of the history. published holds the times at which runs were published, because the
// history's manifest does not contain them.
func readHistory(ctx context.Context, catalog snapshot.Catalog, all []*table, published map[string]time.Time) error {
	history, err := catalog.ReadHistory(ctx)
	damaged := errors.Is(err, sink.ErrDamaged)
	if history == nil && !damaged {
		return err
	}
	for _, t := range all {
		switch {
		case !t.history:
		case damaged:
			t.unreadable = err.Error()
			t.problem = err.Error() + ": run " + wording.Command("history", wording.Setting("rebuild"))
		default:
			folded := history.Manifest.Snapshots
			t.created = publishedAt(folded[0], published)
			var listed snapshot.ManifestTable
			listed, t.named = history.Manifest.Tables[t.declared.Name]
			t.addFiles(listed.Files, publishedAt(folded[len(folded)-1], published))
		}
	}
	return nil
}

// publishedAt returns the time at which a folded snapshot was published, or the beginning of its date if the snapshot
// has been pruned.
func publishedAt(s snapshot.FoldedSnapshot, published map[string]time.Time) time.Time {
	if at, ok := published[s.RunID]; ok {
		return at
	}
	day, _ := time.Parse(time.DateOnly, s.Date) // the manifest was checked, so the date is valid
	return day
}
