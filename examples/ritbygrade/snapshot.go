package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// snapshot is the latest snapshot at a destination.
type snapshot struct {
	// root is the destination; no file outside of it is opened.
	root      *os.Root
	run, date string
	files     map[string][]string // paths below root by table
}

// latest follows _latest.json to the manifest of the newest full run.
func latest(root *os.Root) (*snapshot, error) {
	var pointer struct {
		RunID        string `json:"run_id"`
		SnapshotDate string `json:"snapshot_date"`
		Manifest     string `json:"manifest"`
	}
	if err := readJSON(root, "_latest.json", &pointer); err != nil {
		return nil, err
	}
	var manifest struct {
		Tables map[string]struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		} `json:"tables"`
	}
	if err := readJSON(root, pointer.Manifest, &manifest); err != nil {
		return nil, err
	}
	s := &snapshot{root: root, run: pointer.RunID, date: pointer.SnapshotDate, files: map[string][]string{}}
	for name, table := range manifest.Tables {
		for _, file := range table.Files {
			s.files[name] = append(s.files[name], file.Path)
		}
	}
	return s, nil
}

func readJSON(root *os.Root, path string, into any) error {
	data, err := root.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
