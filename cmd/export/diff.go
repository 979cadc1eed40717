package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Values of --by.
const (
	bySchool   = "school"
	byDistrict = "district"
	byColumn   = "column"
)

// diffOptions holds the settings of diff.
type diffOptions struct {
	general
	destination
	from  string
	to    string
	runID string
	with  string
	by    string
}

func (a *app) diffCommand() *cobra.Command {
	o := &diffOptions{}
	cmd := newCommand(a, o, a.diff, "dest from to by run-id with config output", &cobra.Command{
		Use:   "diff",
		Short: "Compares two published snapshots",
		Long: "Compares two published snapshots, table by table: how many rows are new, changed\n" +
			"or gone, and why. \"List changed\" means that the record is still there, but its list,\n" +
			"from which the row came, has changed. A school is compared in a dataset that is complete\n" +
			"in both snapshots; other schools are listed. Without flags it compares the newest full snapshot with the one before.",
		Example: "  growth-export diff --dest /data/growth\n" +
			"  growth-export diff --from 2026-09-01 --to 2026-11-20 --by district",
	})
	o.destination.define(cmd)
	which := group{cmd.Flags(), "What to compare"}
	define(which, &o.from, "from", "DATE", "", parseDate, "the earlier snapshot")
	which.shownDefault("from", "the one before --to")
	define(which, &o.to, "to", "DATE", "", parseDate, "the later snapshot")
	which.shownDefault("to", "the newest")
	define(which, &o.runID, "run-id", "ID", "", parseRunID, "the later run, of any kind")
	define(which, &o.with, "with", "ID", "", parseRunID, "the earlier run")
	choose(which, &o.by, "by", "WHAT", "", []string{bySchool, byDistrict, byColumn}, "also count by school, district or column")
	o.general.define(cmd)
	return cmd
}

func (a *app) diff(ctx context.Context, o *diffOptions, from sources) error {
	which, err := from.pick("run-id", "to")
	if err != nil {
		return err
	}
	if (o.runID == "") != (o.with == "") || which == "run-id" && o.from != "" {
		return usagef("give two dates (--from and --to) or two runs (--run-id and --with)")
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return err
	}
	if o.to != "" && o.from > o.to {
		a.newLogger(&o.general).WarnContext(ctx, "--from is later than --to, so rows that are new in the later snapshot count as gone", "from", o.from, "to", o.to)
	}
	var earlier, later *snapshot.Manifest
	found, err := await(ctx, func() (*history.Difference, error) {
		var err error // the caller has its own err, because await may return before this function does
		if earlier, later, err = snapshotsToCompare(ctx, catalog, o); err != nil {
			return nil, err
		}
		if err := checkComparable(earlier, later); err != nil {
			return nil, err
		}
		return history.Diff(ctx, catalog, earlier, later)
	})
	if errors.Is(err, sink.ErrNotFound) && !errors.Is(err, pipeline.ErrUsage) {
		err = &wording.AdvisedError{Err: err, Advice: wording.Restore}
	}
	if err != nil && !errors.Is(err, pipeline.ErrUsage) {
		return fmt.Errorf("compare snapshots at %s: %w", catalog, err)
	}
	if err != nil {
		return err
	}
	plan, err := catalog.ReadPlan(ctx, later.RunID)
	if err != nil && !snapshot.Unreadable(err) {
		return err
	}
	found.Warnings = pipeline.NameFindings(pipeline.Warnings(found.ByDistrict()), plan)
	value := struct {
		*snapshot.Comparison
		NotCompared []*history.NotCompared                          `json:"not_compared_schools"`
		By          map[string]map[string]*snapshot.TableComparison `json:"by,omitempty"`
	}{&found.Comparison, found.NotCompared, nil}
	if o.by == bySchool || o.by == byDistrict {
		value.By = countsBy(found, o.by)
	}
	names, err := await(ctx, func() (map[string]string, error) { return namesBy(ctx, catalog, o.by, earlier, later) })
	if err != nil {
		return fmt.Errorf("read the names of schools at %s: %w", catalog, err)
	}
	return a.writeOutput(o.output, value, diffText(found, later, o.by, names))
}

// snapshotsToCompare returns the manifests of the two selected snapshots.
func snapshotsToCompare(ctx context.Context, catalog snapshot.Catalog, o *diffOptions) (earlier, later *snapshot.Manifest, err error) {
	if o.runID != "" {
		for _, run := range []struct {
			manifest **snapshot.Manifest
			id       string
		}{{&earlier, o.with}, {&later, o.runID}} {
			found, err := runsByID(ctx, catalog, []string{run.id})
			if err != nil {
				return nil, nil, err
			}
			*run.manifest = found[0]
		}
		return earlier, later, nil
	}
	if later, err = publishedRun(ctx, catalog, o.to, ""); err != nil {
		return nil, nil, err
	}
	if o.from != "" {
		earlier, err = publishedRun(ctx, catalog, o.from, "")
	} else if earlier, err = catalog.Previous(ctx, later); err == nil && earlier == nil {
		err = usagef("there is no snapshot before %s with the same settings at %s: choose one with --from DATE",
			later.SnapshotDate, catalog)
	}
	return earlier, later, err
}

// checkComparable returns a usage error if the identifiers in two runs cannot be compared, because their privacy
// settings differ.
func checkComparable(earlier, later *snapshot.Manifest) error {
	if earlier.Parameters.SamePrivacy(later.Parameters.Scope) {
		return nil
	}
	return usagef("run %s was exported with --privacy %s, and run %s with %s: their identifiers cannot be compared",
		earlier.RunID, earlier.Parameters.PrivacyText(), later.RunID, later.Parameters.PrivacyText())
}

