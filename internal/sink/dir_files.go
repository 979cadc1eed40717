package sink

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// stagedName is the File.Staged of a Dir: the random name of the file in the owner's staging folder.
type stagedName struct {
	Name string `json:"name"`
}

// stagedPath returns the path of a staged file, or "" if file.Staged is nil. It returns ErrDamaged if file.Staged is
// not valid.
func stagedPath(owner string, file File) (string, error) {
	if file.Staged == nil {
		return "", nil
	}
	var token stagedName
	if err := json.Unmarshal(file.Staged, &token); err != nil {
		return "", fmt.Errorf("read the staged name of %s: %w: %w", file.Path, ErrDamaged, err)
	}
	if token.Name == "" || token.Name != path.Base(token.Name) || !fs.ValidPath(token.Name) {
		return "", fmt.Errorf("read the staged name of %s: %w", file.Path, ErrDamaged)
	}
	return stagingFolder(owner) + "/" + token.Name, nil
}

// dirDraft is a Draft of a Dir: a file under a random name in the owner's staging folder.
type dirDraft struct {
	DraftFile

	dir    *Dir
	root   FileSystem
	file   FileHandle
	folder string
	name   string
}

// Draft starts a file in the owner's staging folder.
func (d *Dir) Draft(ctx context.Context, owner, name string) (Draft, error) {
	if err := ready(ctx, name); err != nil {
		return nil, err
	}
	root, err := d.open(true)
	if err != nil {
		return nil, err
	}
	draft := &dirDraft{dir: d, root: root, folder: stagingFolder(owner), name: rand.Text()}
	draft.Path, draft.Failed = name, func(err error) error { return d.failed("stage", name, err) }
	err = d.inFolder(root, draft.folder, func() (err error) {
		draft.file, err = d.create(root, draft.folder+"/"+draft.name, name)
		return err
	})
	if err != nil {
		d.prune(root, draft.folder)
		return nil, draft.Failed(err)
	}
	draft.File = draft.file
	return draft, nil
}

// Stage makes the file and its folder durable, and returns File.Staged.
func (f *dirDraft) Stage(ctx context.Context) ([]byte, error) {
	return f.StageOnce(func(int64) ([]byte, error) {
		token, err := json.Marshal(stagedName{Name: f.name})
		if err != nil {
			return nil, fmt.Errorf("encode a staged name: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.file.Sync(); err != nil {
			return nil, f.Failed(err)
		}
		f.dir.changed(f.folder)
		if err := f.dir.sync(f.root); err != nil {
			return nil, err
		}
		if err := f.file.Close(); err != nil {
			return nil, f.Failed(err)
		}
		f.dir.markIntact(f.folder + "/" + f.name)
		return token, nil
	})
}

// Abort removes the file.
func (f *dirDraft) Abort() error {
	return f.AbortOnce(func() error {
		err := errors.Join(f.file.Close(), removeIfThere(f.root, f.folder+"/"+f.name))
		f.dir.prune(f.root, f.folder)
		if err != nil {
			return f.dir.failed("abort", f.Path, err)
		}
		return nil
	})
}

// fileCheck reports whether the file at name is the file that was staged at from.
type fileCheck func(ctx context.Context, root FileSystem, name, from string, file File) (bool, error)

// locate returns the path at which a file exists and passes the check, or "" if there is no such path, and from, the
// path at which the file was staged. Another process may commit the file at any moment, so its final path is checked
// last.
func (d *Dir) locate(
	ctx context.Context, owner string, file File, check fileCheck,
) (root FileSystem, name, from string, err error) {
	if err := ready(ctx, file.Path); err != nil {
		return nil, "", "", err
	}
	if from, err = stagedPath(owner, file); err != nil {
		return nil, "", "", err
	}
	if root, err = d.existing(); root == nil {
		return nil, "", "", err
	}
	for _, name := range []string{from, file.Path} {
		if name == "" {
			continue
		}
		if there, err := check(ctx, root, name, from, file); there || err != nil {
			return root, name, from, err
		}
	}
	return root, "", from, nil
}

// sameSize reports whether there is a regular file with the size of the staged file.
func (d *Dir) sameSize(_ context.Context, root FileSystem, name, _ string, file File) (bool, error) {
	info, err := root.Lstat(name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, d.failed("stat", name, err)
	}
	return info.Mode().IsRegular() && info.Size() == file.Bytes, nil
}

// sameBytes reports whether the file at name, which was staged at from, has the size and hash of the staged file. It
// does not read a file that this Dir has staged or verified before, or a file without a recorded hash.
func (d *Dir) sameBytes(ctx context.Context, root FileSystem, name, from string, file File) (bool, error) {
	if there, err := d.sameSize(ctx, root, name, from, file); !there || err != nil {
		return false, err
	}
	d.mu.Lock()
	_, intact := d.intact[from]
	d.mu.Unlock()
	if intact || file.SHA256 == "" {
		return true, nil
	}
	f, err := openToRead(root, name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, d.failed("open", name, err)
	}
	hash, err := HashFile(ctx, f, file.Bytes)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, d.failed("read", name, err)
	}
	if hash == file.SHA256 {
		d.markIntact(from)
	}
	return hash == file.SHA256, nil
}

