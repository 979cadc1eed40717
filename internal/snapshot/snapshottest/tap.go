package snapshottest

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"example.org/growthexport/internal/sink"
)

// Tap is a FileSystem whose calls are observed. Before is called before each call of the methods below and may make the
// call fail. After, if it is set, is called after each write and after other successful calls, except for reading,
// closing, and opening an existing file.
type Tap struct {
	sink.FileSystem

	Before func(call, name string) error
	After  func(call, name, to string, data []byte)
}

func (t Tap) intercept(call, name, to string, system func() error) error {
	if err := t.Before(call, name); err != nil {
		return err
	}
	err := system()
	if err == nil && t.After != nil {
		t.After(call, name, to, nil)
	}
	return err
}

// OpenFile calls OpenFile of the file system between Before and After.
func (t Tap) OpenFile(name string, flag int, perm fs.FileMode) (sink.FileHandle, error) {
	if err := t.Before("open", name); err != nil {
		return nil, err
	}
	f, err := t.FileSystem.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if flag&os.O_EXCL != 0 && t.After != nil {
		t.After("create", name, "", nil)
	}
	return tapFile{FileHandle: f, of: t, name: name}, nil
}

// Mkdir calls Mkdir of the file system between Before and After.
func (t Tap) Mkdir(name string, perm fs.FileMode) error {
	return t.intercept("mkdir", name, "", func() error { return t.FileSystem.Mkdir(name, perm) })
}

// Chmod calls Chmod of the file system between Before and After.
func (t Tap) Chmod(name string, mode fs.FileMode) error {
	return t.intercept("chmod", name, "", func() error { return t.FileSystem.Chmod(name, mode) })
}

// Stat calls Stat of the file system between Before and After.
func (t Tap) Stat(name string) (info fs.FileInfo, err error) {
	err = t.intercept("stat", name, "", func() error {
		info, err = t.FileSystem.Stat(name)
		return err
	})
	return info, err
}

// Lstat calls Lstat of the file system between Before and After.
func (t Tap) Lstat(name string) (info fs.FileInfo, err error) {
	err = t.intercept("lstat", name, "", func() error {
		info, err = t.FileSystem.Lstat(name)
		return err
	})
	return info, err
}

// Rename calls Rename of the file system between Before and After.
func (t Tap) Rename(from, to string) error {
	return t.intercept("rename", from, to, func() error { return t.FileSystem.Rename(from, to) })
}

// Link calls Link of the file system between Before and After.
func (t Tap) Link(from, to string) error {
	return t.intercept("link", from, to, func() error { return t.FileSystem.Link(from, to) })
}

// Remove calls Remove of the file system between Before and After.
func (t Tap) Remove(name string) error {
	return t.intercept("remove", name, "", func() error { return t.FileSystem.Remove(name) })
}

// RemoveAll calls RemoveAll of the file system between Before and After.
func (t Tap) RemoveAll(name string) error {
	return t.intercept("remove all", name, "", func() error { return t.FileSystem.RemoveAll(name) })
}

// tapFile is an open file of a Tap. Its Sync does not sync anything.
type tapFile struct {
	sink.FileHandle

	of   Tap
	name string
}

func (f tapFile) Read(p []byte) (n int, err error) {
	if err := f.of.Before("read", f.name); err != nil {
		return 0, err
	}
	return f.FileHandle.Read(p)
}

func (f tapFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.of.Before("read", f.name); err != nil {
		return 0, err
	}
	return f.FileHandle.ReadAt(p, offset)
}

func (f tapFile) Write(p []byte) (int, error) {
	if err := f.of.Before("write", f.name); err != nil {
		n, _ := f.FileHandle.Write(p[:len(p)/2])
		return n, err
	}
	n, err := f.FileHandle.Write(p)
	if f.of.After != nil {
		f.of.After("write", f.name, "", p[:n])
	}
	return n, err
}

func (f tapFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if err := f.of.Before("read folder", f.name); err != nil {
		return nil, err
	}
	return f.FileHandle.ReadDir(n)
}

func (f tapFile) Sync() error {
	return f.of.intercept("sync", f.name, "", func() error { return nil })
}

// Close closes the file even if Before fails, as the operating system does.
func (f tapFile) Close() error {
	failed := f.of.Before("close", f.name)
	if err := f.FileHandle.Close(); err != nil {
		return err
	}
	return failed
}

// Mounted is a FileSystem on which paths with the prefix Below are on another device, so files cannot be moved or
// linked to these paths.
type Mounted struct {
	sink.FileSystem

	Below string
}

// Rename fails if the file would go to the other device.
func (m Mounted) Rename(from, to string) error { return m.move(from, to, m.FileSystem.Rename) }

// Link fails if the file would go to the other device.
func (m Mounted) Link(from, to string) error { return m.move(from, to, m.FileSystem.Link) }

func (m Mounted) move(from, to string, system func(from, to string) error) error {
	if strings.HasPrefix(to, m.Below) {
		return &os.LinkError{Op: "move", Old: from, New: to, Err: syscall.EXDEV}
	}
	return system(from, to)
}
