package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// FormatError says that a later release has written a document, in a format that
// this one does not know. Nothing at such a destination may be changed: what is
// not understood could be lost.
type FormatError struct {
	Path    string
	Version int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("this growth-export is too old for the destination: %s has format version %d, and it reads versions up to %d; "+
		"use a later release", e.Path, e.Version, FormatVersion)
}

// checkDocumentFormat fails with a *FormatError if the document says that it has a later
// format. Documents without a version pass.
func CheckDocumentFormat(path string, data []byte) error {
	const member = "format_version"
	if !bytes.Contains(data, []byte(`"`+member+`"`)) {
		return nil
	}
	var header struct {
		FormatVersion json.Number `json:"format_version"`
	}
	err := json.Unmarshal(data, &header) // one that cannot be decoded is for its reader to report
	if version, _ := header.FormatVersion.Int64(); err == nil && version > FormatVersion {
		return &FormatError{Path: path, Version: int(version)}
	}
	return nil
}

// CheckFormat fails with a *FormatError if a later release has worked at the
// destination, so that a command can end before it changes anything. It reads
// the newest document of each name: an earlier release cannot write one after a
// later release has.
func (c Catalog) CheckFormat(ctx context.Context) error {
	newest := make(map[string]sink.Entry)
	for _, prefix := range []string{RunsPrefix, PurgesPrefix} {
		entries, err := sink.ListAll(ctx, c, prefix)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			name := entry.Path[strings.LastIndexByte(entry.Path, '/')+1:]
			versioned := slices.Contains([]string{PlanName, ManifestName, heldName, ChangeName}, name)
			if prefix == PurgesPrefix {
				name, versioned = PurgesPrefix, true
			}
			before, ok := newest[name]
			if versioned && (!ok || cmp.Or(entry.Modified.Compare(before.Modified), cmp.Compare(entry.Path, before.Path)) > 0) {
				newest[name] = entry
			}
		}
	}
	for _, entry := range newest {
		data, _, err := c.Read(ctx, entry.Path)
		if err != nil {
			continue // It was removed just now, or the command will say so itself.
		}
		if err := CheckDocumentFormat(entry.Path, data); err != nil {
			return err
		}
	}
	return nil
}
