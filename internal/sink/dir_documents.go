package sink

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// documentsFolder is the folder in which documents are written before they are moved to their paths. Only the holder
	// of documentsLock writes there.
	documentsFolder = StagingPrefix + "~documents"
	documentsLock   = "documents"
	// documentsPatience is the maximum wait for documentsLock. The lock is held only for one small write, so a process
	// that holds it for longer has hung.
	documentsPatience = time.Minute
)

// Read returns a document and its version, which is the hash of its bytes.
func (d *Dir) Read(ctx context.Context, name string) ([]byte, string, error) {
	if err := ready(ctx, name); err != nil {
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
	if errors.Is(err, syscall.EISDIR) {
		err = fmt.Errorf("%w: it is a folder, so move it away", ErrDamaged)
	}
	if err != nil {
		return nil, "", d.failed("read", name, err)
	}
	return data, Hash(data), nil
}

// Write writes a temporary file, syncs it and renames it. Conditions are checked under a lock. If when.Absent is set
// and the file system supports hard links, the file is linked instead of renamed, so that only one of several writers
// can create the document even if locks do not exclude other processes.
func (d *Dir) Write(ctx context.Context, name string, data []byte, when Condition) (err error) {
	if err := ready(ctx, name); err != nil {
		return err
	}
	root, err := d.open(true)
	if err != nil {
		return err
	}
	// The document may state that files were committed, so these files must be durable first.
	if err := d.sync(root); err != nil {
		return err
	}
	folder := documentsFolder
	if when == (Condition{}) && isDetail(name) {
		folder = StagingPrefix + Owner(name) // Such a document is written often and needs no lock, because its temporary file is swept with the owner's files.
	} else {
		unlock, lockErr := d.lockDocuments(ctx, root)
		if lockErr != nil {
			return d.failed("write", name, lockErr)
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	if err := checkCondition(root, name, when); err != nil {
		return d.failed("write", name, err)
	}
	temporary, err := d.writeTemporary(root, folder, name, data)
	defer d.prune(root, folder)
	if err == nil {
		err = d.inFolder(root, path.Dir(name), func() error { return replace(root, temporary, name, when) })
	}
	if err != nil {
		return errors.Join(d.failed("write", name, err), removeIfThere(root, temporary))
	}
	d.changed(path.Dir(name))
	return d.sync(root)
}

// lockDocuments takes documentsLock, and removes the temporary files of a holder that was killed.
func (d *Dir) lockDocuments(ctx context.Context, root FileSystem) (func() error, error) {
	select {
	case d.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	unlock, err := d.waitForLock(ctx, root, documentsLock, Exclusive, documentsPatience)
	if err == nil {
		if err = root.RemoveAll(documentsFolder); err != nil {
			err = errors.Join(err, unlock())
		}
	}
	if err != nil {
		<-d.writing
		return nil, fmt.Errorf("lock %s: %w", lockPath(documentsLock), cause(err))
	}
	return func() error {
		defer func() { <-d.writing }()
		return unlock()
	}, nil
}

func checkCondition(root FileSystem, name string, when Condition) error {
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

// writeTemporary writes data to a file in folder that will be renamed to name.
func (d *Dir) writeTemporary(root FileSystem, folder, name string, data []byte) (temporary string, err error) {
	temporary = folder + "/" + rand.Text()
	return temporary, d.inFolder(root, folder, func() error {
		f, err := d.create(root, temporary, name)
		if err != nil {
			return err
		}
		if _, err = f.Write(data); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}

// replace moves the temporary file to name. It returns ErrConflict if when.Absent is set and name exists.
func replace(root FileSystem, temporary, name string, when Condition) error {
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
		return err // The folder was removed; inFolder creates it again.
	}
	// The file system does not support hard links. The lock still excludes other writers.
	if _, err := root.Lstat(name); err == nil {
		return ErrConflict
	}
	return root.Rename(temporary, name)
}

// Remove removes a file and the folders that become empty. Other processes may conclude from a missing document that
// files were committed or removed, and may then remove further files. The removal of a document therefore becomes
// durable after every earlier change and before every later change, except for details; see isDetail.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := ready(ctx, name); err != nil {
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

// dirObject is an Object of a Dir.
type dirObject struct {
	FileHandle

	size int64
}

// Size returns the size of the file when it was opened.
func (o dirObject) Size() int64 { return o.size }

// Open opens a visible file.
func (d *Dir) Open(ctx context.Context, name string) (Object, error) {
	if err := ready(ctx, name); err != nil {
		return nil, err
	}
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ErrNotFound)
	}
	return d.openFile(root, name)
}

// openFile opens a regular file. It returns ErrNotFound if the path does not exist.
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

// List walks all folders except _staging. It skips symbolic links and everything else that is neither a regular file
// nor a folder.
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
		if fs.ValidPath(folder) {
			d.walk(ctx, root, folder, prefix, yield)
		}
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
	// List has to yield complete paths in order, so a folder is sorted by its name with a slash.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case entry.IsDir():
			below := name + "/"
			leads := strings.HasPrefix(below, prefix) || strings.HasPrefix(prefix, below)
			if below == StagingPrefix || !leads {
				continue
			}
			if !d.walk(ctx, root, name, prefix, yield) {
				return false
			}
		case entry.Type().IsRegular() && strings.HasPrefix(name, prefix):
			info, err := entry.Info()
			if missing(err) {
				continue // The file was removed while the folder was listed.
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
