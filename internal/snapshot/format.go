package snapshot

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// CheckFormat returns a *FormatError if a later release has worked at the destination, so that a command can stop
// before it changes anything. It reads only the newest document with each name, because a release does not write to a
// destination that a later release has written to.
func (c Catalog) CheckFormat(ctx context.Context) error {
	newest := make(map[string]sink.Entry)
	for _, prefix := range []string{RunsPrefix, HistoryPrefix, PurgesPrefix} {
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
			continue // The document was just removed, or the command will report the error itself.
		}
		if err := CheckDocumentFormat(entry.Path, data); err != nil {
			return err
		}
	}
	return nil
}
