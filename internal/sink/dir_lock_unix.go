//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sink

import (
	"errors"
	"fmt"
	"syscall"
)

// lockFile locks the open file until it is closed or the process ends, however
// it ends. ErrLocked, or errors.ErrUnsupported.
func lockFile(f FileHandle, mode LockMode) error {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if mode == Exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = raw.Control(func(fd uintptr) {
		for {
			locked = syscall.Flock(int(fd), how)
			if !errors.Is(locked, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(locked, syscall.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(locked, syscall.ENOLCK), errors.Is(locked, syscall.ENOSYS),
		errors.Is(locked, syscall.ENOTSUP), errors.Is(locked, syscall.EOPNOTSUPP):
		return fmt.Errorf("lock a file: %w", errors.ErrUnsupported)
	}
	return locked
}

// upgradeLock makes a shared lock exclusive. If it fails the lock may be lost.
func upgradeLock(f FileHandle) error { return lockFile(f, Exclusive) }

// processRuns reports whether a process of this host is alive.
func processRuns(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
