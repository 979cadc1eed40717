package sink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// DirOptions are the options of a Dir.
type DirOptions struct {
	// GroupReadable makes files 0640 and folders 0750 instead of 0600 and 0700.
	GroupReadable bool
	// Log gets a warning when a lock is waited for; nil discards it.
	Log *slog.Logger
	// Command is the name of the running command, written to a lock's file for
	// other processes.
	Command string
	// WrapFileSystem lets tests observe and fail the calls of a Dir.
	WrapFileSystem func(FileSystem) FileSystem
}

// Dir is a Store on a file system. Staged files are in _staging/<run>/ under
// random names and become visible by a rename; nothing under _staging is ever
// listed. Symbolic links below the root that lead out of it are refused.
//
// The root and every folder are made when something is written, with the modes
// of the options whatever the umask says; a folder that was there keeps its own.
type Dir struct {
	name       string // as given, for messages
	path       string // absolute
	fileMode   fs.FileMode
	folderMode fs.FileMode
	log        *slog.Logger
	command    string
	wrap       func(FileSystem) FileSystem

	// writing admits one conditional write of this process at a time, so that
	// its goroutines need not poll for the lock of other processes.
	writing chan struct{}
	// syncing admits one goroutine that syncs folders at a time: one whose folder
	// another is syncing must not return before that is done.
	syncing chan struct{}

	mu   sync.Mutex
	root FileSystem // nil until the folder exists
	// made are the root and the folders above it that this Dir has made, the
	// outermost first.
	made []string
	// unsynced are the folders whose entries changed since they were synced.
	unsynced map[string]struct{}
	// intact are the staged files that this process has hashed.
	intact map[string]struct{}
}

var (
	_ Store        = (*Dir)(nil)
	_ StagedReader = (*Dir)(nil)
)

// NewDir returns the store at a path of the file system. It touches nothing.
func NewDir(name string, opts DirOptions) (*Dir, error) {
	if name == "" {
		return nil, errors.New("the destination has no path")
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("resolve destination %s: %w", name, err)
	}
	d := &Dir{
		name: name, path: absolute, fileMode: 0o600, folderMode: 0o700,
		log: opts.Log, command: opts.Command, wrap: opts.WrapFileSystem,
		writing: make(chan struct{}, 1), syncing: make(chan struct{}, 1), unsynced: make(map[string]struct{}),
		intact: make(map[string]struct{}),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if opts.GroupReadable {
		d.fileMode, d.folderMode = 0o640, 0o750
	}
	return d, nil
}

// String returns the path as it was given.
func (d *Dir) String() string { return d.name }

// checkName is what the names of Check's files start with.
const checkName = ".growth-export-check-"

// Check proves that files can be made at the root, or, where there is none, in
// the nearest folder above it, by making one and removing it. What an earlier
// one left there that was killed is removed too.
func (d *Dir) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	folder := d.path
	for {
		info, err := os.Stat(folder)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("destination %s: %s is a file, not a folder", d.name, folder)
		case err == nil:
			return d.probe(folder)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			if _, err := os.Lstat(folder); err == nil {
				return fmt.Errorf("destination %s: %s is a symbolic link to nothing", d.name, folder)
			}
		default:
			return fmt.Errorf("destination %s: %w", d.name, err)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return fmt.Errorf("destination %s: there is no folder above it", d.name)
		}
		folder = above
	}
}

func (d *Dir) probe(folder string) error {
	if entries, err := os.ReadDir(folder); err == nil {
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), checkName) {
				_ = os.Remove(filepath.Join(folder, entry.Name())) // It may be another user's.
			}
		}
	}
	f, err := os.CreateTemp(folder, checkName)
	if err != nil {
		return fmt.Errorf("destination %s: cannot make files in %s: %w", d.name, folder, cause(err))
	}
	err = f.Close()
	if removed := os.Remove(f.Name()); !missing(removed) { // else another process's Check was quicker
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("destination %s: cannot remove files in %s: %w", d.name, folder, cause(err))
	}
	return nil
}

// existing returns the root, nil where there is no folder yet.
func (d *Dir) existing() (FileSystem, error) {
	root, err := d.open(false)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return root, err
}

func (d *Dir) open(create bool) (FileSystem, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil {
		return d.root, nil
	}
	if create {
		made, err := d.makeRoot(d.path)
		d.made = append(d.made, made...)
		if err != nil {
			return nil, fmt.Errorf("make destination %s: %w", d.name, err)
		}
	}
	root, err := os.OpenRoot(d.path)
	switch {
	case missing(err):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("open destination %s: %w", d.name, cause(err))
	}
	d.root = systemRoot{root}
	if d.wrap != nil {
		d.root = d.wrap(d.root)
	}
	return d.root, nil
}