// Holds reports whether a staged or committed file of the right size exists.
func (d *Dir) Holds(ctx context.Context, owner string, file File) (bool, error) {
	_, name, _, err := d.locate(ctx, owner, file, d.sameSize)
	return name != "", err
}

// Intact reports whether a staged or committed file of the right size and hash exists. It reads the file only if it has
// to; see sameBytes.
func (d *Dir) Intact(ctx context.Context, owner string, file File) (bool, error) {
	_, name, _, err := d.locate(ctx, owner, file, d.sameBytes)
	return name != "", err
}

// markIntact records that the file that was staged at from need not be read again.
func (d *Dir) markIntact(from string) {
	if from != "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.intact[from] = struct{}{}
	}
}

// OpenStaged opens a staged or committed file. It returns ErrStagedLost if neither exists.
func (d *Dir) OpenStaged(ctx context.Context, owner string, file File) (Object, error) {
	if err := ready(ctx, file.Path); err != nil {
		return nil, err
	}
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ErrStagedLost)
	}
	from, err := stagedPath(owner, file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{from, file.Path} {
		if name == "" {
			continue
		}
		object, err := d.openFile(root, name)
		if !errors.Is(err, ErrNotFound) {
			return object, err
		}
	}
	return nil, d.failed("open the staged file of", file.Path, ErrStagedLost)
}

// Commit renames a staged file to its path, unless that was already done. It returns ErrStagedLost if the file is
// missing or damaged at both paths.
func (d *Dir) Commit(ctx context.Context, owner string, file File) error {
	root, name, from, err := d.locate(ctx, owner, file, d.sameBytes)
	if err != nil {
		return err
	}
	if name == "" {
		return d.failed("publish", file.Path, ErrStagedLost)
	}
	folder := path.Dir(file.Path)
	if name == from {
		err = d.inFolder(root, folder, func() error {
			err := root.Rename(from, file.Path)
			if err != nil {
				// Another process may have committed the same file first.
				if done, _ := d.sameSize(ctx, root, file.Path, from, file); done {
					return nil
				}
			}
			return err
		})
		if err != nil {
			err = explainMove(root, folder, err)
			if missing(err) {
				err = ErrStagedLost
			}
			return d.failed("publish", file.Path, err)
		}
	}
	// The folder is synced even if the file was committed before, because the process that committed it may have been
	// killed before it synced the folder.
	d.changed(folder)
	return nil
}

// Abort removes a staged file.
func (d *Dir) Abort(ctx context.Context, owner string, file File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := stagedPath(owner, file)
	if err != nil || from == "" {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return err
	}
	if err := removeIfThere(root, from); err != nil {
		return d.failed("abort", file.Path, err)
	}
	d.changed(stagingFolder(owner))
	d.prune(root, stagingFolder(owner))
	return nil
}

// Sweep removes the staging folder of the owner, or everything in it except the files to keep. It also removes the lock
// files and temporary documents of killed processes.
func (d *Dir) Sweep(ctx context.Context, owner string, keep ...File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return err
	}
	if err := d.sweepStaging(root, owner, keep); err != nil {
		return d.failed("remove", stagingFolder(owner), err)
	}
	d.changed(path.Clean(StagingPrefix))
	d.sweepKilled(root)
	return nil
}

func (*Dir) sweepStaging(root FileSystem, owner string, keep []File) error {
	folder := stagingFolder(owner)
	if len(keep) == 0 {
		return root.RemoveAll(folder)
	}
	kept := make(map[string]bool)
	for _, file := range keep {
		if name, err := stagedPath(owner, file); err == nil { // Commit reports an error if the name is damaged
			kept[name] = true
		}
	}
	entries, err := readFolder(root, folder)
	for _, entry := range entries {
		if name := folder + "/" + entry.Name(); !kept[name] {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	return err
}

// ListsStaged returns true.
func (d *Dir) ListsStaged(ctx context.Context) (bool, error) { return true, ctx.Err() }

// Staged returns, for each owner, the time at which the newest file in the staging folder was written. The time is zero
// if the folder is empty.
func (d *Dir) Staged(ctx context.Context) (map[string]time.Time, error) {
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ctx.Err())
	}
	folders, err := readFolder(root, path.Clean(StagingPrefix))
	if err != nil {
		return nil, d.failed("list", StagingPrefix, err)
	}
	staged := make(map[string]time.Time)
	for _, folder := range folders {
		owner := folder.Name()
		if !folder.IsDir() || StagingPrefix+owner == locksFolder || StagingPrefix+owner == documentsFolder {
			continue
		}
		entries, err := readFolder(root, StagingPrefix+owner)
		if err != nil {
			return nil, d.failed("list", StagingPrefix+owner, err)
		}
		staged[owner] = time.Time{}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.ModTime().After(staged[owner]) {
				staged[owner] = info.ModTime()
			}
		}
	}
	return staged, ctx.Err()
}
