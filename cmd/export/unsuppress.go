package main

import (
	"context"
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
