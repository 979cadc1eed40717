package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the offset of the byte that is locked. Windows prevents other processes from reading locked bytes, so
// the locked byte comes after the records of the holders.
const lockOffset = 1 << 30

// lockFile locks an open file until the file is closed or the process ends. It replaces a lock that this process
// already has on the file. It returns ErrLocked if another holder has a conflicting lock, and errors.ErrUnsupported if
// the file system does not support locks. The previous lock is lost after an error.
func lockFile(f FileHandle, mode LockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := control(f, func(fd uintptr) error {
		handle, at := windows.Handle(fd), &windows.Overlapped{Offset: lockOffset}
		_ = windows.UnlockFileEx(handle, 0, 1, 0, at) // This fails if the file is not locked.
		return windows.LockFileEx(handle, flags, 0, 1, 0, at)
	})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return errors.ErrUnsupported
	}
	return err
}

// processRuns reports whether a process on this host may be alive.
func processRuns(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return process.Release() == nil
}