// makeRoot makes the root and the folders above it that are missing, durably,
// and returns them, the outermost first.
func (d *Dir) makeRoot(folder string) (made []string, err error) {
	if isFolder(folder) {
		return nil, nil
	}
	above := filepath.Dir(folder)
	if above != folder {
		if made, err = d.makeRoot(above); err != nil {
			return made, err
		}
	}
	switch err := os.Mkdir(folder, d.folderMode); {
	case errors.Is(err, fs.ErrExist) && isFolder(folder):
		return made, nil // another process was faster
	case errors.Is(err, fs.ErrExist):
		return made, fmt.Errorf("%s is not a folder", folder)
	case err != nil:
		return made, err
	}
	made = append(made, folder)
	info, err := os.Stat(folder)
	if err == nil && info.Mode().Perm()&d.folderMode != d.folderMode {
		err = os.Chmod(folder, d.folderMode|info.Mode()&fs.ModeSetgid)
	}
	if err != nil {
		return made, err
	}
	// A folder that may be entered and not read cannot be synced.
	if f, err := os.Open(above); err == nil {
		return made, errors.Join(flushFolder(f), f.Close())
	}
	return made, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// unmake removes the root, if this Dir has made it and it is empty: a run that
// failed before it wrote anything leaves nothing.
func (d *Dir) unmake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, folder := range slices.Backward(d.made) {
		if os.Remove(folder) != nil {
			return
		}
		d.made, d.root = d.made[:i], nil
	}
}

// reopen lets the next use open the root anew. The root is closed when nobody
// uses it any more.
func (d *Dir) reopen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root = nil
}

// inFolder makes the folder and then does what needs it. Somebody may remove
// the empty folder in between, so both are tried again.
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
		// A group that the folder above hands down stays handed down.
		err = root.Chmod(folder, mode|info.Mode()&fs.ModeSetgid)
	}
	return err
}

// create makes a new file that will be at target later, with its final mode:
// the options' mode, readable also for anyone who may read the file that it
// replaces or the folder it will be in.
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

// inherited returns who else may read the folder nearest above name, as bits of
// a folder's mode. The root does not count, since its owner may have made it
// with any mode: below it _runs, which a run makes first, speaks for it. So a
// destination that was made with GroupReadable stays readable for the group.
func inherited(root FileSystem, name string) fs.FileMode {
	folder := path.Dir(name)
	for ; folder != "."; folder = path.Dir(folder) {
		if info, err := root.Stat(folder); err == nil {
			return info.Mode().Perm() & 0o055
		}
	}
	if info, err := root.Stat(path.Clean(ownersPrefix)); err == nil {
		return info.Mode().Perm() & 0o055
	}
	return 0
}

// setMode gives back what the umask took from a new file's mode. Where a file
// system has no modes of its own and shows more, there is nothing to do.
func setMode(f FileHandle, mode fs.FileMode) error {
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&mode != mode {
		err = f.Chmod(mode)
	}
	return err
}

// prune removes the folder and those above it as far as they are empty.
func (d *Dir) prune(root FileSystem, folder string) {
	for folder != "." && root.Remove(folder) == nil {
		folder = path.Dir(folder)
	}
}

// changed records that a folder has to be synced, and the folders above it,
// which may have been made by a process that was killed before it could sync
// them.
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
	// A folder is synced before its subfolders: what is durable in a folder that
	// is not itself durable is lost, along with files that were moved there.
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		f, err := openToRead(root, folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was emptied and removed
		}
		if err == nil {
			err = errors.Join(flushFolder(f), f.Close())
		}
		if err != nil {
			d.mu.Lock()
			for folder := range folders {
				d.unsynced[folder] = struct{}{}
			}
			d.mu.Unlock()
			return d.failed("sync folder", folder, err)
		}
	}
	return nil
}

// flushFolder makes the entries of a folder durable, where the system has a way
// to: not every file system syncs folders, and Windows opens none for it.
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

// failed says what could not be done to which path, with the system's reason.
func (d *Dir) failed(verb, name string, err error) error {
	return fmt.Errorf("%s %s in %s: %w", verb, name, d.name, cause(err))
}

// cause takes the system's paths, which may be temporary names, from an error.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// missing tells whether an error says that there is nothing at a path.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// randomName returns a name that no other file has.
func randomName() string { return rand.Text() }
