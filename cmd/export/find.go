package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// findOptions holds the settings of find.
type findOptions struct {
	general
	destination
	bids, numbers []string
	listFile      string // the file given with --bid or --number, including the @
	name          string
	record        string
}

func (a *app) findCommand() *cobra.Command {
	o := &findOptions{}
	cmd := newCommand(a, o, a.find, "dest name number bid record", &cobra.Command{
		Use:   "find",
		Short: "Finds a student's bid and rows, by name, number or bid",
		Long: "Looks for a student in all snapshots, changes and the history, and prints the\n" +
			"student's bids, as purge takes them, and where the rows are. --record writes all\n" +
			"rows, to answer a request to see a record. Nothing is changed or logged.\n\n" +
			"Use @FILE: other users of the machine can see the arguments of a process. To\n" +
			"search rows with pseudonyms, set the key in " + privacyKeyVariable + ". Such\n" +
			"rows hold no names.",
		Example: "  growth-export find --dest /data/growth --name @name.txt\n" +
			"  growth-export find --dest /data/growth --bid @bid.txt --record record.html",
	})
	o.destination.define(cmd)
	g := group{cmd.Flags(), "Whom to find"}
	define(g, &o.name, "name", "TEXT", "", parseName,
		"a name, or @FILE with one: each word must be the beginning of a first, middle or last name")
	g.add(&list{target: &o.numbers, file: &o.listFile, students: true}, "number", "school, district or state numbers: comma-separated, or @FILE")
	g.add(&list{target: &o.bids, file: &o.listFile, students: true}, "bid", "the service's own identifiers: comma-separated, or @FILE")
	define(g, &o.record, "record", "FILE", "", parsePath,
		"also write all rows of the student, readable only by you: a page to print if FILE ends in .html, else JSON")
	o.general.define(cmd)
	return cmd
}

// parseName returns the given name or, if it is @FILE, the only line of that file. Errors do not repeat the name.
func parseName(text string) (string, error) {
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		lines, err := readLines(path)
		if err != nil {
			return "", err
		}
		if len(lines) != 1 {
			return "", fmt.Errorf("file %s must hold one name, on one line", quoted(path))
		}
		text = lines[0]
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the name is empty")
	}
	return text, nil
}

func (a *app) find(ctx context.Context, o *findOptions, from sources) error {
	var given []string
	for _, name := range []string{"name", "number", "bid"} {
		if from.given(name) {
			given = append(given, from[name].name)
		}
	}
	if len(given) != 1 {
		return usagef("give exactly one of --name, --number and --bid")
	}
	if o.record != "" {
		if err := checkFile(o.record, from["record"].name); err != nil {
			return err
		}
	}
	key, err := a.privacyKey()
	if err != nil {
		return err
	}
	o.log = a.newLogger(&o.general)
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return err
	}
	if err := checkOutside(o.record, catalog, from["record"].name); err != nil {
		return err
	}
	found, err := await(ctx, func() (*maintenance.FindReport, error) {
		return maintenance.Find(ctx, catalog, maintenance.FindOptions{
			Bids: withBare(o.bids), Numbers: withBare(o.numbers), Name: o.name, Key: key, Records: o.record != "",
		})
	})
	if err != nil {
		return fmt.Errorf("look for the student: %w", err)
	}
	shown := *found
	if o.record != "" { // the rows are written to the file instead
		shown.Students = nil
		for _, s := range found.Students {
			without := *s
			without.Records = nil
			shown.Students = append(shown.Students, &without)
		}
	}
	var schools map[string]string
	if newest, err := catalog.LatestRun(ctx); err == nil && newest != nil {
		schools, _ = namesBy(ctx, catalog, bySchool, newest) // If names are unavailable, the bids are enough.
	}
	if err := a.writeOutput(o.output, &shown, foundStudentsText(&shown, catalog, o, schools)); err != nil {
		return err
	}
	switch {
	case len(found.Students) == 0:
		return fmt.Errorf("no student was found in %s at %s", searchedText(found), catalog)
	case o.record == "":
		return nil
	case len(found.Students) > 1:
		return usagef("%s: %s match, but a record is about one student: choose with --bid, or --number if there is no bid",
			from["record"].name, wording.Many(len(found.Students), "student"))
	}
	return a.writeRecord(o, catalog, found)
}

