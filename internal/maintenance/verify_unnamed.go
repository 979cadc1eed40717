package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// UnnamedFiles are data files in the folders of the tables that are not listed in a published run, the history or a
// change in progress. Readers that find files by a glob pattern read these files too.
type UnnamedFiles struct {
	// Run is the id of the run in the names of the files. It is empty if that run cannot be abandoned.
	Run   string   `json:"run_id,omitempty"`
	Paths []string `json:"paths"`
}

// String returns a message with the path of the first file and the number of other files.
func (u *UnnamedFiles) String() string {
	text := u.Paths[0] + ": neither a published run nor the history lists this file"
	if n := len(u.Paths) - 1; n > 0 {
		text += " or " + wording.Many(n, "other file")
	}
	if u.Run != "" {
		text += " of run " + u.Run
	}
	return text
}

// FindUnnamed finds data files that are not listed anywhere, grouped by run. It omits files that belong to a damaged or
// missing document, because Verify and VerifyHistory report the document. Other processes may publish, replace or purge
// runs at the same time, so FindUnnamed searches twice and returns only files that it found both times.
func FindUnnamed(ctx context.Context, catalog snapshot.Catalog) ([]*UnnamedFiles, error) {
	found, err := findUnnamed(ctx, catalog)
	if len(found) == 0 || err != nil {
		return nil, err
	}
	again, err := findUnnamed(ctx, catalog)
	if err != nil {
		return nil, err
	}
	byRun := make(map[string]*UnnamedFiles)
	var unnamed []*UnnamedFiles
	for file, run := range again {
		if before, twice := found[file]; !twice || before != run {
			continue
		}
		if byRun[run] == nil {
			byRun[run] = &UnnamedFiles{Run: run}
			unnamed = append(unnamed, byRun[run])
		}
		byRun[run].Paths = append(byRun[run].Paths, file)
	}
	for _, u := range unnamed {
		slices.Sort(u.Paths)
	}
	slices.SortFunc(unnamed, func(a, b *UnnamedFiles) int { return strings.Compare(a.Paths[0], b.Paths[0]) })
	return unnamed, nil
}

// findUnnamed returns the data files that are not listed anywhere. It maps each file to the run that can be abandoned
// to remove the file, or to "".
func findUnnamed(ctx context.Context, catalog snapshot.Catalog) (map[string]string, error) {
	listed, err := sink.ListAll(ctx, catalog, "") // before the runs, because runs may be published in between
	if err != nil {
		return nil, err
	}
	listed = slices.DeleteFunc(listed, func(e sink.Entry) bool { return !isBelowTable(e.Path) })
	index, err := catalog.Index(ctx)
	if err != nil {
		return nil, err
	}
	runs, _, err := catalog.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	published := maps.Clone(runs)
	maps.DeleteFunc(published, func(_ string, m *snapshot.Manifest) bool { return m.Status != snapshot.Published })
	history, err := catalog.ReadHistory(ctx)
	if err != nil && !errors.Is(err, sink.ErrDamaged) {
		return nil, err
	}
	var current *snapshot.HistoryManifest
	if history != nil {
		current = history.Manifest
	}
	others, err := findOtherFiles(ctx, catalog, listed, published, current)
	if err != nil {
		return nil, err
	}
	f := unnamedFinder{catalog: catalog, manifests: index.With(snapshot.ManifestName), ledgers: index.With(snapshot.LedgerName), runs: runs}
	if f.changes, err = catalog.Changes(ctx, func(*snapshot.Change) bool { return true }); err != nil {
		return nil, err
	}
	_, _, err = catalog.Read(ctx, snapshot.HistoryPrefix+snapshot.ChangeName)
	if err != nil && !errors.Is(err, sink.ErrNotFound) {
		return nil, err
	}
	changing := err == nil
	unnamed := make(map[string]string)
	for _, file := range others.data {
		if strings.HasPrefix(file, snapshot.HistoryFilesPrefix) {
			if current != nil && !changing {
				unnamed[file] = ""
			}
			continue
		}
		run, elsewhere, err := f.runOf(ctx, file)
		if err != nil {
			return nil, err
		}
		if !elsewhere {
			unnamed[file] = run
		}
	}
	return unnamed, nil
}

// isBelowTable reports whether a file is in the folder of a declared table.
func isBelowTable(file string) bool {
	table, below := folderOf(file)
	_, _, declared := schemas.FindTable(table)
	return below && declared
}

// unnamedFinder finds the runs of data files that are not listed in any published run.
type unnamedFinder struct {
	catalog   snapshot.Catalog
	manifests []string // the folders of runs that have a manifest
	ledgers   []string // the folders of runs that have a ledger
	runs      map[string]*snapshot.Manifest
	changes   map[string]*snapshot.Change
}

// runOf returns the run that can be abandoned to remove a file, or "" if there is no such run. elsewhere is true if the
// file is part of a change in progress, or of a snapshot whose pointer or manifest is damaged or missing.
func (f *unnamedFinder) runOf(ctx context.Context, file string) (run string, elsewhere bool, err error) {
	kind, date, ok := snapshot.FileOfRun(file)
	if !ok {
		return "", false, nil
	}
	for _, change := range f.changes { // the change may replace the run of the file
		if change.Kind == kind && change.SnapshotDate == date {
			return "", true, nil
		}
	}
	owner := sink.Owner(file)
	if slices.Contains(f.manifests, owner) {
		return "", f.runs[owner] == nil, nil // if the run is not in runs, its manifest is damaged
	}
	if slices.Contains(f.ledgers, owner) {
		return "", true, nil // the run has a ledger, so its manifest is missing
	}
	if pointer := snapshot.PointerPath(kind, date); pointer != "" {
		named, _, err := snapshot.ReadDocument[snapshot.Pointer](ctx, f.catalog, pointer, sink.ErrNotFound)
		if errors.Is(err, sink.ErrDamaged) || named != nil && named.RunID == owner {
			return "", true, nil
		}
		if err != nil {
			return "", false, err
		}
	}
	if owner != sink.Escape(owner) {
		owner = "" // not the id of a run
	}
	return owner, false, nil
}
