//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sink

import (
	"errors"
	"fmt"
	"syscall"
)

// lockFile locks an open file until the file is closed or the process ends. It replaces a lock that this process
// already has on the file. It returns ErrLocked if another holder has a conflicting lock, and errors.ErrUnsupported if
// the file system does not support locks. The previous lock may be lost after an error.
func lockFile(f FileHandle, mode LockMode) error {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if mode == Exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	err := control(f, func(fd uintptr) error {
		for {
			if err := syscall.Flock(int(fd), how); !errors.Is(err, syscall.EINTR) {
				return err
			}
		}
	})
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS),
		errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("lock a file: %w", errors.ErrUnsupported)
	}
	return err
}

// processRuns reports whether a process on this host is alive.
func processRuns(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