// withBare returns the list and, for each value that begins or ends with whitespace, also the trimmed value.
func withBare(list []string) []string {
	all := slices.Clone(list)
	for _, text := range list {
		if bare, differs := privacy.WithoutBlanks(text); differs && !slices.Contains(all, bare) {
			all = append(all, bare)
		}
	}
	return all
}

// searchedText describes the runs, the history and the other data files that were searched.
func searchedText(r *maintenance.FindReport) string {
	text := wording.Many(r.Runs, "run")
	switch unnamed := wording.Many(r.Unnamed, "data file"); {
	case r.History && r.Unnamed > 0:
		text += ", the history and " + unnamed + " listed in neither"
	case r.History:
		text += " and the history"
	case r.Unnamed > 0:
		text += " and " + unnamed + " that no run lists"
	}
	if r.Unsearchable > 0 {
		subject := "they contain"
		if r.Unsearchable == 1 {
			subject = "it contains"
		}
		text += fmt.Sprintf(" (%s could not be searched: %s no names, or only pseudonyms made with a key that is not set)",
			wording.Count(r.Unsearchable), subject)
	}
	return text
}

// maxLocated is the maximum number of students whose places are shown. If there are more students, no places are shown.
const maxLocated = 3

// isInside reports whether a file is in a folder or in one of its subfolders.
func isInside(file, folder string) bool {
	resolve := func(path string) string {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		absolute, _ := filepath.Abs(path)
		return absolute
	}
	way, err := filepath.Rel(resolve(folder), resolve(filepath.Dir(file)))
	return err == nil && filepath.IsLocal(way)
}

// checkOutside returns a usage error if a file about students is in the destination. The path of the file may be empty.
func checkOutside(file string, catalog snapshot.Catalog, setting string) error {
	if folder := catalog.Info().Folder; file != "" && folder != "" && isInside(file, folder) {
		return usagef("%s: %q is in the destination, where no purge would find it: choose a file elsewhere", setting, file)
	}
	return nil
}

