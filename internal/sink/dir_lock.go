package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// locksFolder has a file for each lock that is held. Its name cannot be a run's.
const locksFolder = stagingPrefix + "~locks"

const (
	lockPoll = 20 * time.Millisecond
	// lockGrace is the minimum wait: Sweep briefly holds locks that no process
	// needs.
	lockGrace = 100 * time.Millisecond
	// lockSilence is how long a wait goes on before it is logged, and
	// lockReminder how often it is logged after that.
	lockSilence  = 10 * time.Second
	lockReminder = time.Minute
	// documentsPatience bounds the wait for a lock that is held for one small
	// write: longer means that its holder hangs.
	documentsPatience = time.Minute
	// lockTries bounds the attempts to lock a file that is still there after it
	// was locked.
	lockTries = 100
	// maxLockFile bounds what is read of a lock's file.
	maxLockFile = 1 << 20
)

// Lock locks a name against other processes and other users of this one, with a
// lock of the file system on a file in _staging/~locks. The system gives it up
// when the process ends, however it ends; a file that a killed process left is
// not locked. The last holder removes the file.
//
// The file system may not support locks, nor do operating systems other than
// Linux, macOS, the BSDs and Windows. The lock then excludes no other process,
// and the user must run only one command at a time at the destination.
func (d *Dir) Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (func() error, error) {
	unlock, err := d.lock(ctx, name, mode, patience)
	for tries := 0; missing(err) && tries < 100; tries++ {
		// Somebody made the root, held a lock and has removed both.
		d.reopen()
		unlock, err = d.lock(ctx, name, mode, patience)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q in %s: %w", name, d.name, cause(err))
	}
	return func() error {
		err := unlock()
		d.unmake()
		return err
	}, nil
}

func (d *Dir) lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (func() error, error) {
	root, err := d.open(true)
	if err != nil {
		return nil, err
	}
	return d.waitForLock(ctx, root, name, mode, patience)
}

