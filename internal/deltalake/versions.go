package deltalake

import (
	"context"
	"fmt"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Table is a table with a log.
type Table struct {
	*schemas.Table

	// Folder is the table's folder, relative to the destination.
	Folder string
	// History is set for the tables of the history.
	History bool
	// Version is the last version, or the version of a run.
	Version int64
}

// Tables returns the tables that have a log, with their last versions.
func Tables(ctx context.Context, catalog snapshot.Catalog) ([]Table, error) {
	found, err := sink.Map(ctx, sink.MaxConcurrency, tables(), func(ctx context.Context, t *table) (Table, error) {
		entries, err := sink.ListAll(ctx, catalog, t.folder+logFolder)
		version := int64(-1)
		for _, entry := range entries {
			if n, ok := versionOf(strings.TrimPrefix(entry.Path, t.folder+logFolder)); ok {
				version = n
			}
		}
		return Table{t.declared, t.folder, t.history, version}, err
	})
	var logs []Table
	for _, t := range found {
		if t.Version >= 0 {
			logs = append(logs, t)
		}
	}
	return logs, err
}

// Versions returns the tables of a run with the last versions in which the live files of its date are the run's.
func Versions(ctx context.Context, catalog snapshot.Catalog, run *snapshot.Manifest) ([]Table, error) {
	var exported []*table
	for _, t := range tables() {
		if _, ok := run.Tables[t.declared.Name]; ok && !t.history {
			t.addFiles(run.Tables[t.declared.Name].Files, run.PublishedAt)
			exported = append(exported, t)
		}
	}
	return sink.Map(ctx, sink.MaxConcurrency, exported, func(ctx context.Context, t *table) (Table, error) {
		log, found := newReplay(catalog, t.folder), int64(-1)
		date, _, _ := strings.Cut(strings.TrimPrefix(snapshot.DatePath(run.Kind, t.declared.Name, run.SnapshotDate), t.folder+"/"), "/")
		log.committed = func(version int64) {
			same, live := 0, 0
			for path, file := range log.live {
				if t.group(path) != date {
					continue
				}
				live++
				if wanted, ok := t.files[path]; ok && wanted.size == file.size {
					same++
				}
			}
			if same == live && same == len(t.files) {
				found = version
			}
		}
		if err := log.advance(ctx); err != nil {
			return Table{}, err
		}
		if found < 0 {
			return Table{}, &snapshot.RefusedError{Reason: fmt.Sprintf("no version of the Delta log of %s has the files of run %s: "+
				"growth-export delta-lake brings the logs up to date", t.folder, run.RunID)}
		}
		return Table{t.declared, t.folder, false, found}, nil
	})
}
