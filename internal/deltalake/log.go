package deltalake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"example.org/growthexport/internal/sink"
)

// logFolder is the name of the folder of a table's commits.
const logFolder = "/_delta_log"

// state is the result of applying the commits of a table's log.
type state struct {
	// version is the version of the last commit, or -1 if there is no commit.
	version int64
	// own is the version of this program's last commit, or -1 if there is no such commit.
	own int64
	// id is the first identifier of the table, or "" if the log has no metadata.
	id       string
	meta     *metaData
	protocol *protocol
	txns     map[string]int64 // the last transaction version of each application
	// live holds the live files, by their decoded path relative to the table.
	live map[string]liveFile
	seed maphash.Seed // for the hashes in liveFile.stats
	// foreign are the commits of other programs, the earliest first.
	foreign []Foreign
}

// liveFile is a live file. It is small, because there may be hundreds of thousands of live files.
type liveFile struct {
	// raw is the path as it is written in the log.
	raw string
	// rows is -1 if the number of rows is unknown.
	size, rows int64
	// odd is true if the partition values differ from the values in the path. foreign is true if another program added the
	// file.
	odd, foreign bool
	// stats is a hash of the statistics.
	stats uint64
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

func (t *table) commitPath(version int64) string {
	return fmt.Sprintf("%s%s/%020d.json", t.folder, logFolder, version)
}

// refuse records the reason why no commit may be added, and the remedy.
func (t *table) refuse(text string, args ...any) {
	t.problem = fmt.Sprintf(text, args...) + ": to write the log again, which loses its earlier versions, remove the folder " +
		t.folder + logFolder + " and run growth-export delta-lake"
}

// listLog finds the last version of the log, and the checkpoints. It records a problem if commits are missing.
func (t *table) listLog(ctx context.Context, store sink.Reader) error {
	for entry, err := range store.List(ctx, t.folder+logFolder+"/") {
		if err != nil {
			return err
		}
		t.hasLog = true
		digits, kind, _ := strings.Cut(strings.TrimPrefix(entry.Path, t.folder+logFolder+"/"), ".")
		version, err := strconv.ParseInt(digits, 10, 64)
		if len(digits) != 20 || err != nil {
			continue
		}
		if strings.HasPrefix(kind, "checkpoint.") {
			t.checkpoints[version] = t.checkpoints[version] || kind == classicCheckpoint
			continue
		}
		if kind != "json" {
			continue
		}
		if version != t.version+1 {
			t.refuse("%s is missing, but later commits exist", t.commitPath(t.version+1))
			return nil
		}
		t.version = version
	}
	if t.hasLog && t.version < 0 {
		t.refuse("%s is missing, but its folder exists", t.commitPath(0))
	}
	return nil
}

// replay reads the log up to the last listed version, or until it finds a problem, and returns the table's state. If
// committed is not nil, it is called after each commit. If no commit may be added, the table's problem says why.
func (t *table) replay(ctx context.Context, store sink.Reader, committed func(*state) error) (*state, error) {
	s := &state{
		version: -1, own: -1, live: make(map[string]liveFile), txns: make(map[string]int64), seed: maphash.MakeSeed(),
	}
	for s.version < t.version && t.problem == "" {
		batch := make([]int64, min(t.version-s.version, commitBatch))
		for i := range batch {
			batch[i] = s.version + 1 + int64(i)
		}
		commits, err := t.readCommits(ctx, store, batch)
		if errors.Is(err, sink.ErrDamaged) {
			t.refuse("%v", err)
			break
		}
		if err != nil {
			return nil, err
		}
		for _, actions := range commits {
			s.apply(t, actions)
			if committed == nil {
				continue
			}
			if err := committed(s); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// commitBatch is the maximum number of commits that are read at once. It is limited because commits may be large.
const commitBatch = sink.MaxConcurrency

// readCommits returns the actions of the commits with the given versions. It returns ErrDamaged if a commit cannot be
// decoded.
func (t *table) readCommits(ctx context.Context, store sink.Reader, versions []int64) ([][]action, error) {
	return sink.Map(ctx, commitBatch, versions, func(ctx context.Context, version int64) ([]action, error) {
		path := t.commitPath(version)
		data, _, err := store.Read(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		actions, err := decodeCommit(data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w: %w", path, sink.ErrDamaged, err)
		}
		return actions, nil
	})
}

// apply adds the actions of the next commit to the state.
func (s *state) apply(t *table, actions []action) {
	s.version++
	foreign := Foreign{Version: s.version}
	if isOwn(actions) {
		s.own = s.version
	}
	for i := range actions {
		switch a := &actions[i]; {
		case a.CommitInfo != nil:
			foreign.Operation, foreign.Engine = a.CommitInfo.Operation, a.CommitInfo.EngineInfo
		case a.Txn != nil:
			s.txns[a.Txn.AppID] = a.Txn.Version
		case a.Protocol != nil:
			s.protocol = a.Protocol
			if a.Protocol.MinReaderVersion > readerVersion || a.Protocol.MinWriterVersion > writerVersion {
				t.refuse("%s requires version %d of the protocol to read the table and %d to write it", t.commitPath(s.version),
					a.Protocol.MinReaderVersion, a.Protocol.MinWriterVersion)
			}
		case a.MetaData != nil:
			s.meta, s.id = a.MetaData, cmp.Or(s.id, a.MetaData.ID)
		case a.Remove != nil:
			delete(s.live, decodePath(a.Remove.Path))
		}
	}
	for i := range actions {
		if a := actions[i].Add; a != nil {
			path := decodePath(a.Path)
			s.live[path] = s.liveFile(a, path)
		}
	}
	if s.own != s.version {
		s.foreign = append(s.foreign, foreign)
	}
}

// liveFile converts an add action of the last applied commit.
func (s *state) liveFile(a *add, path string) liveFile {
	return liveFile{
		raw: a.Path, size: a.Size, rows: rowsOf(a), odd: !maps.EqualFunc(a.PartitionValues, partitionsOf(path), equalText),
		foreign: s.own != s.version, stats: maphash.String(s.seed, a.Stats),
	}
}

// rowsOf returns the number of rows of a file, or -1 if it is unknown.
func rowsOf(a *add) int64 {
	// Statistics written by this program begin with the number of rows. Decoding the statistics of every file would take
	// as long as decoding the rest of the log.
	digits, _, _ := strings.Cut(strings.TrimPrefix(a.Stats, `{"numRecords":`), ",")
	if rows, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return rows
	}
	stats := struct {
		NumRecords *int64 `json:"numRecords"`
	}{}
	if json.Unmarshal([]byte(a.Stats), &stats) != nil || stats.NumRecords == nil {
		return -1
	}
	return *stats.NumRecords
}

// nullPartition represents null in the name of a partition's folder.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// partitionsOf returns the partition values in the path of a file. A nil value is null.
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

// encodePath returns the path of a file, percent-encoded for the log.
func encodePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// decodePath returns the path that encodePath encoded. If a path is not encoded correctly, it is returned unchanged.
func decodePath(path string) string {
	if decoded, err := url.PathUnescape(path); err == nil {
		return decoded
	}
	return path
}
