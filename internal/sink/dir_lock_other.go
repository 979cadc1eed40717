//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// openLock makes the lock's file; that it could be made is the lock. A process
// that is killed leaves it behind, to be removed by hand: the error names it.
func openLock(root *os.Root, name string, mode fs.FileMode) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w; if no other process runs, remove the file %s", ErrLocked, name)
	}
	return f, err
}

func lockFile(*os.File) error { return nil }

func removeLock(root *os.Root, name string, f *os.File) error {
	return errors.Join(f.Close(), removeIfThere(root, name))
}
