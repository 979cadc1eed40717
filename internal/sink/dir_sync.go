package sink

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// syncFolder makes the entries of a folder durable, where the system has a way
// to: not every file system syncs folders, and Windows opens none for it.
func syncFolder(f *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
