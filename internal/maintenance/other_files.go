package maintenance

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// maxListedUnknown is the maximum number of unknown files that a report lists.
const maxListedUnknown = 5

// otherFiles are the files at a destination that are neither documents of this program nor data files listed in a run
// or in the history. A user may have put them there, for example from a backup.
type otherFiles struct {
	data    []string // Parquet files, by content or by name
	logs    []string // checkpoints of Delta logs
	commits bool     // reports whether there are Delta logs with commits
	unknown []string // other files that are not empty, or cannot be read
}

// findOtherFiles finds the other files in listed, the listing of the destination. If the name of a file does not show
// that it is a Parquet file, findOtherFiles reads its last bytes. Files of runs that are being changed are omitted.
func findOtherFiles(
	ctx context.Context, catalog snapshot.Catalog, listed []sink.Entry, runs map[string]*snapshot.Manifest, current *snapshot.HistoryManifest,
) (*otherFiles, error) {
	named := make(erase.Set)
	for _, m := range runs {
		maps.Copy(named, m.Paths())
	}
	if current != nil {
		for _, file := range current.Files() {
			named[file.Path] = true
		}
	}
	changing, err := catalog.Changes(ctx, func(*snapshot.Change) bool { return true })
	if err != nil {
		return nil, err
	}
	others := &otherFiles{}
	var unclear []string
	for _, entry := range listed {
		name := strings.ToLower(path.Base(entry.Path))
		inLog := strings.Contains(entry.Path, "/_delta_log/")
		switch {
		case named[entry.Path] || entry.Bytes == 0 || snapshot.IsDocument(entry.Path) || changing[sink.Owner(entry.Path)] != nil:
		case inLog && (path.Ext(name) == ".json" || name == "_last_checkpoint"):
			others.commits = true
		case inLog && strings.Contains(name, ".checkpoint."):
			others.logs = append(others.logs, entry.Path)
		case strings.Contains(name, ".parquet") || path.Ext(name) == ".parq":
			others.data = append(others.data, entry.Path)
		default:
			unclear = append(unclear, entry.Path)
		}
	}
	kinds, err := sink.Map(ctx, scanConcurrency, unclear, func(ctx context.Context, file string) (*[]string, error) {
		isData, err := isParquet(ctx, catalog, file)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound): // the file was removed after it was listed
			return new([]string), nil
		case isData:
			return &others.data, nil
		}
		return &others.unknown, nil // the file is of another kind, or cannot be read
	})
	if err != nil {
		return nil, err
	}
	for i, kind := range kinds {
		*kind = append(*kind, unclear[i])
	}
	slices.Sort(others.data)
	return others, nil
}

// isParquet reports whether a file ends with the same bytes as a Parquet file.
func isParquet(ctx context.Context, catalog snapshot.Catalog, file string) (is bool, err error) {
	object, err := catalog.Open(ctx, file)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	return parquetfile.HasMagic(object, object.Size())
}

// tableOf returns the declared table of a data file that is not listed in any run, and its dataset. It takes the name
// of the table from the file itself or, if another program has written the file, from the name of its folder. If
// neither is the name of a declared table, the returned table has no columns, and the dataset is nil.
func tableOf(ctx context.Context, catalog snapshot.Catalog, file string) (*schemas.Table, *schemas.Dataset, error) {
	opened, err := erase.OpenFile(ctx, catalog, file, &schemas.Table{})
	if err != nil {
		return nil, nil, err
	}
	if err := opened.Close(); err != nil {
		return nil, nil, err
	}
	folder, _ := folderOf(file)
	for _, name := range []string{opened.Table.Name, folder} {
		if table, dataset, ok := schemas.FindTable(name); ok {
			return table, dataset, nil
		}
	}
	return &schemas.Table{Name: folder}, nil, nil
}

// folderOf returns the first folder in a file's path, which should be the folder of a table, and whether there is such
// a folder.
func folderOf(file string) (folder string, below bool) {
	for _, prefix := range []string{"as_of/", "changes/", snapshot.HistoryFilesPrefix} {
		file = strings.TrimPrefix(file, prefix)
	}
	folder, _, below = strings.Cut(file, "/")
	return folder, below
}