// foundStudentsText lists the students and, unless there are more than maxLocated, the places of their rows. schools
// maps the bids of schools to their names.
func foundStudentsText(r *maintenance.FindReport, catalog snapshot.Catalog, o *findOptions, schools map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s\n", wording.Many(len(r.Students), "student"), searchedText(r))
	for _, path := range r.Unreadable {
		fmt.Fprintf(&b, "not searched: %s, which neither a run nor the history lists: this file cannot be read, or its table is unknown\n", printable(path))
	}
	if n := len(r.Unknown); n > 0 {
		fmt.Fprintf(&b, "not searched: %s at the destination, which growth-export did not write: %s\n",
			wording.Many(n, "other file"), printable(wording.First(r.Unknown, maxListed)))
	}
	if len(r.Students) > maxLocated {
		fmt.Fprintf(&b, "choose one with --bid, or --number if there is no bid, to see where the rows are\n\n")
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		for _, s := range r.Students {
			short := func(list []string) string { return wording.Cut(printable(strings.Join(list, ", ")), wording.MaxName) }
			fmt.Fprintf(t, "%s\t%s\t%s\n", cmp.Or(bidText(s.Bid), "no bid"), short(s.Names), short(s.Numbers))
		}
		_ = t.Flush() // Writing to a strings.Builder cannot fail.
		return b.String()
	}
	for _, s := range r.Students {
		kind, bid := "bid      ", bidText(s.Bid)
		switch {
		case s.Bid == "":
			bid = "none"
		case s.Pseudonym:
			kind = "pseudonym"
		}
		fmt.Fprintf(&b, "\n%s  %s\n", kind, bid)
		var listed []string
		for _, bid := range s.Schools {
			text := bid
			if name := schools[bid]; name != "" {
				text = name + " (" + bid + ")"
			}
			listed = append(listed, text)
		}
		for _, list := range []struct {
			name   string
			values []string
		}{{"names    ", s.Names}, {"numbers  ", s.Numbers}, {"schools  ", listed}} {
			if len(list.values) > 0 {
				fmt.Fprintf(&b, "%s  %s\n", list.name, printable(strings.Join(list.values, ", ")))
			}
		}
		writePlaces(&b, s.Places)
		if text := foundByNumber(s); text != "" {
			fmt.Fprintf(&b, "note       %s\n", text)
		}
	}
	if r.WithoutBid > 0 {
		match, them := "match the name, but have", "them"
		if r.WithoutBid == 1 {
			match, them = "matches the name, but has", "it"
		}
		fmt.Fprintf(&b, "\n%s %s no bid and no number that identifies a student: only purging the school erases %s\n",
			wording.Many(r.WithoutBid, "more row"), match, them)
	}
	if len(r.Students) == 1 && o.record != "" {
		fmt.Fprintf(&b, "record     %s\n", printable(o.record))
		return b.String()
	}
	if len(r.Students) == 1 && !r.Students[0].Pseudonym {
		for _, next := range o.next(r.Students[0], absolute(catalog.String())) {
			fmt.Fprintf(&b, "next       %s\n", next)
		}
	}
	return b.String()
}

// next returns the commands that a user may want to run next. If the user has not typed the bid or number, the commands
// read it from a file, to keep it out of the arguments of the process.
func (o *findOptions) next(s *maintenance.FoundStudent, dest string) []string {
	value, list, noun := s.Bid, "students", "bid"
	if value == "" {
		value, list, noun = s.Numbers[0], "student-numbers", "number"
	}
	file := "@" + noun + ".txt"
	by, who, whom := noun, file, file
	switch {
	case o.name != "":
	case o.listFile != "" && (len(o.bids) > 0 || s.Bid == ""):
		who, whom = o.listFile, o.listFile
	case slices.Contains(o.bids, value):
		who, whom = value, value
	case s.Bid == "":
		if i := slices.IndexFunc(s.Numbers, func(number string) bool { return slices.Contains(o.numbers, number) }); i >= 0 {
			who, whom = s.Numbers[i], s.Numbers[i]
		}
	case len(o.bids) > 0: // the bid is a pseudonym, or was typed with whitespace around it
	default: // found by number
		by, who = "number", cmp.Or(o.listFile, strings.Join(o.numbers, ","))
	}
	next := []string{
		wording.Command("find", wording.Setting("dest"), dest, wording.Setting(by), who, wording.Setting("record"), "record.html"),
		wording.Command("purge", wording.Setting("dest"), dest, wording.Setting(list), whom, wording.Setting("dry-run")),
	}
	for i, value := range []string{who, whom} {
		if value == file && o.listFile != file {
			next[i] = fmt.Sprintf("write the %s to %s, then %s", noun, file[1:], next[i])
			break
		}
	}
	return next
}

// foundByNumber describes the rows of a student that have no bid and were found by a number alone. The text is empty if
// there is no such row.
func foundByNumber(s *maintenance.FoundStudent) string {
	rows := int64(0)
	for _, p := range s.Places {
		rows += p.ByNumber
	}
	return byNumberText(rows, mostStudents(s))
}

// mostStudents returns the maximum number of students who share a number by which rows of this student were found. It
// returns 0 if no other student has such a number.
func mostStudents(s *maintenance.FoundStudent) int {
	most := 0
	for _, n := range s.SharedNumbers {
		most = max(most, n)
	}
	return most
}