func (d *Dir) waitForLock(
	ctx context.Context, root FileSystem, name string, mode LockMode, patience time.Duration,
) (func() error, error) {
	began := time.Now()
	nextLog := lockSilence
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, err := d.tryLock(root, lockPath(name), mode)
		locked, held := errors.AsType[*LockedError](err)
		if !held {
			return unlock, err
		}
		waited := time.Since(began)
		if waited >= max(patience, lockGrace) {
			if patience > 0 {
				locked.Waited = waited
			}
			return nil, locked
		}
		if waited >= nextLog {
			d.logWait(ctx, name, waited, locked)
			nextLog = waited + lockReminder
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(locked, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

func (d *Dir) logWait(ctx context.Context, name string, waited time.Duration, locked *LockedError) {
	args := []any{"lock", name, "waited", waited.Round(time.Second).String()}
	if len(locked.Holders) > 0 {
		holder := locked.Holders[0]
		args = append(args, "held_by_pid", holder.PID, "held_by_host", holder.Host, "held_by_command", holder.Command, "held_since", holder.Since)
	}
	d.log.WarnContext(ctx, "waiting for a lock that another process holds", args...)
}

func lockPath(name string) string { return locksFolder + "/" + Escape(name) }

// tryLock takes the lock whose file is at path, or fails with a *LockedError.
// The last holder removes the file, so a process may have locked a file that was
// removed after it had opened it, which locks nothing: it then tries again.
func (d *Dir) tryLock(root FileSystem, path string, mode LockMode) (func() error, error) {
	for range lockTries {
		var f FileHandle
		err := d.inFolder(root, locksFolder, func() (err error) {
			f, err = root.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, d.fileMode)
			return err
		})
		if err != nil {
			return nil, err
		}
		err = setMode(f, d.fileMode)
		if err == nil {
			err = lockFile(f, mode)
		}
		switch {
		case errors.Is(err, ErrLocked):
			return nil, errors.Join(&LockedError{Holders: readHolders(f)}, f.Close())
		case errors.Is(err, errors.ErrUnsupported):
			return func() error { return nil }, d.unlock(root, path, f, true)
		case err != nil:
			return nil, errors.Join(err, f.Close())
		}
		if sameFile(root, path, f) {
			released := d.signLock(f, mode)
			return func() error {
				released()
				// Only the last holder may remove the file.
				last := mode == Exclusive || upgradeLock(f) == nil
				return d.unlock(root, path, f, last)
			}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s was another file each time after it had been locked: the file system cannot hold locks reliably", path)
}

func sameFile(root FileSystem, name string, f FileHandle) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := root.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

// unlock closes a lock's file, which gives the lock up. The last holder removes
// the file before that, so that the lock is still held while the file goes; the
// file at path is a different one if the locks' folder was removed by hand.
func (d *Dir) unlock(root FileSystem, path string, f FileHandle, last bool) error {
	var err error
	if last && sameFile(root, path, f) {
		err = removeIfThere(root, path)
	}
	err = errors.Join(err, f.Close())
	d.prune(root, locksFolder)
	if err != nil {
		return fmt.Errorf("unlock %s in %s: %w", path, d.name, cause(err))
	}
	return nil
}

// holderRecord is a line of a lock's file. A holder appends one when it takes
// the lock and, if it shares the lock, another when it gives the lock up.
type holderRecord struct {
	ID string `json:"id"`
	LockHolder

	Released bool `json:"released,omitempty"`
}

// signLock writes to a lock's file who holds it. The returned function adds
// that it was given up. The file is used only in messages, so failing to write
// it is not an error.
func (d *Dir) signLock(f FileHandle, mode LockMode) (released func()) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	record := holderRecord{ID: randomName(), LockHolder: LockHolder{
		PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second), Command: d.command,
	}}
	write := func() {
		if line, err := json.Marshal(record); err == nil {
			_, _ = f.Write(append(line, '\n'))
		}
	}
	if mode == Exclusive {
		_ = f.Truncate(0) // What killed holders left.
	}
	write()
	return func() {
		if mode == Shared {
			record.Released = true
			write()
		}
	}
}

// readHolders returns who holds a lock, the latest first. Holders on this host
// that were killed are left out.
func readHolders(f FileHandle) []LockHolder {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxLockFile))
	if err != nil {
		return nil
	}
	host, _ := os.Hostname() // Empty matches no holder.
	var records []holderRecord
	for line := range bytes.Lines(data) {
		var record holderRecord
		if json.Unmarshal(line, &record) != nil || record.PID == 0 {
			continue
		}
		records = slices.DeleteFunc(records, func(r holderRecord) bool { return r.ID == record.ID })
		if !record.Released && (record.Host != host || processRuns(record.PID)) {
			records = append(records, record)
		}
	}
	var holders []LockHolder
	for _, record := range slices.Backward(records) {
		holders = append(holders, record.LockHolder)
	}
	return holders
}

// lockDocuments takes the lock of conditional writes and clears away what a
// killed holder left.
func (d *Dir) lockDocuments(ctx context.Context, root FileSystem) (func() error, error) {
	select {
	case d.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	unlock, err := d.waitForLock(ctx, root, documentsLock, Exclusive, documentsPatience)
	if err == nil {
		err = root.RemoveAll(documentsFolder)
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}
	if err != nil {
		<-d.writing
		return nil, fmt.Errorf("lock %s: %w", lockPath(documentsLock), cause(err))
	}
	return func() error {
		defer func() { <-d.writing }()
		return unlock()
	}, nil
}

// sweepLocks removes the files of locks that no process holds.
func (d *Dir) sweepLocks(root FileSystem) {
	entries, err := readFolder(root, locksFolder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		f, err := root.OpenFile(locksFolder+"/"+entry.Name(), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		free := lockFile(f, Exclusive)
		// What cannot be removed now is left to the next sweep.
		_ = d.unlock(root, locksFolder+"/"+entry.Name(), f, free == nil || errors.Is(free, errors.ErrUnsupported))
	}
}
