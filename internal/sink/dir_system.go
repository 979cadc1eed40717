package sink

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// FileSystem has the methods of os.Root that a Dir calls.
type FileSystem interface {
	OpenFile(name string, flag int, perm fs.FileMode) (FileHandle, error)
	Mkdir(name string, perm fs.FileMode) error
	Chmod(name string, mode fs.FileMode) error
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
}

// FileHandle has the methods of os.File that a Dir calls on open files and folders.
type FileHandle interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	ReadDir(n int) ([]fs.DirEntry, error)
	Chmod(mode fs.FileMode) error
	Truncate(size int64) error
	Sync() error
	SyscallConn() (syscall.RawConn, error)
}

// systemRoot is the FileSystem of the operating system.
type systemRoot struct{ *os.Root }

// OpenFile opens a file or folder.
func (r systemRoot) OpenFile(name string, flag int, perm fs.FileMode) (FileHandle, error) {
	f, err := r.Root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openToRead opens a file or folder for reading.
func openToRead(root FileSystem, name string) (FileHandle, error) {
	return root.OpenFile(name, os.O_RDONLY, 0)
}
