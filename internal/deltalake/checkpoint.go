package deltalake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
)

const (
	// classicCheckpoint is the suffix of the name of a checkpoint that is a single Parquet file.
	classicCheckpoint = "checkpoint.parquet"
	// checkpointInterval is the number of commits from one checkpoint to the next.
	checkpointInterval = 100
	// tombstones is how long a checkpoint keeps removals, counted back from the newest removal. The value is Delta Lake's
	// default.
	tombstones = 7 * 24 * time.Hour
)

// lastCheckpoint is the document that refers to the newest checkpoint.
type lastCheckpoint struct {
	Version int64 `json:"version"`
	Size    int64 `json:"size"` // the number of rows
	Parts   int64 `json:"parts,omitempty"`
}

func (t *table) checkpointPath(version int64) string {
	return fmt.Sprintf("%s%s/%020d.%s", t.folder, logFolder, version, classicCheckpoint)
}

func (t *table) lastCheckpointPath() string { return t.folder + logFolder + "/_last_checkpoint" }

// updateCheckpoint writes the newest checkpoint that is due, unless it exists, and then the document that refers to the
// newest checkpoint. If the process is killed in between, the next call writes the document. written is the version of
// the checkpoint that was written, or 0 if none was. Commit 0 never has a checkpoint.
func (r *reconciler) updateCheckpoint(ctx context.Context, t *table) (written int64, err error) {
	interval := cmp.Or(r.opts.CheckpointInterval, checkpointInterval)
	due := t.version - t.version%interval
	if due <= 0 {
		return 0, nil
	}
	classic, exists := t.checkpoints[due]
	if !exists {
		if err := t.writeCheckpoint(ctx, r.catalog.Store(), due); err != nil {
			return 0, fmt.Errorf("write %s: %w", t.checkpointPath(due), err)
		}
		t.checkpoints[due] = true
		classic, written = true, due
	}
	if !classic {
		return 0, nil // written by another program in several parts; the document would have to contain their number
	}
	return written, sink.Swap(ctx, t.lastCheckpointPath(), func() error { return t.nameCheckpoint(ctx, r.catalog.Store(), due) })
}

// nameCheckpoint records the checkpoint of a version in _last_checkpoint, unless that document already refers to this
// checkpoint or to a later one that exists.
func (t *table) nameCheckpoint(ctx context.Context, store sink.Store, version int64) error {
	path, condition := t.lastCheckpointPath(), sink.Condition{Absent: true}
	data, current, err := store.Read(ctx, path)
	switch {
	case errors.Is(err, sink.ErrNotFound):
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	default:
		condition = sink.Condition{Version: current}
		var last lastCheckpoint
		err := json.Unmarshal(data, &last)
		_, listed := t.checkpoints[last.Version]
		if err == nil && (last.Version > t.version || last.Version >= version && listed) {
			return nil // A version after t.version comes from another process that has committed since the log was listed.
		}
	}
	file := t.checkpointPath(version)
	object, err := store.Open(ctx, file)
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	info, err := parquetfile.ReadFooter(object, object.Size())
	if err := errors.Join(err, object.Close()); err != nil {
		return fmt.Errorf("read %s: %w: remove this file and run growth-export delta-lake", file, err)
	}
	data, err = json.Marshal(lastCheckpoint{Version: version, Size: info.Rows})
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return store.Write(ctx, path, data, condition)
}

// writeCheckpoint writes the checkpoint of a version. Another process may write the same checkpoint at the same time.
func (t *table) writeCheckpoint(ctx context.Context, store sink.Store, version int64) error {
	content, err := t.buildCheckpoint(ctx, store, version)
	if err != nil {
		return err
	}
	err = store.Write(ctx, t.checkpointPath(version), content, sink.Condition{Absent: true})
	if errors.Is(err, sink.ErrConflict) {
		return nil
	}
	return err
}

// buildCheckpoint returns the checkpoint of a version. Its bytes depend only on the commits. The commits are read from
// the last to the first, because only the last action on each path counts. One batch of actions is in memory at a time.
func (t *table) buildCheckpoint(ctx context.Context, store sink.Reader, version int64) ([]byte, error) {
	b := &checkpointBuilder{writer: newCheckpointWriter(), seen: make(map[string]bool), txns: make(map[string]*txn)}
	for version >= 0 {
		batch := make([]int64, min(version+1, commitBatch))
		for i := range batch {
			batch[i] = version - int64(i)
		}
		commits, err := t.readCommits(ctx, store, batch)
		if err != nil {
			return nil, err
		}
		for _, actions := range commits {
			if err := b.addCommit(actions); err != nil {
				return nil, err
			}
		}
		version -= int64(len(batch))
	}
	return b.finish()
}

// checkpointBuilder collects the actions of a checkpoint.
type checkpointBuilder struct {
	writer   *checkpointWriter
	seen     map[string]bool // by decoded path
	removed  int64           // time of the newest removal, in milliseconds
	meta     *metaData
	protocol *protocol
	txns     map[string]*txn // the last transaction of each application
}

// addCommit adds the actions of a commit, which must be earlier than all commits added before.
func (b *checkpointBuilder) addCommit(actions []action) error {
	own := isOwn(actions)
	for i := range actions {
		switch a := &actions[i]; {
		case a.Add != nil:
			if !b.first(a.Add.Path) {
				continue
			}
			live := *a.Add
			if !own {
				live.Stats = "" // Statistics from other programs may have bounds of any column.
			}
			if err := b.writer.write(&action{Add: &live}); err != nil {
				return err
			}
		case a.MetaData != nil && b.meta == nil:
			b.meta = a.MetaData
		case a.Protocol != nil && b.protocol == nil:
			b.protocol = a.Protocol
		case a.Txn != nil && b.txns[a.Txn.AppID] == nil:
			b.txns[a.Txn.AppID] = a.Txn
		}
	}
	for i := range actions {
		gone := actions[i].Remove
		if gone == nil || !b.first(gone.Path) {
			continue
		}
		b.removed = max(b.removed, gone.DeletionTimestamp)
		if gone.DeletionTimestamp > b.removed-tombstones.Milliseconds() {
			if err := b.writer.write(&actions[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// first reports whether the path has not been seen in a later action, and marks it as seen.
func (b *checkpointBuilder) first(path string) bool {
	path = decodePath(path)
	if b.seen[path] {
		return false
	}
	b.seen[path] = true
	return true
}

// finish adds the actions that are not about files, in a row group of their own, because readers need them first. It
// returns the content of the checkpoint.
func (b *checkpointBuilder) finish() ([]byte, error) {
	if err := b.writer.flush(); err != nil {
		return nil, err
	}
	for _, app := range slices.Sorted(maps.Keys(b.txns)) {
		if err := b.writer.write(&action{Txn: b.txns[app]}); err != nil {
			return nil, err
		}
	}
	for _, a := range []action{{MetaData: b.meta}, {Protocol: b.protocol}} {
		if a.MetaData == nil && a.Protocol == nil {
			continue // The log has no such action, so readers would reject the log anyway.
		}
		if err := b.writer.write(&a); err != nil {
			return nil, err
		}
	}
	return b.writer.finish()
}
