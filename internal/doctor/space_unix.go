//go:build linux || darwin

package doctor

import (
	"fmt"
	"syscall"
)

// freeBytes returns how many bytes this user may still write to the file system of a folder.
func freeBytes(folder string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return 0, fmt.Errorf("ask the file system: %w", err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:unconvert // the types differ between systems
}
