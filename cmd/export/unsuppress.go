package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// unsuppress takes students off the suppression list.
func (a *app) unsuppress(ctx context.Context, o *purgeOptions, catalog snapshot.Catalog, key *privacy.Key) error {
	if key == nil {
		return usagef("--unsuppress needs the privacy key of the list: set %s or %s%s", privacyKeyVariable, privacyKeyVariable, fileSuffix)
	}
	report, err := changing(ctx, a, &o.destination, catalog, o.dryRun, func(*session) (*maintenance.UnsuppressReport, error) {
		return maintenance.Unsuppress(ctx, catalog, key, o.unsuppress, o.allowUnknown, o.dryRun)
	})
	if unknown, ok := errors.AsType[*maintenance.UnknownBidsError](err); ok {
		return usagef("nothing was changed: %s, but none on the suppression list of the key whose fingerprint is %s at %s; correct the list",
			wording.Many(unknown.Students, "listed student"), key.Fingerprint(), catalog)
	}
	if err != nil {
		return err
	}
	verb := "taken off"
	if o.dryRun {
		verb = "found on"
	}
	text := fmt.Sprintf("%s of %s %s the suppression list of the key whose fingerprint is %s\n",
		wording.Count(report.Found), wording.Many(report.Listed, "listed student"), verb, report.Key)
	if err := a.writeOutput(o.output, report, text); err != nil {
		return err
	}
	if report.Found < report.Listed && !o.allowUnknown {
		a.endPartly("not every listed student was on the suppression list",
			fmt.Errorf("%s of %s; correct the list, or accept this with --allow-unknown", wording.Count(report.Found), wording.Count(report.Listed)))
	}
	return nil
}

// parseFingerprint checks the fingerprint of a privacy key.
func parseFingerprint(text string) (string, error) {
	if _, err := hex.DecodeString(text); err != nil || text == "" {
		return "", fmt.Errorf("%s is not the fingerprint of a privacy key: copy it from the warning or from the output of the purge", quoted(text))
	}
	return text, nil
}

// retired is the output of purge --retire-key.
type retired struct {
	DryRun     bool   `json:"dry_run,omitempty"`
	RetiredKey string `json:"retired_key_fingerprint"`
	Key        string `json:"key_fingerprint"`
	Students   int    `json:"students"` // on the list of the retired key
}

// retireKey empties the suppression list of a key that runs no longer have.
func (a *app) retireKey(ctx context.Context, o *purgeOptions, catalog snapshot.Catalog, key *privacy.Key) error {
	switch {
	case key == nil:
		return usagef("--retire-key needs the privacy key of later runs: set %s or %s%s", privacyKeyVariable, privacyKeyVariable, fileSuffix)
	case key.Fingerprint() == o.retireKey:
		return usagef("--retire-key: %s is the privacy key that is set: set the key of later runs", o.retireKey)
	}
	students, err := changing(ctx, a, &o.destination, catalog, o.dryRun, func(*session) (int, error) {
		return catalog.RetireSuppressed(ctx, key.Fingerprint(), o.retireKey, o.allowUnknown, o.dryRun)
	})
	if errors.Is(err, snapshot.ErrNotRetired) {
		return usagef("%w; purge the students again with the key that is set, or accept this with --allow-unknown", err)
	}
	if err != nil {
		return err
	}
	verb := "retired"
	if o.dryRun {
		verb = "would retire"
	}
	return a.writeOutput(o.output, retired{o.dryRun, o.retireKey, key.Fingerprint(), students},
		fmt.Sprintf("%s the suppression list of the key %s, which had %s; runs follow the list of the key %s\n",
			verb, o.retireKey, wording.Many(students, "student"), key.Fingerprint()))
}
