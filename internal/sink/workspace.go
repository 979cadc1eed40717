package sink

import (
	"errors"
	"os"
)

// NewWorkspace returns a store in a new folder, and a function that removes the folder. The new folder is created in
// the folder within or, if within is "", in the system's temporary folder.
func NewWorkspace(within string) (Store, func() error, error) {
	folder, err := os.MkdirTemp(within, "growth-export-history-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(folder) }
	store, err := NewDir(folder, DirOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return store, remove, nil
}
