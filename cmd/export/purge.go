package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// purgeOptions holds the settings of purge.
type purgeOptions struct {
	general
	destination
	schools, districts []string
	students           []string
	studentNumbers     []string
	places             map[string]string // positions of the listed students, such as "line 3"
	endedForDays       int
	allowUnknown       bool
	dryRun             bool
	notice             string
	noticeNames        bool
	yes                bool
	unsuppress         []string
	retireKey          string
}

func (a *app) purgeCommand() *cobra.Command {
	o := &purgeOptions{}
	cmd := newCommand(a, o, a.purge, "dest schools districts students ended-for dry-run", &cobra.Command{
		Use:   "purge",
		Short: "Removes all rows of schools, districts or students",
		Long: "Removes all rows of schools, districts or students from snapshots, changes,\n" +
			"ledgers and the history, deletes the staged files of unfinished runs, reads all\n" +
			"files again and writes a proof under _purges. On a terminal, it asks first.\n" +
			"Nothing is purged while a process works on a run.\n\n" +
			"If " + privacyKeyVariable + " is set, later runs with the same key leave out the\n" +
			"purged students. Finding rows with pseudonyms needs the key too.",
		Example: "  growth-export purge --dest /data/growth --districts 7d1c... --dry-run\n" +
			"  growth-export purge --dest s3://bucket/growth --students @erase.txt",
	})
	o.defineWriting(o.destination.define(cmd))
	g := group{cmd.Flags(), "What to remove (as flags only: elsewhere these names restrict runs)"}
	g.listExactly(&o.schools, "schools", "rows of these schools: comma-separated bids, or @FILE")
	g.listExactly(&o.districts, "districts", "rows of these districts and their schools: bids as above")
	g.listStudents(&o.students, &o.places, "students", "rows about these students: bids as above; @FILE is safer")
	g.listStudents(&o.studentNumbers, &o.places, "student-numbers", "rows of students without a bid: their numbers, as above")
	define(g, &o.endedForDays, "ended-for", "DAYS", "", parseDays,
		"rows of schools denied or missing for this long, such as 60d")
	g.toggle(&o.allowUnknown, "allow-unknown", "purge the other bids even if some occur nowhere at the destination")
	g.toggle(&o.dryRun, "dry-run", "print what would be removed and change nothing")
	define(g, &o.notice, "notice", "FILE", "", parsePath, "also write an HTML page about the purge, to print and sign")
	g.toggle(&o.noticeNames, "notice-names", "list in the notice the bids or numbers that were given to the command")
	g.toggle(&o.yes, "yes", "do not ask for confirmation on a terminal")
	g.listStudents(&o.unsuppress, &o.places, "unsuppress", "purge nothing, but take these students off the suppression list: bids or numbers, as above")
	define(g, &o.retireKey, "retire-key", "FINGERPRINT", "", parseFingerprint,
		"purge nothing, but empty the suppression list of a replaced or lost key")
	g.onlyFlags(purgeSelections()...)
	o.general.define(cmd)
	return cmd
}

// purgeSelections returns the names of the settings that select what to remove, or what to take off the suppression list.
func purgeSelections() []string {
	return []string{"schools", "districts", "students", "student-numbers", "ended-for", "unsuppress", "retire-key"}
}

