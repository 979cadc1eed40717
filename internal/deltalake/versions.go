package deltalake

import (
	"context"
	"fmt"
	"slices"
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
	// History is true for the tables of the history.
	History bool
	// Version is the last version of the log or, in a result of Versions, the last version with the files of the run.
	Version int64
}

// Tables returns the tables that have a log, with their last versions.
func Tables(ctx context.Context, catalog snapshot.Catalog) ([]Table, error) {
	all := tables()
	err := sink.ForEach(ctx, all, func(ctx context.Context, t *table) error { return t.listLog(ctx, catalog) })
	var found []Table
	for _, t := range all {
		if t.version >= 0 {
			found = append(found, Table{t.declared, t.folder, t.history, t.version})
		}
	}
	return found, err
}

// Versions returns the tables of a run, each with the last version in which the live files of the run's date are the
// files of the run, compared by path and size. It returns a *RefusedError if a table has no such version.
func Versions(ctx context.Context, catalog snapshot.Catalog, run *snapshot.Manifest) ([]Table, error) {
	exported := slices.DeleteFunc(tables(), func(t *table) bool {
		_, ok := run.Tables[t.declared.Name]
		return t.history || !ok
	})
	return sink.Map(ctx, maxTables, exported, func(ctx context.Context, t *table) (Table, error) {
		t.addFiles(run.Tables[t.declared.Name].Files, run.PublishedAt)
		date, _, _ := strings.Cut(strings.TrimPrefix(snapshot.DatePath(run.Kind, t.declared.Name, run.SnapshotDate), t.folder+"/"), "/")
		found := int64(-1)
		err := t.listLog(ctx, catalog)
		if err == nil {
			_, err = t.replay(ctx, catalog, func(log *state) error {
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
					found = log.version
				}
				return nil
			})
		}
		if err == nil && found < 0 {
			err = &snapshot.RefusedError{Reason: fmt.Sprintf("no version of the Delta log of %s has the files of run %s: "+
				"growth-export delta-lake brings the logs up to date", t.folder, run.RunID)}
		}
		return Table{t.declared, t.folder, false, found}, err
	})
}
