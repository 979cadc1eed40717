package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/wording"
)

// mentionText lists the columns in which rows about others mention purged schools, districts or students.
func mentionText(r *maintenance.PurgeReport) string {
	var columns []string
	for _, column := range slices.Sorted(maps.Keys(r.Verification.RowsMentioning)) {
		columns = append(columns, fmt.Sprintf("%s (%s)", column, wording.Many(r.Verification.RowsMentioning[column], "row")))
	}
	return strings.Join(columns, ", ")
}

func purgeText(r *maintenance.PurgeReport) string {
	var b strings.Builder
	for _, bid := range r.Unknown {
		fmt.Fprintf(&b, "no table, plan, ledger or manifest contains %s\n", quoted(bid))
	}
	writeAsked(&b, r)
	verb, dropped := "removed", "dropped run"
	if r.DryRun {
		verb, dropped = "would remove", "would drop run"
	}
	for _, run := range r.DroppedRuns {
		fmt.Fprintf(&b, "%s %s, which was not published; the same run command fetches it again\n", dropped, printable(run))
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		fmt.Fprintf(&b, "%s, run %s: %s of %s", snapshotName(run.Kind, run.SnapshotDate), run.RunID,
			wording.Many(run.FilesRewritten(), "file"), wording.Many(run.Tables(), "table"))
		if run.LedgerRowsRemoved > 0 {
			fmt.Fprintf(&b, ", %s of the ledger", wording.Many(run.LedgerRowsRemoved, "row"))
		}
		fmt.Fprintln(&b)
	}
	for _, table := range slices.Sorted(maps.Keys(r.RowsRemoved)) {
		fmt.Fprintf(&b, "%s %s of %s\n", verb, wording.Many(r.RowsRemoved[table], "row"), table)
	}
	writeCleared(&b, r, r.ExtraRemoved, "")
	if r.History != nil {
		for _, table := range slices.Sorted(maps.Keys(r.History.RowsRemoved)) {
			fmt.Fprintf(&b, "%s %s of %s in the history\n", verb, wording.Many(r.History.RowsRemoved[table], "row"), table)
		}
		writeCleared(&b, r, r.History.ExtraRemoved, " in the history")
	}
	if text := byNumberText(r.RowsByNumber, r.NumberStudents); text != "" {
		fmt.Fprintln(&b, text)
	}
	if r.LedgerRowsRemoved > 0 {
		fmt.Fprintf(&b, "%s %s of ledgers\n", verb, wording.Many(r.LedgerRowsRemoved, "row"))
	}
	writeSuppressed(&b, r)
	for _, path := range r.Orphans {
		fmt.Fprintf(&b, "rows to erase are also in %s, which neither a published run nor the history lists; purge does not remove this file\n",
			printable(path))
	}
	switch {
	case len(r.Orphans) > 0 && r.Nothing():
	case r.Nothing() && r.Earlier != nil:
		fmt.Fprintf(&b, "nothing to erase; proof: %s\n", maintenance.PurgePath(r.Earlier.ID))
	case r.Nothing():
		fmt.Fprintln(&b, "nothing to erase")
	case !r.DryRun:
		writeProof(&b, r)
	}
	return b.String()
}

// byNumberText describes the rows without a bid that were found by a number alone. It returns "" if rows is 0. students
// is the number of students who share such a number, or 0 if no number is shared.
func byNumberText(rows int64, students int) string {
	if rows == 0 {
		return ""
	}
	text := wording.Count(rows) + " of these rows have no bid and were found by a number alone"
	if rows == 1 {
		text = "1 of these rows has no bid and was found by a number alone"
	}
	if students > 1 {
		text += fmt.Sprintf("; %s have the same number, so the number does not show whose rows these are", wording.Many(students, "student"))
	}
	return text
}

// writeAsked describes whose rows are purged, if the command line does not list them. It does not identify students.
func writeAsked(b *strings.Builder, r *maintenance.PurgeReport) {
	if asked := r.Asked.Students; asked != nil && asked.Matched != nil {
		text := foundText(erasing(r))
		if erasing(r) != r {
			text += ", by an earlier purge"
		}
		fmt.Fprintln(b, text)
	}
	if len(r.OtherKeys) > 0 {
		verb := "not searched"
		if r.DryRun {
			verb = "would not be searched"
		}
		fmt.Fprintf(b, "%s: %s\n", verb, otherKeysText(r.OtherKeys))
	}
	for i := range r.Ended {
		school := &r.Ended[i]
		fmt.Fprintf(b, "%s: last ok on %s, denied or missing since %s\n", wording.School(school.Name, school.Bid), school.LastOK, school.Since)
	}
	if r.Asked.EndedFor != "" && len(r.Ended) == 0 {
		fmt.Fprintf(b, "no previously exported school has been denied or missing for %s\n", r.Asked.EndedFor)
	}
	for i := range r.NearlyEnded {
		if i == maxListed {
			fmt.Fprintf(b, "and %s that are not chosen\n", wording.Many(len(r.NearlyEnded)-i, "more school"))
			break
		}
		fmt.Fprintf(b, "not chosen: %s\n", nearlyText(&r.NearlyEnded[i], r.Asked.EndedFor))
	}
}

