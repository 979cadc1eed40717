package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// locksFolder holds a file per lock that is held. Its name cannot be a run's.
const locksFolder = stagingPrefix + "~locks"

const (
	lockPoll = 20 * time.Millisecond
	// documentsPatience bounds the wait for a lock that is held for one small
	// write: longer means that its holder hangs.
	documentsPatience = time.Minute
)

// Lock locks a name against other processes and other users of this one. The
// lock goes with the process where the system has such locks (see lockFile); on
// a file system that knows none it keeps nobody out, and one publisher at a
// time is the user's duty.
func (d *Dir) Lock(ctx context.Context, name string, wait bool) (func() error, error) {
	unlock, err := d.lock(ctx, name, wait)
	for tries := 0; missing(err) && tries < 100; tries++ {
		// Somebody made the root, held a lock and has removed both.
		d.reopen()
		unlock, err = d.lock(ctx, name, wait)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s in %s: %w", name, d.name, cause(err))
	}
	return func() error {
		err := unlock()
		d.unmake()
		return err
	}, nil
}

func (d *Dir) lock(ctx context.Context, name string, wait bool) (func() error, error) {
	root, err := d.open(true)
	if err != nil {
		return nil, err
	}
	return d.waitForLock(ctx, root, name, wait)
}

func (d *Dir) waitForLock(ctx context.Context, root *os.Root, name string, wait bool) (func() error, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, err := d.tryLock(root, lockPath(name))
		if !errors.Is(err, ErrLocked) || !wait {
			return unlock, err
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(ErrLocked, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

func lockPath(name string) string { return locksFolder + "/" + Escape(name) }

// tryLock takes the lock whose file is at name, or fails with ErrLocked. The
// file is removed by its holder, so a file that was locked after it had been
// removed is none: then it is tried again.
func (d *Dir) tryLock(root *os.Root, name string) (func() error, error) {
	for {
		var f *os.File
		err := d.inFolder(root, locksFolder, func() (err error) {
			f, err = openLock(root, name, d.fileMode)
			return err
		})
		if err != nil {
			return nil, err
		}
		err = setMode(f, d.fileMode)
		if err == nil {
			err = lockFile(f)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return func() error { return nil }, d.unlock(root, name, f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if sameFile(root, name, f) {
			return func() error { return d.unlock(root, name, f) }, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

func sameFile(root *os.Root, name string, f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := root.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

func (d *Dir) unlock(root *os.Root, name string, f *os.File) error {
	err := removeLock(root, name, f)
	d.prune(root, locksFolder)
	if err != nil {
		return fmt.Errorf("unlock %s in %s: %w", name, d.name, cause(err))
	}
	return nil
}

// lockDocuments takes the lock of conditional writes and clears away what a
// killed holder left.
func (d *Dir) lockDocuments(ctx context.Context, root *os.Root) (func() error, error) {
	select {
	case d.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, documentsPatience)
	defer cancel()
	unlock, err := d.waitForLock(patient, root, documentsLock, true)
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

// sweepLocks removes the files of locks that nobody holds.
func (d *Dir) sweepLocks(root *os.Root) {
	entries, err := readFolder(root, locksFolder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if unlock, err := d.tryLock(root, locksFolder+"/"+entry.Name()); err == nil {
			_ = unlock() // A leftover that cannot be removed is the next one's to remove.
		}
	}
}