// namesBy maps the bids of schools or districts to their names in the plans of the runs. A district whose name is
// unknown is described by the first of its schools in alphabetical order and the number of its other schools. Schools
// without a name are ignored. If by is neither bySchool nor byDistrict, the map is empty.
func namesBy(ctx context.Context, catalog snapshot.Catalog, by string, runs ...*snapshot.Manifest) (map[string]string, error) {
	names := make(map[string]string)
	if by != bySchool && by != byDistrict {
		return names, nil
	}
	schools := make(map[string][]string)
	for _, run := range runs {
		plan, err := catalog.ReadPlan(ctx, run.RunID)
		if err != nil {
			return nil, err
		}
		if by == byDistrict {
			maps.Copy(names, plan.DistrictNames)
		}
		for i := range plan.Schools {
			school := &plan.Schools[i]
			if by == bySchool {
				names[school.Bid] = cmp.Or(school.Name, names[school.Bid])
			} else if school.Name != "" && !slices.Contains(schools[school.District], school.Name) {
				schools[school.District] = append(schools[school.District], school.Name)
			}
		}
	}
	for district, of := range schools {
		if names[district] != "" {
			continue
		}
		slices.Sort(of)
		names[district] = of[0]
		if len(of) > 1 {
			names[district] += " and " + wording.Many(int64(len(of)-1), "other school")
		}
	}
	return names, nil
}

// diffText returns the differences as text. names maps the bids of schools or districts to names.
func diffText(d *history.Difference, later *snapshot.Manifest, by string, names map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (run %s), compared with %s (run %s): %s compared, %s not\n", snapshotName(later.Kind, later.SnapshotDate),
		later.RunID, d.SnapshotDate, d.With, wording.Many(d.SchoolsCompared, "school"), wording.Count(d.SchoolsNotCompared))
	writeNotCompared(&b, d)
	writeCounts(&b, "", d.Tables, by == byColumn)
	for _, warning := range review.Lines(d.Warnings) {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	if by == bySchool || by == byDistrict {
		counts := countsBy(d, by)
		same := 0
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !slices.ContainsFunc(slices.Collect(maps.Values(counts[name])), (*snapshot.TableComparison).Differs) {
				same++
				continue
			}
			title := "(none)"
			if name != "" {
				title = wording.School(names[name], name)
			}
			fmt.Fprintf(&b, "\n%s %s\n", by, title)
			writeCounts(&b, "  ", counts[name], false)
		}
		if same > 0 {
			fmt.Fprintf(&b, "\nno differences in %s\n", wording.Many(int64(same), by))
		}
	}
	return b.String()
}

// maxSchoolLines is the maximum number of schools that are listed as not compared.
const maxSchoolLines = 10

// writeNotCompared lists up to maxSchoolLines schools that were not compared, and the number of further schools. If no
// school can be listed, it says why.
func writeNotCompared(b *strings.Builder, d *history.Difference) {
	listed := d.NotCompared[:min(len(d.NotCompared), maxSchoolLines)]
	for _, school := range listed {
		fmt.Fprintf(b, "not compared: %s\n", school)
	}
	switch more := d.SchoolsNotCompared - int64(len(listed)); {
	case more > 0 && len(listed) > 0:
		fmt.Fprintf(b, "not compared: %s\n", wording.Many(more, "more school"))
	case more > 0:
		fmt.Fprintf(b, "not compared: the two snapshots have no dataset of schools in common\n")
	}
}

// writeCounts writes a line for each table that differs, in declaration order, and one line for all others. If columns
// is true, it also writes a line for each changed column.
func writeCounts(b *strings.Builder, indent string, tables map[string]*snapshot.TableComparison, columns bool) {
	var same []string
	for _, name := range schemas.TablesInOrder(tables) {
		c := tables[name]
		if !c.Differs() {
			same = append(same, name)
			continue
		}
		fmt.Fprintf(b, "%s%s: %s; %s the same\n", indent, name, history.Describe(name, c), wording.Count(c.Same))
		if !columns {
			continue
		}
		for _, column := range tableColumns(name) {
			if n := c.ChangedColumns[column]; n > 0 {
				fmt.Fprintf(b, "%s  %s: %s changed\n", indent, column, wording.Count(n))
			}
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(b, "%sno differences: %s\n", indent, strings.Join(same, ", "))
	}
}

// tableColumns returns the names of a table's columns in order.
func tableColumns(name string) []string {
	table, _, _ := schemas.FindTable(name)
	names := make([]string, len(table.Columns))
	for i := range table.Columns {
		names[i] = table.Columns[i].Name
	}
	return names
}

// countsBy sums the differences by school or district. It leaves out rows that belong to neither a school nor a
// district, such as those in lookup tables. If by is bySchool, it also leaves out rows that belong only to a district.
func countsBy(d *history.Difference, by string) map[string]map[string]*snapshot.TableComparison {
	sums := make(map[string]map[string]*snapshot.TableComparison)
	for unit, tables := range d.Units {
		name := unit.School
		switch {
		case unit == history.Unit{}, by == bySchool && unit.School == "":
			continue
		case by == byDistrict:
			name = cmp.Or(unit.District, d.Districts[unit.School])
		}
		if sums[name] == nil {
			sums[name] = make(map[string]*snapshot.TableComparison)
		}
		for table, counts := range tables {
			if sums[name][table] == nil {
				sums[name][table] = snapshot.NewTableComparison()
			}
			sums[name][table].Add(counts)
		}
	}
	return sums
}