// checkTarget returns a usage error unless exactly one selection was given as a flag. It clears selections from other
// sources: in the environment or a configuration file, the same names restrict runs, and purging exactly the exported
// schools would be disastrous.
func (o *purgeOptions) checkTarget(from sources) error {
	const choices = "--schools LIST, --districts LIST, --students LIST, --student-numbers LIST or --ended-for DAYS"
	var chosen []string
	for _, name := range purgeSelections() {
		if from[name].rank == byFlag {
			chosen = append(chosen, "--"+name)
		}
	}
	switch len(chosen) {
	case 1:
	case 0:
		for _, name := range []string{"schools", "districts", "students"} {
			if from.given(name) {
				return usagef("%s restricts what runs export: set what to purge with a flag: %s", from[name].name, choices)
			}
		}
		for _, name := range purgeSelections() {
			if from.given(name) {
				return usagef("%s is ignored: set what to purge with a flag: %s", from[name].name, choices)
			}
		}
		return usagef("set what to purge: %s", choices)
	default:
		return usagef("%s cannot be used together: purge one, then the other", strings.Join(chosen, " and "))
	}
	targets := map[string]*[]string{
		"--schools": &o.schools, "--districts": &o.districts, "--students": &o.students, "--student-numbers": &o.studentNumbers,
		"--unsuppress": &o.unsuppress,
	}
	for name, target := range targets {
		if name != chosen[0] {
			*target = nil
			continue
		}
		for _, bid := range *target {
			if strings.HasPrefix(bid, "--") {
				return usagef("%s was taken as a bid, but looks like a flag: give %s a value before it", quoted(bid), name)
			}
		}
	}
	if chosen[0] != "--ended-for" {
		o.endedForDays = 0
	}
	if chosen[0] != "--retire-key" {
		o.retireKey = ""
	}
	return nil
}

// checkNotice returns a usage error if the settings of the notice conflict with other settings, or if the notice could
// not be written after the purge.
func (o *purgeOptions) checkNotice(from sources) error {
	switch {
	case o.notice == "" && o.noticeNames:
		return usagef("%s needs --notice FILE", from["notice-names"].name)
	case o.notice == "":
		return nil
	case len(o.unsuppress) > 0:
		return usagef("%s: --unsuppress erases nothing, so there is no notice of it", from["notice"].name)
	case o.retireKey != "":
		return usagef("%s: --retire-key erases nothing, so there is no notice of it", from["notice"].name)
	}
	return checkNoticePath(o.notice, o.dryRun, from)
}

// checkNoticePath returns a usage error if a notice could not be written to path, or if dryRun is true, because a dry
// run erases nothing.
func checkNoticePath(path string, dryRun bool, from sources) error {
	if dryRun {
		return usagef("%s: a dry run erases nothing, so there is no notice of it", from["notice"].name)
	}
	return checkFile(path, from["notice"].name)
}

