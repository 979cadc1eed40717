package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// checkKey compares the privacy key with the key of the newest full snapshot that has the same profile or, if there is
// none, of the newest such as-of snapshot.
func (c *destinationCheck) checkKey(ctx context.Context) {
	if c.KeyErr != nil {
		c.fail(PrivacyKey, c.KeyErr, "")
		return
	}
	if c.Err != nil {
		c.ok(PrivacyKey, "fingerprint %s", c.Fingerprint)
		return
	}
	const setting = wording.Setting("privacy")
	catalog := snapshot.At(c.Store)
	same := func(m *snapshot.Manifest) bool { return m.Parameters.Profile() == c.Privacy }
	newest, err := catalog.Newest(ctx, snapshot.Full, same)
	if newest == nil && err == nil {
		newest, err = catalog.Newest(ctx, snapshot.AsOf, same)
	}
	switch {
	case err != nil:
		c.fail(PrivacyKey, fmt.Errorf("look for snapshots with %s %s: %w", setting, c.Privacy, err), "run growth-export verify for details")
	case newest == nil:
		c.ok(PrivacyKey, "fingerprint %s; no snapshot with %s %s yet", c.Fingerprint, setting, c.Privacy)
	case newest.Parameters.PrivacyKey != c.Fingerprint:
		c.warn(PrivacyKey, fmt.Sprintf("fingerprint %s, but the %s snapshot of %s was made with another key (fingerprint %s), so its pseudonyms will not join with new ones",
			c.Fingerprint, c.Privacy, newest.SnapshotDate, newest.Parameters.PrivacyKey), "set that key, or choose another "+wording.Setting("dest").String())
	default:
		c.ok(PrivacyKey, "fingerprint %s, the key of the snapshot of %s", c.Fingerprint, newest.SnapshotDate)
	}
}

// checkPurges warns about purges that have begun but not ended.
func (c *destinationCheck) checkPurges(ctx context.Context) {
	unfinished, err := snapshot.At(c.Store).UnfinishedPurges(ctx)
	if err != nil {
		c.fail(Purges, err, "")
	}
	for _, purge := range unfinished {
		c.warn(Purges, purge.Finding(), purge.Remedy)
	}
}

// checkUndone warns about purged rows that may be in the data again.
func (c *destinationCheck) checkUndone(ctx context.Context) {
	catalog := snapshot.At(c.Store)
	runs, err := catalog.Outcomes(ctx, nil)
	if err != nil {
		c.fail(Purges, err, "")
		return
	}
	undone, err := catalog.UndonePurges(ctx, runs)
	if err != nil {
		c.fail(Purges, err, "")
	}
	for _, problem := range undone {
		c.warn(Purges, problem, "")
	}
}

// checkSuppression checks that the suppression list exists if students were put on it, and that future runs have the
// privacy key with which its entries were made.
func (c *destinationCheck) checkSuppression(ctx context.Context) {
	catalog := snapshot.At(c.Store)
	purged, err := catalog.PurgedStudents(ctx, c.Fingerprint, c.Now())
	if err != nil {
		c.fail(Suppression, err, "")
		return
	}
	for _, p := range purged {
		if p.Missing || p.Key == "" {
			c.warn(Suppression, p.String(), "")
		}
	}
	counts, err := catalog.CountSuppressed(ctx)
	if err != nil {
		c.fail(Suppression, err, "")
		return
	}
	if n := counts[c.Fingerprint]; n > 0 {
		c.ok(Suppression, "runs leave out %s", wording.Many(n, "student"))
		delete(counts, c.Fingerprint)
	}
	own := "no privacy key is set"
	if c.Fingerprint != "" {
		own = "the privacy key has the fingerprint " + c.Fingerprint
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		were := "were"
		if counts[key] == 1 {
			were = "was"
		}
		c.warn(Suppression, fmt.Sprintf("runs would not leave out %s who %s erased here: the list needs the key with the fingerprint %s, but %s",
			wording.Many(counts[key], "student"), were, key, own), "set that key for all runs, or purge these students again with the key that runs have, then run "+
			wording.Command("purge", wording.Setting("retire-key"), key))
	}
}
