package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// DirOptions are the options of a Dir.
type DirOptions struct {
	// GroupReadable is true if files are created with mode 0640 and folders with mode 0750, instead of 0600 and 0700. It
	// is ignored if the destination was created without group access, so that all files and folders of a destination have
	// the same modes.
	GroupReadable bool
	// Log receives warnings, for example while the Dir waits for a lock. If Log is nil, warnings are discarded.
	Log *slog.Logger
	// Command is the name of the running command. Lock files contain it, so that other processes can name the holder.
	Command string
	// WrapFileSystem lets tests observe the calls of a Dir and make them fail.
	WrapFileSystem func(FileSystem) FileSystem
}

// Dir is a Store on a file system. Staged files have random names in _staging/<owner>/, and committing a staged file
// renames it to its path. List never descends into _staging. A Dir does not follow symbolic links out of the root.
//
// The root and its folders are created when something is written. Their modes depend on the options but not on the
// umask. Existing folders keep their modes.
type Dir struct {
	name       string // as given, for messages
	path       string // absolute
	fileMode   fs.FileMode
	folderMode fs.FileMode
	log        *slog.Logger
	command    string
	wrap       func(FileSystem) FileSystem

	// writing is held during a locked write, so that the goroutines of this process do not have to poll for the lock that
	// excludes other processes.
	writing chan struct{}
	// syncing is held while folders are synced: a goroutine must not return while another goroutine is still syncing its
	// folder.
	syncing chan struct{}

	mu   sync.Mutex
	root FileSystem // nil until the folder exists and has been opened
	// made lists the folders that this Dir has created, of the root and the folders above it, the outermost first.
	made []string
	// unsynced are the folders whose entries have changed since they were last synced.
	unsynced map[string]struct{}
	// intact are the paths of staged files that this Dir has written or verified.
	intact map[string]struct{}
}

var (
	_ Store        = (*Dir)(nil)
	_ StagedReader = (*Dir)(nil)
)

// NewDir returns a store whose root is the folder at a path. It does not access the file system.
func NewDir(name string, opts DirOptions) (*Dir, error) {
	if name == "" {
		return nil, errors.New("the destination path is empty")
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("resolve destination %s: %w", name, err)
	}
	d := &Dir{
		name: name, path: absolute, fileMode: 0o600, folderMode: 0o700,
		log: opts.Log, command: opts.Command, wrap: opts.WrapFileSystem,
		writing: make(chan struct{}, 1), syncing: make(chan struct{}, 1),
		unsynced: make(map[string]struct{}), intact: make(map[string]struct{}),
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

// Info returns the folder, which is also the URL for readers.
func (d *Dir) Info() Info {
	url := strings.TrimSuffix(filepath.ToSlash(d.path), "/")
	return Info{URL: url, HadoopURL: url, Folder: d.path, Locks: true}
}

// ready returns an error if ctx is done or the path is not valid.
func ready(ctx context.Context, path string) error { return errors.Join(ctx.Err(), CheckPath(path)) }

// existing returns the root, or nil if its folder does not exist.
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
			return nil, fmt.Errorf("create destination %s: %w", d.name, err)
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
	if info, err := root.Stat(strings.TrimSuffix(ownersPrefix, "/")); err == nil && d.fileMode&0o040 != 0 && info.Mode().Perm()&0o050 != 0o050 {
		d.log.Warn("the destination stays private, because it was created without group access", "destination", d.name, "ignored", "group-readable")
		d.fileMode, d.folderMode = 0o600, 0o700
	}
	if d.wrap != nil {
		d.root = d.wrap(d.root)
	}
	return d.root, nil
}

// reopen makes the next use open the root again. The old root is closed when it is garbage collected.
func (d *Dir) reopen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root = nil
}

// makeRoot creates a folder and the missing folders above it, makes them durable, and returns the folders that it
// created, the outermost first.
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
		return made, nil // Another process has created it first.
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
	// A folder without read permission cannot be synced.
	if f, err := os.Open(above); err == nil {
		return made, errors.Join(flushFolder(f), f.Close())
	}
	return made, nil
}

// unmakeRoot removes the root and the folders above it that this Dir has created and that are empty, so that a run that
// fails before it writes anything leaves nothing behind.
func (d *Dir) unmakeRoot() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, folder := range slices.Backward(d.made) {
		if os.Remove(folder) != nil {
			return
		}
		d.made, d.root = d.made[:i], nil
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// failed adds the operation, the path and advice to an error. It keeps only the reason that the system gave, without
// the paths in the error; see cause.
func (d *Dir) failed(verb, name string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		remedy = ": free some space there"
	case errors.Is(err, fs.ErrPermission):
		remedy = ": give this user access, or run as the user that exports"
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // os.Root exports no such error.
		remedy = ": a symbolic link leads out of the destination: replace it with what it points to"
	}
	return fmt.Errorf("%s %s in %s: %w%s", verb, name, d.name, cause(err), remedy)
}

// cause removes paths, which may be temporary names, from an error of the file system.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// missing reports whether an error says that a path does not exist.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
