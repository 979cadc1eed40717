package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/growthexport/internal/sink"
)

// The names of the locks that are held by publishers and by processes that change the history.
const (
	publishLock = "publish"
	historyLock = "history"
)

// The maximum times that commands wait for a lock. Commands that only inspect a run hold its locks briefly.
const (
	publishPatience = 30 * time.Minute
	runPatience     = 10 * time.Second
)

// HoldRunShared locks a run for a process that works on one of its shards, until release is called or the process ends.
// Any number of processes may work on a run, but only one on each shard. The second process on a shard gets a
// *LockedError, as does every process while another process holds the run with HoldRunExclusive. On a store without
// locks, no process is excluded.
//
// Shards of different shard counts may overlap, such as 0/1 and 1/3, because an operator may finish the work of dead
// shards with a different shard count. If two processes then stage the same bucket, the files in the checkpoint that is
// written last are used.
func (c Catalog) HoldRunShared(ctx context.Context, run string, shard, shards int) (release func() error, err error) {
	unlock, err := c.store.Lock(ctx, runLock(run), sink.Shared, runPatience)
	if err != nil {
		return nil, err
	}
	unlockShard, err := c.store.Lock(ctx, fmt.Sprintf("%s, shard %d of %d", runLock(run), shard, shards), sink.Exclusive, 0)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return func() error { return errors.Join(unlockShard(), unlock()) }, nil
}

// HoldRunExclusive locks a run for a process that removes or rewrites its staged or published files, until release is
// called or the process ends. It returns a *LockedError at once if any process is working on the run, regardless of the
// shard.
func (c Catalog) HoldRunExclusive(ctx context.Context, run string) (release func() error, err error) {
	return c.store.Lock(ctx, runLock(run), sink.Exclusive, 0)
}

// HoldHistory locks out other processes that change the history, until release is called or the process ends. It
// returns a *LockedError at once if another process holds the lock.
func (c Catalog) HoldHistory(ctx context.Context) (release func() error, err error) {
	return c.store.Lock(ctx, historyLock, sink.Exclusive, 0)
}

// runLock returns the name of the lock of a run.
func runLock(run string) string { return "run " + run }

// lockPublishing locks out other publishers of the destination.
func (c Catalog) lockPublishing(ctx context.Context) (unlock func() error, err error) {
	return c.store.Lock(ctx, publishLock, sink.Exclusive, publishPatience)
}
