package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
)

// CheckCommit checks for each folder that files staged for these paths can be
// moved there, by moving an empty file into it, or into the nearest folder above
// it that exists. Readers do not see that file: its name has no ending.
func (d *Dir) CheckCommit(ctx context.Context, run string, paths []string) error {
	root, err := d.open(true)
	if err != nil {
		return err
	}
	folders := make(map[string]bool)
	for _, name := range paths {
		folder, err := nearestFolder(root, path.Dir(name))
		if err != nil {
			return fmt.Errorf("publish to %s: %w", d.name, err)
		}
		folders[folder] = true
	}
	staging := stagingFolder(run)
	defer d.prune(root, staging)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries, err := readFolder(root, folder); err == nil {
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), checkName) { // Left by a check that was killed.
					_ = root.Remove(path.Join(folder, entry.Name()))
				}
			}
		}
		if err := d.tryMove(root, staging, folder); err != nil {
			return fmt.Errorf("publish to %s: %w", d.name, err)
		}
	}
	return nil
}

// nearestFolder returns the folder, or the nearest above it if it is missing. It
// fails if there is something else in its place.
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
		return "", fmt.Errorf("look at %s: %w", folder, cause(err))
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

// tryMove moves an empty file from a staging folder to another folder.
func (d *Dir) tryMove(root FileSystem, staging, folder string) error {
	from, to := staging+"/"+randomName(), path.Join(folder, checkName+randomName())
	err := d.inFolder(root, staging, func() error {
		f, err := d.create(root, from, to)
		if err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		return fmt.Errorf("make a file in %s: %w", staging, errors.Join(cause(err), removeIfThere(root, from)))
	}
	err = root.Rename(from, to)
	if err == nil {
		d.changed(folder) // So that the file does not come back after a power loss.
		// Another publisher may have cleared it away.
		if err = removeIfThere(root, to); err != nil {
			return fmt.Errorf("remove %s: %w", to, cause(err))
		}
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		// Another process removed the empty folder or swept the run. Nothing is in
		// the way; Commit makes the folder again, or says what is gone.
		return removeIfThere(root, from)
	}
	advice := "give this user the right to write there, then run the command again"
	if errors.Is(err, syscall.EXDEV) {
		advice = "it is on another file system than " + path.Clean(stagingPrefix) +
			"; keep the whole destination on one file system, then run the command again"
	}
	return errors.Join(fmt.Errorf("cannot move files to %s: %w: %s", folder, cause(err), advice), removeIfThere(root, from))
}

// inTheWay returns the error that says why nothing can be moved into folder; err
// if nothing there explains it.
func inTheWay(root FileSystem, folder string, err error) error {
	if _, obstacle := nearestFolder(root, folder); obstacle != nil {
		return obstacle
	}
	return err
}
