package deltalake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"example.org/growthexport/internal/sink"
)

// checkCheckpoint compares the checkpoint of a version, which any program may have written, with the commits up to that
// version.
func (v *tableVerification) checkCheckpoint(ctx context.Context, store sink.Reader, log *state) (err error) {
	path := v.table.checkpointPath(log.version)
	object, err := store.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	v.verified.Checkpoints++
	c := &checkpointComparison{log: log, txns: make(map[string]int64), files: make(map[string]bool)}
	reader := &watchedReader{ReaderAt: object}
	unreadable := readCheckpoint(reader, object.Size(), c.add)
	if reader.err != nil {
		return fmt.Errorf("read %s: %w", path, reader.err)
	}
	if unreadable != nil {
		c.problem = "is damaged: " + unreadable.Error()
	}
	if problem := c.finish(); problem != "" {
		v.problem(path, "%s: remove this file and run growth-export delta-lake", problem)
	}
	return nil
}

// checkpointComparison compares the actions of a checkpoint with the state that results from the commits.
type checkpointComparison struct {
	log      *state
	meta     *metaData
	protocol *protocol
	txns     map[string]int64
	files    map[string]bool // the live files, by decoded path
	problem  string          // the first problem
}

func (c *checkpointComparison) add(a action) {
	switch {
	case a.MetaData != nil:
		c.meta = a.MetaData
	case a.Protocol != nil:
		c.protocol = a.Protocol
	case a.Txn != nil:
		c.txns[a.Txn.AppID] = a.Txn.Version
	case a.Add != nil:
		path := decodePath(a.Add.Path)
		want, live := c.log.live[path]
		got := c.log.liveFile(a.Add, path)
		// The statistics of files that other programs have added may be missing.
		equal := got.size == want.size && got.odd == want.odd && (got.stats == want.stats || want.foreign && a.Add.Stats == "")
		if c.problem == "" && (!live || !equal || c.files[path]) {
			c.problem = "differs from the log in the file " + path
		}
		c.files[path] = true
	}
}

// finish returns a description of the first problem, or "" if there is none.
func (c *checkpointComparison) finish() string {
	switch {
	case c.problem != "":
		return c.problem
	case len(c.files) != len(c.log.live):
		return fmt.Sprintf("has %d live files, but the log has %d", len(c.files), len(c.log.live))
	case c.protocol == nil || c.log.protocol == nil || *c.protocol != *c.log.protocol:
		return "differs from the log in the version of the protocol"
	case !c.meta.equal(c.log.meta):
		return "differs from the log in columns or properties"
	case !maps.Equal(c.txns, c.log.txns):
		return "differs from the log in the transactions"
	}
	return ""
}

// checkLastCheckpoint checks that _last_checkpoint, if it exists, refers to an existing checkpoint.
func (v *tableVerification) checkLastCheckpoint(ctx context.Context, store sink.Reader) error {
	path := v.table.lastCheckpointPath()
	data, _, err := store.Read(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		return nil // Readers find the newest checkpoint in the list of files.
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var last lastCheckpoint
	if err := json.Unmarshal(data, &last); err != nil {
		v.problem(path, "is damaged: remove this file and run growth-export delta-lake")
	} else if _, exists := v.table.checkpoints[last.Version]; !exists {
		v.problem(path, "refers to the checkpoint of version %d, which is missing: remove this file and run growth-export delta-lake", last.Version)
	}
	return nil
}