// bidText returns a bid for printing, in quotes if it begins or ends with whitespace that would otherwise be invisible.
func bidText(bid string) string {
	if _, blank := privacy.WithoutBlanks(bid); blank {
		return quoted(bid)
	}
	return printable(bid)
}

// writePlaces writes one line for each run, for the history, and for each data file that neither lists.
func writePlaces(b *strings.Builder, places []maintenance.FoundPlace) {
	for len(places) > 0 {
		first := places[0]
		n := slices.IndexFunc(places, func(p maintenance.FoundPlace) bool { return p.RunID != first.RunID || p.File != first.File })
		if n < 0 {
			n = len(places)
		}
		name := "history"
		switch {
		case first.File != "":
			name = "file " + printable(first.File) + ", which neither a run nor the history lists"
		case first.RunID != "":
			name = fmt.Sprintf("%s, run %s", snapshotName(first.Kind, first.SnapshotDate), first.RunID)
		}
		var rows []string
		for _, p := range places[:n] {
			text := wording.Count(p.Rows) + " " + p.Table
			if p.Mentions > 0 {
				text += fmt.Sprintf(" (and %s about others that mention the student)", wording.Count(p.Mentions))
			}
			rows = append(rows, text)
		}
		fmt.Fprintf(b, "rows       %s: %s\n", name, strings.Join(rows, ", "))
		places = places[n:]
	}
}

// studentRecord is the record of a student in JSON.
type studentRecord struct {
	*maintenance.FoundStudent

	Destination string `json:"destination"`
	ToolVersion string `json:"tool_version"`
	At          string `json:"searched_at"`
	// Unsearchable counts the runs, and the history, that could not be searched.
	Unsearchable int `json:"unsearchable_runs"`
}

// writeRecord writes all rows of the student to a file.
func (a *app) writeRecord(o *findOptions, catalog snapshot.Catalog, found *maintenance.FindReport) error {
	s := found.Students[0]
	var data bytes.Buffer
	at := a.now().UTC()
	if strings.EqualFold(filepath.Ext(o.record), ".html") {
		page := &report.Record{
			Destination: absolute(catalog.String()), ToolVersion: thisBuild().Version, At: at, Bid: s.Bid, Names: s.Names, Numbers: s.Numbers,
			Runs: found.Runs, Unsearchable: found.Unsearchable,
		}
		for _, place := range s.Places {
			page.Mentions += int(place.Mentions)
		}
		byNumber := int64(0)
		for i := range s.Records {
			if s.Records[i].ByNumber {
				byNumber++
			}
		}
		page.ByNumber = byNumberText(byNumber, mostStudents(s))
		for _, table := range schemas.Tables() {
			t := report.RecordTable{Name: table.Name, Doc: table.Doc}
			for _, r := range s.Records {
				if r.Table == table.Name {
					t.Rows = append(t.Rows, recordRow(r))
				}
			}
			if len(t.Rows) > 0 {
				page.Tables = append(page.Tables, t)
			}
		}
		if err := report.WriteRecord(&data, page); err != nil {
			return err
		}
	} else if err := writeJSON(&data, studentRecord{s, absolute(catalog.String()), thisBuild().Version, at.Format("2006-01-02T15:04:05Z"), found.Unsearchable}); err != nil {
		return err
	}
	if err := replaceFile(o.record, data.Bytes()); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

// maxPlaces is the maximum number of places that the page lists for a row. If a row is in more places, the page shows
// the first and the last place and the total number.
const maxPlaces = 4

func recordRow(r maintenance.FoundRecord) report.RecordRow {
	row := report.RecordRow{Places: strings.Join(r.Places, "; "), ByNumber: r.ByNumber}
	if n := len(r.Places); n > maxPlaces {
		row.Places = fmt.Sprintf("%s; ... ; %s (%s)", r.Places[0], r.Places[n-1], wording.Many(n, "place"))
	}
	for _, v := range r.Row {
		row.Values = append(row.Values, report.RecordValue{Column: v.Column, Text: v.Text()})
	}
	return row
}
