//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func openLock(root *os.Root, name string, mode fs.FileMode) (*os.File, error) {
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE, mode)
}

// lockFile locks the open file until it is closed or the process ends, however
// it ends. ErrLocked, or errors.ErrUnsupported.
func lockFile(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = raw.Control(func(fd uintptr) {
		for {
			locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
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

// removeLock removes the file before its lock is given up, so that nobody locks
// a file that is about to go.
func removeLock(root *os.Root, name string, f *os.File) error {
	return errors.Join(removeIfThere(root, name), f.Close())
}
