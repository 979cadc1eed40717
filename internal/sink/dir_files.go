package sink

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// stagedName is what a Dir's Draft leaves in the journal: the random name of
// the file in the run's staging folder.
type stagedName struct {
	Name string `json:"name"`
}

func stagingFolder(run string) string { return stagingPrefix + Escape(run) }

// dirDraft is a Draft of a Dir: a file under a random name in the run's staging
// folder, which only a journal's entry makes more than a leftover.
type dirDraft struct {
	DraftFile

	dir    *Dir
	root   FileSystem
	file   FileHandle
	folder string
	name   string
}

// Draft starts a file.
func (d *Dir) Draft(ctx context.Context, run, name string) (Draft, error) {
	if err := errors.Join(ctx.Err(), CheckPath(name)); err != nil {
		return nil, err
	}
	root, err := d.open(true)
	if err != nil {
		return nil, err
	}
	draft := &dirDraft{dir: d, root: root, folder: stagingFolder(run), name: randomName()}
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
		if err := f.File.Close(); err != nil {
			return nil, f.Failed(err)
		}
		f.dir.trust(f.folder + "/" + f.name)
		return token, nil
	})
}

func (f *dirDraft) Abort() error {
	return f.AbortOnce(func() error {
		err := errors.Join(f.File.Close(), removeIfThere(f.root, f.folder+"/"+f.name))
		f.dir.prune(f.root, f.folder)
		if err != nil {
			return f.dir.failed("abort", f.Path, err)
		}
		return nil
	})
}

// staged returns the path of a staged file, empty if the file names none.
func staged(run string, file File) (string, error) {
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
	return stagingFolder(run) + "/" + token.Name, nil
}

// has tells whether there is a regular file of that size.
func (d *Dir) has(root FileSystem, name string, size int64) (bool, error) {
	info, err := root.Lstat(name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, d.failed("look at", name, err)
	}
	return info.Mode().IsRegular() && info.Size() == size, nil
}

// Holds reports whether a staged file is there, staged or committed.
func (d *Dir) Holds(ctx context.Context, run string, file File) (bool, error) {
	_, name, _, err := d.locate(ctx, run, file)
	return name != "", err
}

// locate returns the path at which a staged file is, staged or committed, empty
// if it is at neither, and the path at which it was staged.
func (d *Dir) locate(ctx context.Context, run string, file File) (root FileSystem, name, from string, err error) {
	if err := errors.Join(ctx.Err(), CheckPath(file.Path)); err != nil {
		return nil, "", "", err
	}
	if root, err = d.existing(); root == nil {
		return nil, "", "", err
	}
	if from, err = staged(run, file); err != nil {
		return nil, "", "", err
	}
	for _, name := range []string{from, file.Path} {
		if name == "" {
			continue
		}
		there, err := d.has(root, name, file.Bytes)
		if err != nil {
			return nil, "", "", err
		}
		if there {
			return root, name, from, nil
		}
	}
	return root, "", from, nil
}

// Commit renames a staged file to its path.
func (d *Dir) Commit(ctx context.Context, run string, file File) error {
	if err := errors.Join(ctx.Err(), CheckPath(file.Path)); err != nil {
		return err
	}
	from, err := staged(run, file)
	if err != nil {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return cmp.Or(err, d.failed("publish", file.Path, ErrStagedLost))
	}
	there := false
	if from != "" {
		if there, err = d.has(root, from, file.Bytes); err != nil {
			return err
		}
	}
	folder := path.Dir(file.Path)
	if there {
		if sound, err := d.unchanged(ctx, root, from, from, file); err != nil {
			return err
		} else if !sound {
			return d.failed("publish", file.Path, ErrStagedLost)
		}
		err = d.inFolder(root, folder, func() error {
			err := root.Rename(from, file.Path)
			if err != nil {
				// Somebody else who finishes the same run may have been faster.
				if done, _ := d.has(root, file.Path, file.Bytes); done {
					return nil
				}
			}
			return err
		})
		if err != nil {
			err = inTheWay(root, folder, err)
		}
		if missing(err) {
			err = ErrStagedLost
		}
	} else if there, err = d.has(root, file.Path, file.Bytes); err == nil {
		if there {
			there, err = d.unchanged(ctx, root, file.Path, from, file)
		}
		if !there && err == nil {
			err = ErrStagedLost
		}
	}
	if err != nil {
		return d.failed("publish", file.Path, err)
	}
	// Noted also where the rename was done before: by a process, perhaps, that
	// was killed before it could make it durable.
	d.changed(folder)
	return nil
}

// OpenStaged opens a staged file, or the committed one.
func (d *Dir) OpenStaged(ctx context.Context, run string, file File) (Object, error) {
	if err := errors.Join(ctx.Err(), CheckPath(file.Path)); err != nil {
		return nil, err
	}
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ErrStagedLost)
	}
	from, err := staged(run, file)
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

// Abort removes a staged file.
func (d *Dir) Abort(ctx context.Context, run string, file File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := staged(run, file)
	if err != nil || from == "" {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return err
	}
	if err := root.Remove(from); err != nil && !missing(err) {
		return d.failed("abort", file.Path, err)
	}
	d.changed(stagingFolder(run))
	d.prune(root, stagingFolder(run))
	return nil
}

// Sweep removes the staging folder of the run, and the files of locks whose
// holders were killed.
func (d *Dir) Sweep(ctx context.Context, run string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.existing()
	if root == nil {
		return err
	}
	if err := root.RemoveAll(stagingFolder(run)); err != nil {
		return d.failed("remove", stagingFolder(run), err)
	}
	d.changed(path.Clean(stagingPrefix))
	d.sweepLocks(root)
	d.prune(root, path.Clean(stagingPrefix))
	return nil
}

// ListsStaged reports that Sweep and Staged see every staged file.
func (d *Dir) ListsStaged(ctx context.Context) (bool, error) { return true, ctx.Err() }

// Staged reads the times of the files in the staging folders.
func (d *Dir) Staged(ctx context.Context) (map[string]time.Time, error) {
	root, err := d.existing()
	if root == nil {
		return nil, cmp.Or(err, ctx.Err())
	}
	folders, err := readFolder(root, path.Clean(stagingPrefix))
	if err != nil {
		return nil, d.failed("list", stagingPrefix, err)
	}
	staged := make(map[string]time.Time)
	for _, folder := range folders {
		run := folder.Name()
		if !folder.IsDir() || stagingPrefix+run == locksFolder || stagingPrefix+run == documentsFolder {
			continue
		}
		entries, err := readFolder(root, stagingPrefix+run)
		if err != nil {
			return nil, d.failed("list", stagingPrefix+run, err)
		}
		staged[run] = time.Time{}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.ModTime().After(staged[run]) {
				staged[run] = info.ModTime()
			}
		}
	}
	return staged, ctx.Err()
}