// otherKeysText describes the data that a purge with one privacy key does not find, and how to erase it.
func otherKeysText(fingerprints []string) string {
	keys, again := "another privacy key (fingerprint ", "that key"
	if n := len(fingerprints); n > 1 {
		keys, again = wording.Many(n, "other privacy key")+" (fingerprints ", "each of these keys"
	}
	return "data exported under " + keys + wording.First(fingerprints, maxListed) +
		"), where students have different pseudonyms; to erase them there too, purge with " + again + ", unless you already have"
}

// nearlyText explains why --ended-for did not select a school some of whose datasets are denied or missing.
func nearlyText(n *maintenance.NearlyEnded, wanted string) string {
	missing := "everything"
	if len(n.StillRead) > 0 {
		missing = strings.Join(n.Missing, ", ")
	}
	text := fmt.Sprintf("%s: %s denied or missing since %s, ", wording.School(n.Name, n.Bid), missing, n.Since)
	switch {
	case len(n.StillRead) > 0:
		text += "but the service still returns " + strings.Join(n.StillRead, ", ")
	case n.LastFailed != "":
		text += "but a request failed on " + n.LastFailed + ", so it is not certain"
	case n.NotCounted > 0:
		const which = "since then requested all of its datasets"
		switch n.Snapshots {
		case 0:
			text += "but no snapshot " + which
		case 1:
			text += "but only one snapshot " + which
		default:
			text += fmt.Sprintf("but the %s that %s span only %s, not %s", wording.Many(n.Snapshots, "snapshot"), which, wording.Many(n.Days, "day"), wanted)
		}
		text += fmt.Sprintf(" (not counted: %s)", wording.Many(n.NotCounted, "snapshot"))
	case n.Snapshots < 2:
		text += "but only one snapshot shows it"
	default:
		text += fmt.Sprintf("for only %s, not %s", wording.Many(n.Days, "day"), wanted)
	}
	return text
}

// foundText says how many of the listed students were found, and whether their rows were erased.
func foundText(r *maintenance.PurgeReport) string {
	asked, end := r.Asked.Students, "found and erased"
	switch {
	case r.DryRun:
		end = "found"
	case r.Left() > 0:
		end = "found, but not fully erased"
	case len(r.OtherKeys) > 0:
		end = "found and erased under this privacy key"
	}
	verb := "were"
	if *asked.Matched == 1 || asked.Listed == 1 {
		verb = "was"
	}
	return fmt.Sprintf("%s of %s %s %s", wording.Count(*asked.Matched), wording.Many(asked.Listed, "listed student"), verb, end)
}

// writeSuppressed writes a line about the effect of the suppression list on later runs.
func writeSuppressed(b *strings.Builder, r *maintenance.PurgeReport) {
	s := r.Suppressed
	switch {
	case r.Asked.Students == nil:
	case s == nil:
		fmt.Fprintf(b, "not suppressed: without %s, the next run exports these students again if the service lists them\n", privacyKeyVariable)
	case r.DryRun:
		fmt.Fprintf(b, "would put %s on the suppression list of the key whose fingerprint is %s\n", wording.Many(s.Added, "student"), s.Key)
	default:
		what, unknown := "them out", ""
		if r.Asked.Students.ByNumber {
			what = "out their rows that have no bid"
		}
		if asked := erasing(r).Asked.Students; asked.Matched != nil && *asked.Matched < asked.Listed {
			unknown = "; some of them were not found here, so check that the list is right"
		}
		fmt.Fprintf(b, "suppressed: %s; runs with the key whose fingerprint is %s leave %s%s\n",
			wording.Many(s.Students, "student"), s.Key, what, unknown)
	}
}

// writeCleared writes, for each table, the number of rows whose _extra is cleared.
func writeCleared(b *strings.Builder, r *maintenance.PurgeReport, cleared map[string]int64, where string) {
	verb := "cleared"
	if r.DryRun {
		verb = "would clear"
	}
	for _, table := range slices.Sorted(maps.Keys(cleared)) {
		fmt.Fprintf(b, "%s _extra in %s of %s%s\n", verb, wording.Many(cleared[table], "row"), table, where)
	}
}

// writeProof writes the result of the verification and the places that a purge cannot reach. There is a proof only if
// no matching row is left.
func writeProof(b *strings.Builder, r *maintenance.PurgeReport) {
	fmt.Fprintf(b, "verified: %s re-read (%s, %s), no matching rows remain\n", wording.Many(r.Verification.Files, "file"),
		wording.Many(r.Verification.Rows, "row"), wording.Size(r.Verification.Bytes))
	for _, column := range slices.Sorted(maps.Keys(r.Verification.RowsMentioning)) {
		fmt.Fprintf(b, "left: %s about others that mention purged data in column %s\n",
			wording.Many(r.Verification.RowsMentioning[column], "row"), column)
	}
	fmt.Fprintf(b, "proof: %s\n", maintenance.PurgePath(r.ID))
	fmt.Fprintln(b, "not reached:")
	for _, place := range r.NotReached {
		fmt.Fprintf(b, "  %s\n", printable(place))
	}
}
