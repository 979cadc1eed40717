package sink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// checkName is the prefix of the names of files that checks create. The names have no extension, so readers of
// *.parquet skip the files.
const checkName = ".growth-export-check-"

// Check creates and removes a file in the root, or in the nearest existing folder above it. It also removes the check
// files, lock files and temporary documents that killed processes left behind.
func (d *Dir) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for folder := d.path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		switch {
		case err == nil && info.IsDir():
			if root, err := d.existing(); root != nil && err == nil {
				d.sweepKilled(root)
			}
			return d.checkFolder(folder)
		case err == nil:
			return fmt.Errorf("destination %s: %s is a file, not a folder", d.name, folder)
		case !missing(err):
			return fmt.Errorf("destination %s: %w", d.name, err)
		}
		if _, err := os.Lstat(folder); err == nil {
			return fmt.Errorf("destination %s: %s is a broken symbolic link", d.name, folder)
		}
		if folder == filepath.Dir(folder) {
			return fmt.Errorf("destination %s: there is no folder above it", d.name)
		}
	}
}

// CheckReading returns an error if the folder is missing, is a file or cannot be opened.
func (d *Dir) CheckReading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.Open(d.path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("folder %q: permission denied: give this user access, or run as the user that exports", d.name)
	case err != nil:
		return fmt.Errorf("folder %q does not exist: nothing has been exported there", d.name)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		return fmt.Errorf("%q is a file, not a folder", d.name)
	}
	return nil
}

func (d *Dir) checkFolder(folder string) error {
	if entries, err := os.ReadDir(folder); err == nil {
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), checkName) {
				_ = os.Remove(filepath.Join(folder, entry.Name())) // This fails if the file belongs to another user.
			}
		}
	}
	f, err := os.CreateTemp(folder, checkName)
	if err != nil {
		return fmt.Errorf("destination %s: cannot create files in %s: %w", d.name, folder, cause(err))
	}
	err = f.Close()
	if removed := os.Remove(f.Name()); !missing(removed) { // if the file is missing, Check in another process has removed it
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("destination %s: cannot remove files in %s: %w", d.name, folder, cause(err))
	}
	return nil
}

// CheckCommit checks that the root is still at its path. It also checks that an empty file can be moved from the
// staging folder to the folder of each path, or to the nearest existing folder above it.
func (d *Dir) CheckCommit(ctx context.Context, owner string, paths []string) error {
	root, err := d.open(true)
	if err != nil {
		return err
	}
	mine, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("write to %s: %w", d.name, cause(err))
	}
	if there, err := os.Stat(d.path); err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("write to %s: the folder was moved, removed or hidden by a mount while this command ran: "+
			"put it back, then run the command again", d.name)
	}
	folders := make(map[string]bool)
	for _, name := range paths {
		folder, err := nearestFolder(root, path.Dir(name))
		if err != nil {
			return fmt.Errorf("write to %s: %w", d.name, err)
		}
		folders[folder] = true
	}
	staging := stagingFolder(owner)
	defer d.prune(root, staging)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries, err := readFolder(root, folder); err == nil {
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), checkName) { // A process that was killed in CheckCommit left it.
					_ = root.Remove(path.Join(folder, entry.Name()))
				}
			}
		}
		if err := d.tryMove(root, staging, folder); err != nil {
			return fmt.Errorf("write to %s: %w", d.name, err)
		}
	}
	return nil
}

// nearestFolder returns the folder, or the nearest existing folder above it. It fails if part of the path exists but is
// not a folder.
func nearestFolder(root FileSystem, folder string) (string, error) {
	if folder == "." {
		return folder, nil
	}
	above, err := nearestFolder(root, path.Dir(folder))
	if err != nil || above != path.Dir(folder) {
		return above, err
	}
	entry, err := root.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return above, nil
	case err != nil:
		return "", fmt.Errorf("stat %s: %w", folder, cause(err))
	case entry.IsDir():
		return folder, nil
	case entry.Mode()&fs.ModeSymlink == 0:
		return "", fmt.Errorf("%s is a file where a folder belongs: move it away, then run the command again", folder)
	}
	if info, err := root.Stat(folder); err != nil || !info.IsDir() {
		return "", fmt.Errorf(
			"%s is a symbolic link that does not lead to a folder of the destination: put a folder in its place, then run the command again", folder)
	}
	return folder, nil
}

// tryMove creates an empty file in a staging folder, moves it to another folder and removes it.
func (d *Dir) tryMove(root FileSystem, staging, folder string) error {
	from, to := staging+"/"+rand.Text(), path.Join(folder, checkName+rand.Text())
	err := d.inFolder(root, staging, func() error {
		f, err := d.create(root, from, to)
		if err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		return fmt.Errorf("create a file in %s: %w", staging, errors.Join(cause(err), removeIfThere(root, from)))
	}
	err = root.Rename(from, to)
	if err == nil {
		d.changed(folder) // Otherwise the file could come back after a power loss.
		if err = removeIfThere(root, to); err != nil {
			return fmt.Errorf("remove %s: %w", to, cause(err))
		}
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		// Another process removed the empty folder or swept the owner's files. Nothing prevents a commit.
		return removeIfThere(root, from)
	}
	advice := "give this user write permission there, then run the command again"
	if errors.Is(err, syscall.EXDEV) {
		advice = "it is not on the same file system as " + path.Clean(StagingPrefix) +
			"; keep the whole destination on one file system, then run the command again"
	}
	return errors.Join(fmt.Errorf("cannot move files to %s: %w: %s", folder, cause(err), advice), removeIfThere(root, from))
}

// explainMove returns an error that explains why no file can be moved to folder, or err if nothing on the path to
// folder prevents it.
func explainMove(root FileSystem, folder string, err error) error {
	if _, obstacle := nearestFolder(root, folder); obstacle != nil {
		return obstacle
	}
	return err
}
