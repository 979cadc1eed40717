package deltalake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// logFolder is the name of the folder of a table's commits.
const logFolder = "/_delta_log/"

// replay is the state of a table's log after a number of commits.
type replay struct {
	catalog snapshot.Catalog
	folder  string // of the table
	// version is the last commit; -1 if there is none.
	version int64
	// own is the last commit of this program; -1 if there is none.
	own  int64
	meta *metaData
	// live holds the live files by path, decoded and relative to the table.
	live map[string]liveFile
	// foreign are the commits of other programs, the earliest first.
	foreign []Foreign
	// refused is why no commit may be added; empty if one may.
	refused string
	// countRows makes the replay read the number of rows of live files.
	countRows bool
	// committed is called after each commit; nil for no call.
	committed func(version int64)
}

// liveFile is a live file. There may be hundreds of thousands.
type liveFile struct {
	// raw is the path as the log has it; empty if it is encoded as encodePath does.
	raw  string
	size int64
	// rows are counted only if the replay counts rows; -1 if they are unknown.
	rows int64
	// odd means that the partition values are not those in the path.
	odd bool
}

// Foreign is a commit of another program.
type Foreign struct {
	Version   int64  `json:"version"`
	Operation string `json:"operation,omitempty"`
	Engine    string `json:"engine,omitempty"`
}

func (f Foreign) String() string {
	by := ""
	if f.Engine != "" {
		by = " by " + f.Engine
	}
	if f.Operation != "" {
		by = " (" + f.Operation + by + ")"
	}
	return fmt.Sprintf("version %d%s", f.Version, by)
}

func newReplay(catalog snapshot.Catalog, folder string) *replay {
	return &replay{catalog: catalog, folder: folder, version: -1, own: -1, live: make(map[string]liveFile)}
}

// exists reports whether the table has a log.
func (r *replay) exists() bool { return r.version >= 0 || r.refused != "" }

func (r *replay) commitPath(version int64) string {
	return fmt.Sprintf("%s%s%020d.json", r.folder, logFolder, version)
}

// advance reads the commits that were added since. It decides nothing: if the log cannot be kept up to date, refused
// says why.
func (r *replay) advance(ctx context.Context) error {
	entries, err := sink.ListAll(ctx, r.catalog, r.folder+logFolder)
	if err != nil {
		return err
	}
	var added []string
	for _, entry := range entries {
		version, ok := versionOf(strings.TrimPrefix(entry.Path, r.folder+logFolder))
		if !ok || version <= r.version {
			continue
		}
		if want := r.version + 1 + int64(len(added)); version != want {
			r.refuse("%s is missing, but later commits exist", r.commitPath(want))
			return nil
		}
		added = append(added, entry.Path)
	}
	if len(added) == 0 && r.version < 0 && len(entries) > 0 {
		r.refuse("%s is missing, but %s exists", r.commitPath(0), entries[0].Path)
	}
	// A few at a time, because a commit may be large.
	for batch := range slices.Chunk(added, sink.MaxConcurrency) {
		commits, err := sink.Map(ctx, sink.MaxConcurrency, batch, func(ctx context.Context, path string) ([]action, error) {
			data, _, err := r.catalog.Read(ctx, path)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", path, err)
			}
			actions, err := decodeCommit(data)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w: %w", path, sink.ErrDamaged, err)
			}
			return actions, nil
		})
		if errors.Is(err, sink.ErrDamaged) {
			r.refuse("%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		for _, actions := range commits {
			r.apply(actions)
		}
	}
	return nil
}

// versionOf returns the version of the commit with a file name.
func versionOf(name string) (int64, bool) {
	digits, found := strings.CutSuffix(name, ".json")
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, found && len(digits) == 20 && err == nil
}

// advanceAll reads the commits that were added to any of the logs.
func advanceAll(ctx context.Context, logs []*replay) error {
	return sink.ForEach(ctx, logs, func(ctx context.Context, log *replay) error { return log.advance(ctx) })
}

// refuse notes why no commit may be added.
func (r *replay) refuse(text string, args ...any) {
	r.refused = fmt.Sprintf(text, args...) + ": to write the log again, which loses its earlier versions, remove the folder " +
		r.folder + strings.TrimSuffix(logFolder, "/") + " and run growth-export delta-lake"
}

// apply applies the next commit.
func (r *replay) apply(actions []action) {
	r.version++
	foreign := &Foreign{Version: r.version}
	ours := false
	for i := range actions {
		switch a := &actions[i]; {
		case a.CommitInfo != nil:
			foreign.Operation, foreign.Engine = a.CommitInfo.Operation, a.CommitInfo.EngineInfo
		case a.Txn != nil:
			ours = ours || a.Txn.AppID == appID
		case a.Protocol != nil && (a.Protocol.MinReaderVersion > readerVersion || a.Protocol.MinWriterVersion > writerVersion):
			r.refuse("%s requires version %d of the protocol to read the table and %d to write it", r.commitPath(r.version),
				a.Protocol.MinReaderVersion, a.Protocol.MinWriterVersion)
		case a.MetaData != nil:
			r.meta = a.MetaData
		case a.Remove != nil:
			delete(r.live, decodePath(a.Remove.Path))
		}
	}
	for i := range actions {
		if a := actions[i].Add; a != nil {
			r.live[decodePath(a.Path)] = r.liveFile(a)
		}
	}
	if ours {
		r.own = r.version
	} else {
		r.foreign = append(r.foreign, *foreign)
	}
	if r.committed != nil {
		r.committed(r.version)
	}
}

func (r *replay) liveFile(a *add) liveFile {
	path := decodePath(a.Path)
	file := liveFile{size: a.Size, odd: !maps.EqualFunc(a.PartitionValues, partitionsOf(path), equalText)}
	if encodePath(path) != a.Path {
		file.raw = a.Path
	}
	if r.countRows {
		stats := struct {
			NumRecords *int64 `json:"numRecords"`
		}{}
		if file.rows = -1; json.Unmarshal([]byte(a.Stats), &stats) == nil && stats.NumRecords != nil {
			file.rows = *stats.NumRecords
		}
	}
	return file
}

// nullPartition is the folder name of a null.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// partitionsOf returns the partition values in the path of a file; nil is null.
func partitionsOf(path string) map[string]*string {
	values := make(map[string]*string)
	segments := strings.Split(path, "/")
	for _, segment := range segments[:len(segments)-1] {
		column, value, found := strings.Cut(segment, "=")
		switch {
		case !found:
		case value == nullPartition:
			values[column] = nil
		default:
			text := decodePath(value)
			values[column] = &text
		}
	}
	return values
}

func equalText(a, b *string) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// encodePath percent-encodes the path of a file, as the log holds it.
func encodePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// decodePath undoes encodePath. A path that is not encoded correctly stays as it is.
func decodePath(path string) string {
	if decoded, err := url.PathUnescape(path); err == nil {
		return decoded
	}
	return path
}
