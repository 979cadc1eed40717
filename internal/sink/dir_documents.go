package sink

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"syscall"
)

// documentsFolder is where documents are written before their rename if they
// belong to no run, or under a condition; only whoever holds the lock of that
// name writes there.
const (
	documentsFolder = stagingPrefix + "~documents"
	documentsLock   = "documents"
)

// Read returns a document; its version is the hash of its bytes.
func (d *Dir) Read(ctx context.Context, name string) ([]byte, string, error) {
	if err := errors.Join(ctx.Err(), CheckPath(name)); err != nil {
		return nil, "", err
	}
	root, err := d.existing()
	if root == nil {
		return nil, "", cmp.Or(err, ErrNotFound)
	}
	data, err := readAll(root, name)
	if missing(err) {
		return nil, "", ErrNotFound
	}
	if err != nil {
		return nil, "", d.failed("read", name, err)
	}
	return data, Hash(data), nil
}

// Write writes a document beside the visible ones, syncs it and renames it.
// Conditions are judged under a lock; that there is no document is besides left
// to the file system, which on its own never lets two writers both be first.
func (d *Dir) Write(ctx context.Context, name string, data []byte, when Condition) (err error) {
	if err := errors.Join(ctx.Err(), CheckPath(name)); err != nil {
		return err
	}
	root, err := d.open(true)
	if err != nil {
		return err
	}
	// A document may say that files were published: let that be so first.
	if err := d.sync(root); err != nil {
		return err
	}
	folder, locked := documentStaging(name, when)
	if locked {
		unlock, lockErr := d.lockDocuments(ctx, root)
		if lockErr != nil {
			return d.failed("write", name, lockErr)
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	if err := d.holdsCondition(root, name, when); err != nil {
		return d.failed("write", name, err)
	}
	temporary := folder + "/" + randomName()
	defer d.prune(root, folder)
	err = d.inFolder(root, folder, func() error { return d.writeFile(root, temporary, name, data) })
	if err != nil {
		return errors.Join(d.failed("write", name, err), removeIfThere(root, temporary))
	}
	err = d.inFolder(root, path.Dir(name), func() error { return d.replace(root, temporary, name, when) })
	if err != nil {
		return errors.Join(d.failed("write", name, err), removeIfThere(root, temporary))
	}
	d.changed(path.Dir(name))
	return d.sync(root)
}

// documentStaging returns the staging folder in which a document is written.
// The next holder of the lock clears away what a killed one left; what is
// written without it lies in the folder of its run, to be swept with that.
func documentStaging(name string, when Condition) (folder string, locked bool) {
	if owner := Owner(name); when == (Condition{}) && owner != "" {
		return stagingPrefix + owner, false
	}
	return documentsFolder, true
}

func (d *Dir) holdsCondition(root FileSystem, name string, when Condition) error {
	switch {
	case when.Absent:
		if _, err := root.Lstat(name); err == nil {
			return ErrConflict
		}
	case when.Version != "":
		data, err := readAll(root, name)
		if missing(err) || (err == nil && Hash(data) != when.Version) {
			return ErrConflict
		}
		return err
	}
	return nil
}

func (d *Dir) writeFile(root FileSystem, temporary, name string, data []byte) error {
	f, err := d.create(root, temporary, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replace moves the temporary file to its name.
func (d *Dir) replace(root FileSystem, temporary, name string, when Condition) error {
	if !when.Absent {
		return root.Rename(temporary, name)
	}
	err := root.Link(temporary, name)
	switch {
	case err == nil:
		return root.Remove(temporary)
	case errors.Is(err, fs.ErrExist):
		return ErrConflict
	case errors.Is(err, fs.ErrNotExist):
		return err // the folder was removed: once more
	}
	// There are file systems without links: the lock has to do.
	if _, err := root.Lstat(name); err == nil {
		return ErrConflict
	}
	return root.Rename(temporary, name)
}

func removeIfThere(root FileSystem, name string) error {
	if err := root.Remove(name); err != nil && !missing(err) {
		return err
	}
	return nil
}

// dirObject is an Object of a Dir.
type dirObject struct {
	FileHandle

	size int64
}

func (o dirObject) Size() int64 { return o.size }

// Open opens a visible file.
func (d *Dir) Open(ctx context.Context, name string) (Object, error) {
	if err := errors.Join(ctx.Err(), CheckPath(name)); err != nil {
		return nil, err
	}
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ErrNotFound)
	}
	return d.openFile(root, name)
}

// openFile opens a regular file, or fails with ErrNotFound.
func (d *Dir) openFile(root FileSystem, name string) (Object, error) {
	f, err := openToRead(root, name)
	if missing(err) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, d.failed("open", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err != nil {
		return nil, errors.Join(d.failed("open", name, err), f.Close())
	}
	return dirObject{FileHandle: f, size: info.Size()}, nil
}

// List walks the folders, without _staging and without what is neither file nor
// folder, such as links.
func (d *Dir) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		root, err := d.existing()
		if err != nil {
			yield(Entry{}, err)
		}
		if root == nil {
			return
		}
		folder := path.Dir(prefix)
		if strings.HasSuffix(prefix, "/") {
			folder = path.Clean(prefix)
		}
		if !fs.ValidPath(folder) {
			return
		}
		d.walk(ctx, root, folder, prefix, yield)
	}
}

func (d *Dir) walk(ctx context.Context, root FileSystem, folder, prefix string, yield func(Entry, error) bool) bool {
	if err := ctx.Err(); err != nil {
		return yield(Entry{}, err)
	}
	entries, err := readFolder(root, folder)
	if err != nil {
		return yield(Entry{}, d.failed("list", folder, err))
	}
	// Whole paths in order: what is in a folder sorts by the folder's name and
	// a slash.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case entry.IsDir():
			below := name + "/"
			leads := strings.HasPrefix(below, prefix) || strings.HasPrefix(prefix, below)
			if below == stagingPrefix || !leads {
				continue
			}
			if !d.walk(ctx, root, name, prefix, yield) {
				return false
			}
		case entry.Type().IsRegular() && strings.HasPrefix(name, prefix):
			info, err := entry.Info()
			if missing(err) {
				continue // removed meanwhile
			}
			if err != nil {
				return yield(Entry{}, d.failed("list", name, err))
			}
			if !yield(Entry{Path: name, Bytes: info.Size(), Modified: info.ModTime()}, nil) {
				return false
			}
		}
	}
	return true
}

func sortName(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

// readAll returns what a file holds.
func readAll(root FileSystem, name string) ([]byte, error) {
	f, err := openToRead(root, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// readFolder returns the entries of a folder, none if it is missing.
func readFolder(root FileSystem, folder string) ([]fs.DirEntry, error) {
	f, err := openToRead(root, folder)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if errors.Is(err, syscall.ENOTDIR) {
		err = nil
	}
	return entries, errors.Join(err, f.Close())
}

// Remove removes a file and the folders that it leaves empty. A missing document
// may mean that files were published or removed, and files may be removed
// because it is missing. So its removal is durable after every earlier change
// and before every later one. Journals are many and mean no such thing, so
// theirs is not.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := errors.Join(ctx.Err(), CheckPath(name)); err != nil {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return err
	}
	document := strings.HasPrefix(name, "_") && !isDetail(name)
	if document {
		if err := d.sync(root); err != nil {
			return err
		}
	}
	if err := removeIfThere(root, name); err != nil {
		return d.failed("remove", name, err)
	}
	d.changed(path.Dir(name))
	d.prune(root, path.Dir(name))
	if document {
		return d.sync(root)
	}
	return nil
}
