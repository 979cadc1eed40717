package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// unsuppress takes students off the suppression list of a privacy key. It returns a usage error if there is no key, if
// several students share a given number, or if no given student is on the list and --allow-unknown is off.
func (a *app) unsuppress(ctx context.Context, o *purgeOptions, catalog snapshot.Catalog, key *privacy.Key) error {
	if key == nil {
		return usagef("--unsuppress needs the privacy key of the list: set %s or %s%s", privacyKeyVariable, privacyKeyVariable, fileSuffix)
	}
	report, err := changing(ctx, a, &o.destination, catalog, o.dryRun, func(*session) (*maintenance.UnsuppressReport, error) {
		return maintenance.Unsuppress(ctx, catalog, key, o.unsuppress, o.allowUnknown, o.dryRun)
	})
	if shared, ok := errors.AsType[*maintenance.SharedNumberError](err); ok {
		return o.sharedNumbers(shared)
	}
	if unknown, ok := errors.AsType[*maintenance.UnknownBidsError](err); ok {
		remedy, err := otherLists(ctx, catalog, key)
		if err != nil {
			return err
		}
		return usagef("nothing was changed: %s, but none is on the suppression list of the key whose fingerprint is %s at %s; %s",
			wording.Many(unknown.Students, "listed student"), key.Fingerprint(), catalog, remedy)
	}
	if err != nil {
		return err
	}
	end := "taken off"
	if o.dryRun {
		end = "found on"
	}
	text := fmt.Sprintf("%s %s the suppression list of the key whose fingerprint is %s\n", wording.Many(report.Students, "student"), end, report.Key)
	if report.NotFound > 0 {
		text += fmt.Sprintf("not on this list: %s of the list that was given\n", o.placesOf(report.Unmatched))
	}
	if err := a.writeOutput(o.output, report, text); err != nil {
		return err
	}
	if report.NotFound > 0 && !o.allowUnknown {
		a.endPartly("some bids or numbers were not on the suppression list",
			fmt.Errorf("%s of %s; correct the list, or accept this with --allow-unknown", wording.Count(report.NotFound), wording.Count(report.Given)))
	}
	return nil
}

// sharedNumbers returns a usage error with the positions of the given numbers that several students share. It does not
// repeat the numbers.
func (o *purgeOptions) sharedNumbers(shared *maintenance.SharedNumberError) error {
	var numbers []string
	for i, number := range shared.Numbers {
		if i == maxListed {
			numbers = append(numbers, fmt.Sprintf("and %d more", len(shared.Numbers)-i))
			break
		}
		numbers = append(numbers, fmt.Sprintf("%s (%s)", o.placesOf([]string{number}), wording.Many(shared.Students[i], "student")))
	}
	return usagef("nothing was changed: several students on the suppression list have the number in %s: give the bids of the students to take off instead",
		strings.Join(numbers, ", "))
}

// otherLists returns advice for the case that no given student is on the list of a key. It names the other keys that
// have lists.
func otherLists(ctx context.Context, catalog snapshot.Catalog, key *privacy.Key) (string, error) {
	counts, err := await(ctx, func() (map[string]int, error) { return catalog.CountSuppressed(ctx) })
	if err != nil {
		return "", err
	}
	delete(counts, key.Fingerprint())
	var lists []string
	for _, fingerprint := range slices.Sorted(maps.Keys(counts)) {
		lists = append(lists, fmt.Sprintf("%s (%s)", fingerprint, wording.Many(counts[fingerprint], "student")))
	}
	switch len(lists) {
	case 0:
		return "correct the list", nil
	case 1:
		return "the key " + lists[0] + " has a list: set that key, or correct the list", nil
	default:
		return "other keys have lists: " + strings.Join(lists, ", ") + ": set the right key, or correct the list", nil
	}
}

// parseFingerprint accepts text that may be the fingerprint of a privacy key.
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
	Students   int    `json:"students"` // the number of students on the list of the retired key
}

// retireKey empties the suppression list of a key that runs no longer use. It returns a usage error if no other key is
// set, if the list to empty has no students, or if it has more students than the list of the key that is set and
// --allow-unknown is off.
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
