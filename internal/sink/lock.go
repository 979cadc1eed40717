package sink

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// LockMode says who else may hold a lock.
type LockMode uint8

const (
	// Shared admits other holders that share the lock.
	Shared LockMode = iota
	// Exclusive admits no other holder.
	Exclusive
)

// How long commands wait for a lock before they give up. Locks of a run are
// waited for only as long as another command briefly looks at the run.
const (
	publishPatience = 30 * time.Minute
	runPatience     = 10 * time.Second
)

// LockHolder is a process that holds a lock.
type LockHolder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command string    `json:"command,omitempty"`
}

// String names the process, as errors and logs do.
func (h LockHolder) String() string {
	text := fmt.Sprintf("process %d on host %s (", h.PID, h.Host)
	if h.Command != "" {
		text += "growth-export " + h.Command + ", "
	}
	return text + "since " + h.Since.UTC().Format("2006-01-02 15:04:05 UTC") + ")"
}

// LockedError says that other processes hold a lock. It wraps ErrLocked.
type LockedError struct {
	// Holders are the processes that hold the lock, the latest first, as far as
	// its file names them.
	Holders []LockHolder
	// Waited is how long Lock waited; zero if it was not asked to.
	Waited time.Duration
}

// Error names the holder, and after a wait says what to do.
func (e *LockedError) Error() string {
	text := "held by another process"
	if len(e.Holders) > 0 {
		text = "held by " + e.Holders[0].String()
	}
	if more := len(e.Holders) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if e.Waited > 0 {
		text += fmt.Sprintf(", gave up after %s: wait for that process or stop it, then run the command again", e.Waited.Round(time.Second))
	}
	return text
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// HoldRunShared holds a run for a process that works on shard of shards, until
// release is called or the process ends. Any number of processes may work on a
// run, but only one on each shard: the second fails with a *LockedError, as
// does every process while another holds the run with HoldRunExclusive.
//
// Shards of different counts may overlap, such as 0/1 and 1/3. That is allowed,
// since an operator may finish the work of dead shards with another count: both
// processes stage the buckets they have in common, and the checkpoint written
// last decides whose files count.
func HoldRunShared(ctx context.Context, store Store, run string, shard, shards int) (release func() error, err error) {
	unlock, err := store.Lock(ctx, runLock(run), Shared, runPatience)
	if err != nil {
		return nil, err
	}
	unlockShard, err := store.Lock(ctx, fmt.Sprintf("%s, shard %d of %d", runLock(run), shard, shards), Exclusive, 0)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return func() error { return errors.Join(unlockShard(), unlock()) }, nil
}

// HoldRunExclusive holds a run for a process that removes or rewrites what it
// has staged or published, until release is called or the process ends. It
// fails at once with a *LockedError while any process works on the run,
// whatever its shard.
func HoldRunExclusive(ctx context.Context, store Store, run string) (release func() error, err error) {
	return store.Lock(ctx, runLock(run), Exclusive, 0)
}

// runLock is the name of the lock of a run.
func runLock(run string) string { return "run " + run }

// lockPublishing keeps other publishers away from the destination.
func lockPublishing(ctx context.Context, store Store) (unlock func() error, err error) {
	return store.Lock(ctx, publishLock, Exclusive, publishPatience)
}
