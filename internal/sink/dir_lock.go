package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"
)

// locksFolder contains a file for each lock that is held. Escape never returns the name "~locks", so no owner can have
// this staging folder.
const locksFolder = StagingPrefix + "~locks"

const (
	lockPoll = 20 * time.Millisecond
	// minLockWait is how long Lock waits even if patience is 0, because Sweep briefly takes locks that are not in use.
	minLockWait = 100 * time.Millisecond
	// lockLogAfter is the time after which a wait is first logged. lockLogInterval is the time between further logs of the
	// wait.
	lockLogAfter    = 10 * time.Second
	lockLogInterval = time.Minute
	// maxLockTries is the maximum number of times that tryLock tries again because the file was replaced before it was
	// locked, and that Lock tries again because another process removed the root.
	maxLockTries = 100
	// maxLockFile is the maximum number of bytes that are read from a lock's file.
	maxLockFile = 1 << 20
)

// Lock takes a file system lock on a file in _staging/~locks. The system releases the lock when the process ends, even
// if it is killed, so a file that a killed process left behind is not locked. The last holder removes the file.
//
// Some file systems do not support locks, nor do operating systems other than Linux, macOS, the BSDs and Windows. In
// both cases, the lock does not exclude other processes, and the user must run only one command at a time on the
// destination.
//
// Locks are taken on files that were opened through the root. Packages such as gofrs/flock open a path themselves and
// would follow links out of the root. On Windows they also lock the bytes that identify the holder, so other processes
// could not read these bytes. Such a package would replace only dir_lock_unix.go and dir_lock_windows.go.
func (d *Dir) Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (func() error, error) {
	var unlock func() error
	for try := 0; ; try++ {
		root, err := d.open(true)
		if err == nil {
			unlock, err = d.waitForLock(ctx, root, name, mode, patience)
		}
		if err == nil {
			break
		}
		if !missing(err) || try == maxLockTries {
			return nil, fmt.Errorf("lock %q in %s: %w", name, d.name, cause(err))
		}
		d.reopen() // Another process created the root, took and released a lock, and removed the root again.
	}
	return func() error {
		err := unlock()
		d.unmakeRoot()
		return err
	}, nil
}

func (d *Dir) waitForLock(
	ctx context.Context, root FileSystem, name string, mode LockMode, patience time.Duration,
) (func() error, error) {
	began := time.Now()
	nextLog := lockLogAfter
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
		if waited >= max(patience, minLockWait) {
			if patience > 0 {
				locked.Waited = waited
			}
			return nil, locked
		}
		if waited >= nextLog {
			args := []any{"lock", name, "waited", waited.Round(time.Second).String()}
			if len(locked.Holders) > 0 {
				h := locked.Holders[0]
				args = append(args, "held_by_pid", h.PID, "held_by_host", h.Host, "held_by_command", h.Command, "held_since", h.Since)
			}
			d.log.WarnContext(ctx, "waiting for a lock that another process holds", args...)
			nextLog = waited + lockLogInterval
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

func lockPath(name string) string { return locksFolder + "/" + Escape(name) }

// tryLock takes the lock whose file is at path, or fails with a *LockedError if other processes hold it. Because the
// last holder removes the file, the file may no longer be at its path once it is locked here. A lock on such a file
// does not exclude other processes, so tryLock tries again. If locks are not supported, tryLock succeeds without a
// lock.
func (d *Dir) tryLock(root FileSystem, path string, mode LockMode) (func() error, error) {
	for range maxLockTries {
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
			signOff := d.signLock(f, mode)
			return func() error {
				signOff()
				last := mode == Exclusive || lockFile(f, Exclusive) == nil
				return d.unlock(root, path, f, last)
			}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s was replaced each time it was locked: locks do not work on this file system", path)
}

func sameFile(root FileSystem, name string, f FileHandle) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := root.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

// unlock closes a lock's file, which releases the lock. If this is the last holder, unlock first removes the file,
// unless there is a different file at path because the folder was removed by hand.
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

// sweepKilled removes the files of locks that no process holds, and the temporary files of documents that no process is
// writing. Files that it cannot remove are left for the next sweep.
func (d *Dir) sweepKilled(root FileSystem) {
	if _, err := root.Lstat(documentsFolder); err == nil {
		if unlock, err := d.tryLock(root, lockPath(documentsLock), Exclusive); err == nil {
			_ = errors.Join(root.RemoveAll(documentsFolder), unlock())
		}
	}
	defer d.prune(root, path.Clean(StagingPrefix))
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
		_ = d.unlock(root, locksFolder+"/"+entry.Name(), f, free == nil || errors.Is(free, errors.ErrUnsupported))
	}
}

// holderRecord is a line of a lock's file. A holder appends a record when it takes the lock and, if it shares the lock,
// another record when it releases the lock.
type holderRecord struct {
	ID string `json:"id"`
	LockHolder

	Released bool `json:"released,omitempty"`
}

// signLock records this process as a holder in a lock's file. The returned function records the release. The file is
// read only for messages, so errors are ignored.
func (d *Dir) signLock(f FileHandle, mode LockMode) (signOff func()) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	record := holderRecord{ID: rand.Text(), LockHolder: LockHolder{
		PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second), Command: d.command,
	}}
	write := func() {
		if line, err := json.Marshal(record); err == nil {
			_, _ = f.Write(append(line, '\n'))
		}
	}
	if mode == Exclusive {
		_ = f.Truncate(0) // Remove the records of killed holders.
	}
	write()
	return func() {
		if mode == Shared {
			record.Released = true
			write()
		}
	}
}

// readHolders returns the holders of a lock, the latest first, except for holders on this host that were killed.
func readHolders(f FileHandle) []LockHolder {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxLockFile))
	if err != nil {
		return nil
	}
	host, _ := os.Hostname() // An empty name matches no holder.
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

// control calls do with the file descriptor of an open file, and returns the error of do.
func control(f FileHandle, do func(fd uintptr) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(fd) })
	return errors.Join(err, failed)
}
