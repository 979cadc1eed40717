package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the byte that is locked. Windows denies other processes reading
// and writing what is locked, and the file's first bytes say who holds the lock.
const lockOffset = 1 << 30

// lockFile locks the open file until it is closed or the process ends, however
// it ends. It fails with ErrLocked or errors.ErrUnsupported.
func lockFile(f FileHandle, mode LockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := onHandle(f, func(handle windows.Handle) error {
		return windows.LockFileEx(handle, flags, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return errors.ErrUnsupported
	}
	return err
}

// upgradeLock makes a shared lock exclusive. If it fails the lock is lost.
func upgradeLock(f FileHandle) error {
	err := onHandle(f, func(handle windows.Handle) error {
		return windows.UnlockFileEx(handle, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	})
	if err != nil {
		return err
	}
	return lockFile(f, Exclusive)
}

func onHandle(f FileHandle, do func(windows.Handle) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = raw.Control(func(fd uintptr) { done = do(windows.Handle(fd)) })
	return errors.Join(err, done)
}

// processRuns reports whether a process of this host may be alive.
func processRuns(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return process.Release() == nil
}