// checkFile returns a usage error if the file of a setting could not be written.
func checkFile(path, setting string) error {
	if _, err := parseScratch(filepath.Dir(path)); err != nil {
		return usagef("%s: %w", setting, err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s: %q is a folder: give a file in it", setting, path)
	}
	return nil
}

func (a *app) purge(ctx context.Context, o *purgeOptions, from sources) error {
	if err := cmp.Or(o.checkTarget(from), o.checkNotice(from)); err != nil {
		return err
	}
	key, err := a.privacyKey()
	if err != nil {
		return err
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, !o.dryRun)
	if err != nil {
		return err
	}
	if err := checkOutside(o.notice, catalog, from["notice"].name); err != nil {
		return err
	}
	if len(o.unsuppress) > 0 {
		return a.unsuppress(ctx, o, catalog, key)
	}
	if o.retireKey != "" {
		return a.retireKey(ctx, o, catalog, key)
	}
	options := maintenance.PurgeOptions{
		Schools: o.schools, Districts: o.districts, Students: o.students, StudentNumbers: o.studentNumbers, EndedForDays: o.endedForDays,
		Key: key, Workspace: func() (sink.Store, func() error, error) { return sink.NewWorkspace(o.scratch) },
		AllowUnknown: o.allowUnknown, DryRun: o.dryRun, Now: a.now, ToolVersion: thisBuild().Version,
	}
	if !o.dryRun && !o.yes && a.asks() {
		options.DryRun = true
		planned, err := a.purgeOnce(ctx, o, catalog, options)
		if err == nil {
			err = a.confirmPurge(ctx, planned, o.unmatchedText(planned))
		}
		if err != nil {
			return err
		}
		options.DryRun = false
	}
	report, err := a.purgeOnce(ctx, o, catalog, options)
	if err != nil {
		return err
	}
	text := o.unmatchedText(report) + purgeText(report)
	noNotice := report.Nothing() && report.Earlier == nil
	if noNotice && o.notice != "" {
		text += "no notice was written\n"
	}
	err = a.writeOutput(o.output, report, text)
	if err == nil && o.notice != "" && !noNotice {
		var names []string
		if o.noticeNames {
			names = slices.Concat(o.students, o.studentNumbers)
		}
		err = a.writeNotice(ctx, o.notice, names, catalog, report)
	}
	if left := report.Left(); err == nil && left > 0 {
		is := "is"
		if o.dryRun {
			is = "would be"
		}
		remedy := "correct these at the source, or purge the schools"
		if report.Asked.Students.ByNumber {
			remedy = "if these rows are about a student with a bid, " + findBid + "; otherwise correct them at the source"
		}
		err = fmt.Errorf("the purge %s incomplete: listed students are also mentioned in %s about others, in columns that a purge does not change: %s; %s",
			is, wording.Many(left, "row"), mentionText(report), remedy)
	}
	if err == nil && o.dryRun {
		err = report.OrphansError()
	}
	if err != nil {
		return err
	}
	if asked := erasing(report).Asked.Students; asked != nil && asked.Matched != nil && *asked.Matched < asked.Listed && !o.allowUnknown {
		a.endPartly("not every listed student was found",
			fmt.Errorf("%s of %s; correct the list, or accept this with --allow-unknown", wording.Count(*asked.Matched), wording.Count(asked.Listed)))
	}
	return nil
}

// findBid says how to erase a student for whom only the number is known.
const findBid = "growth-export find --number gives the bid, and purge --students erases by bid"

// placesOf returns the positions of some students in the given lists, in the order of the lists. It returns at most
// maxListed positions, and the number of others.
func (o *purgeOptions) placesOf(students []string) string {
	among := make(map[string]bool)
	for _, text := range students {
		among[text] = true
	}
	var places []string
	for _, text := range slices.Concat(o.students, o.studentNumbers, o.unsuppress) {
		if bare, _ := privacy.WithoutBlanks(text); among[text] || among[bare] {
			places = append(places, o.places[text])
		}
	}
	if more := len(places) - maxListed; more > 0 {
		places = append(places[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(places, ", ")
}

// unmatchedText says for which students nothing was found, by their positions in the lists. It does not repeat their
// bids or numbers.
func (o *purgeOptions) unmatchedText(r *maintenance.PurgeReport) string {
	if len(r.Unmatched) == 0 {
		return ""
	}
	text := "nothing was found for: " + o.placesOf(r.Unmatched) + " of the list"
	if r.Suppressed != nil {
		includes := "includes"
		if r.DryRun {
			includes = "would include"
		}
		text += " (the suppression list " + includes + " them anyway; to notice a wrong bid or number, check in the summary of the next run " +
			"how many listed students it left out)"
	}
	text += "\n"
	if hint := o.otherFormsText(r.OtherForms); hint != "" {
		text += hint + "\n"
	}
	return text
}

// otherFormsText lists the positions of bids that differ from the bid of a student only in case or hyphens. It does not
// repeat the bids.
func (o *purgeOptions) otherFormsText(bids []string) string {
	if len(bids) == 0 {
		return ""
	}
	return o.placesOf(bids) + " of the list: a student's bid differs from this one only in case or hyphens: list bids exactly as the service writes them"
}

// erasing returns the report of the purge that erased the rows, which is an earlier purge if r found nothing left to
// erase.
func erasing(r *maintenance.PurgeReport) *maintenance.PurgeReport {
	if r.Nothing() && r.Earlier != nil {
		return r.Earlier
	}
	return r
}

// purgeOnce purges or, in a dry run, reports what a purge would remove. It adds advice to errors.
func (a *app) purgeOnce(ctx context.Context, o *purgeOptions, catalog snapshot.Catalog, options maintenance.PurgeOptions) (*maintenance.PurgeReport, error) {
	sessionOptions := a.sessionOptions(&o.destination)
	sessionOptions.DryRun, sessionOptions.Purge = options.DryRun, true
	report, err := changingWith(ctx, sessionOptions, catalog, func(s *session) (*maintenance.PurgeReport, error) {
		options.WriteReports = s.RewriteReports
		return maintenance.Purge(ctx, catalog, options)
	})
	if err == nil {
		return report, nil
	}
	if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
		return nil, refused
	}
	if unknown, ok := errors.AsType[*maintenance.UnknownBidsError](err); ok {
		if hint := o.otherFormsText(unknown.OtherForms); hint != "" {
			return nil, usagef("nothing was purged: %w at %s; %s", unknown, catalog, hint)
		}
		remedy := "or purge the rest with --allow-unknown"
		if unknown.Students > 0 {
			remedy = "or add --allow-unknown to delete what unpublished runs have staged"
			if options.Key != nil {
				remedy += " and to put the students on the suppression list"
			}
		}
		return nil, usagef("nothing was purged: %w at %s; correct the list, %s", unknown, catalog, remedy)
	}
	if wrong, ok := errors.AsType[*maintenance.WrongKindError](err); ok {
		return nil, usagef("nothing was purged: %w; list schools with --schools, and districts with --districts", wrong)
	}
	if others, ok := errors.AsType[*maintenance.HasBidError](err); ok {
		return nil, usagef("nothing was purged: %s of the list: this is the number of a student with a bid: %s", o.placesOf(others.Numbers), findBid)
	}
	if wrong, ok := errors.AsType[*maintenance.NotIDError](err); ok {
		return nil, o.notIDs(wrong)
	}
	if wrong, ok := errors.AsType[*maintenance.NotAloneError](err); ok {
		return nil, usagef("nothing was purged: %s of the list: no row contains this value, which includes quotes, commas or similar characters: "+
			"correct the list, so that each line holds the bid or number of one student and nothing else", o.placesOf(wrong.Listed))
	}
	if wrong, ok := errors.AsType[*maintenance.PseudonymError](err); ok {
		return nil, usagef("nothing was purged: %s of the list: this is a pseudonym, which identifies the student in only part of the data stored here, because "+
			"not all of it was exported under the same privacy key: list the student's bid", o.placesOf(wrong.Listed))
	}
	if needed, ok := errors.AsType[*maintenance.KeyNeededError](err); ok {
		to := "to that key"
		if len(needed.Fingerprints) > 1 {
			to = "to one of these keys, and purge once with each"
		}
		only := ""
		if key, err := a.privacyKey(); err == nil && key != nil {
			only = "; if the key that is set is new, " + wording.Setting("allow-unknown").String() + " puts the students on its suppression list"
		}
		return nil, usagef("nothing was purged: %w: set %s or %s%s %s%s", needed, privacyKeyVariable, privacyKeyVariable, fileSuffix, to, only)
	}
	if errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrConflict) {
		return nil, fmt.Errorf("%w; if another process has changed the destination, run the same command again", err)
	}
	return nil, fmt.Errorf("%w; run the same command again once this is fixed", err)
}

// notIDs returns a usage error with the positions of the values that are not the bid or number of a student. It does
// not repeat the values.
func (o *purgeOptions) notIDs(wrong *maintenance.NotIDError) error {
	kind := "bid"
	if wrong.ByNumber {
		kind = "number"
	}
	remedy := "correct the list"
	if slices.ContainsFunc(wrong.Columns, func(column string) bool { return strings.HasSuffix(column, "student_bid") }) {
		remedy += ", or erase students by their bids with --students"
	}
	return usagef("nothing was purged: %s of the list: no student here has this %s; the value occurs only in %s, so it is not the %s of a student: %s",
		o.placesOf(wrong.Listed), kind, strings.Join(wrong.Columns, ", "), kind, remedy)
}
