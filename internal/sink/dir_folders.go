package sink

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"syscall"
)

// stagingFolder returns the folder of the owner's staged files.
func stagingFolder(owner string) string { return StagingPrefix + Escape(owner) }

// inFolder creates the folder if it is missing, and calls do. It starts over if another process removes the empty
// folder in between.
func (d *Dir) inFolder(root FileSystem, folder string, do func() error) error {
	var err error
	for range 100 {
		if err = d.makeFolder(root, folder); err == nil {
			err = do()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func (d *Dir) makeFolder(root FileSystem, folder string) error {
	if folder == "." {
		return nil
	}
	mode := d.folderMode | inherited(root, folder)
	err := root.Mkdir(folder, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeFolder(root, path.Dir(folder)); err != nil {
			return err
		}
		err = root.Mkdir(folder, mode)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	d.changed(path.Dir(folder))
	info, err := root.Stat(folder)
	if err == nil && info.Mode().Perm()&mode != mode {
		err = root.Chmod(folder, mode|info.Mode()&fs.ModeSetgid)
	}
	return err
}

// create creates a file that will be renamed to target. The file gets its final mode: the mode of the options, plus the
// permissions of the file at target or, if there is no such file, the read permissions inherited from a folder.
func (d *Dir) create(root FileSystem, name, target string) (FileHandle, error) {
	mode := d.fileMode
	if info, err := root.Lstat(target); err == nil && info.Mode().IsRegular() {
		mode |= info.Mode().Perm()
	} else {
		mode |= inherited(root, target) & 0o044
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := setMode(f, mode); err != nil {
		return nil, errors.Join(err, f.Close(), root.Remove(name))
	}
	return f, nil
}

// inherited returns the read permissions of group and others on the nearest folder above name, as bits of a folder's
// mode, so that a destination created with GroupReadable stays readable by the group. The user may have created the
// root with any mode. For the root, the result is therefore taken from _runs, which is created first.
func inherited(root FileSystem, name string) fs.FileMode {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := root.Stat(folder); err == nil {
			return info.Mode().Perm() & 0o055
		}
	}
	if info, err := root.Stat(path.Clean(ownersPrefix)); err == nil {
		return info.Mode().Perm() & 0o055
	}
	return 0
}

// setMode restores permissions that the umask has removed. It ignores additional permissions, which file systems
// without modes may report.
func setMode(f FileHandle, mode fs.FileMode) error {
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&mode != mode {
		err = f.Chmod(mode)
	}
	return err
}

// prune removes the folder and the folders above it as long as they are empty. It stops at a link to a folder, because
// Remove would remove the link even if the folder is not empty.
func (d *Dir) prune(root FileSystem, folder string) {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := root.Lstat(folder)
		if err != nil || !info.IsDir() || root.Remove(folder) != nil {
			return
		}
	}
}

func removeIfThere(root FileSystem, name string) error {
	if err := root.Remove(name); err != nil && !missing(err) {
		return err
	}
	return nil
}

// readFolder returns the entries of a folder. A missing folder has no entries.
func readFolder(root FileSystem, folder string) ([]fs.DirEntry, error) {
	f, err := openToRead(root, folder)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if missing(err) { // The path is not a folder, or the folder was removed after it was opened.
		entries, err = nil, nil
	}
	return entries, errors.Join(err, f.Close())
}

// readAll returns the content of a file.
func readAll(root FileSystem, name string) ([]byte, error) {
	f, err := openToRead(root, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// changed marks a folder and the folders above it to be synced. A killed process may have created the folders above
// without syncing them.
func (d *Dir) changed(folder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; folder != "."; folder = path.Dir(folder) {
		d.unsynced[folder] = struct{}{}
	}
	d.unsynced["."] = struct{}{}
}

// sync makes the entries of all folders that changed before the call durable.
func (d *Dir) sync(root FileSystem) error {
	d.syncing <- struct{}{}
	defer func() { <-d.syncing }()
	d.mu.Lock()
	folders := d.unsynced
	d.unsynced = make(map[string]struct{})
	d.mu.Unlock()
	// A folder is synced before its subfolders, because after a power loss a synced subfolder would be lost with its files
	// if its entry in the parent folder were not durable.
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		f, err := openToRead(root, folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // The folder was removed because it was empty.
		}
		if err == nil {
			err = errors.Join(flushFolder(f), f.Close())
		}
		if err != nil {
			d.mu.Lock()
			maps.Copy(d.unsynced, folders)
			d.mu.Unlock()
			return d.failed("sync folder", folder, err)
		}
	}
	return nil
}

// flushFolder syncs a folder if the system supports this. Some file systems do not, and on Windows folders cannot be
// opened for syncing.
func flushFolder(f FileHandle) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
