package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// schemaOptions holds the settings of schema.
type schemaOptions struct {
	format string
	tables []string
	diff   string
}

func (a *app) schemaCommand() *cobra.Command {
	formats := render.Formats()
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].Name
	}
	o := &schemaOptions{}
	work := func(_ context.Context, o *schemaOptions, from sources) error {
		which, err := from.pick("table", "diff")
		format := &formats[slices.Index(names, o.format)]
		switch {
		case err != nil:
			return err
		case which == "table":
			return writeText(a.stdout, format.Tables(o.tables))
		case which == "diff":
			return a.diffSchema(o.diff)
		}
		return writeText(a.stdout, format.Text())
	}
	cmd := newCommand(a, o, work, "format table diff", &cobra.Command{
		Use:   "schema",
		Short: "Prints the tables: documentation, JSON, DDL, dbt sources",
		Long: "Prints the tables: documentation, JSON, DDL or dbt sources. --diff compares them with the JSON that an earlier" +
			" release printed, and exits with 0 if nothing has changed, 3 if tables or columns were added or their" +
			" descriptions changed, and 1 if a change can break a reader.",
		Example: "  growth-export schema --format duckdb\n" +
			"  growth-export schema --table students,test_results\n" +
			"  growth-export schema --format json > schema.json\n" +
			"  growth-export schema --diff schema.json",
	})
	g := group{cmd.Flags(), generalGroup}
	choose(g, &o.format, "format", "FORMAT", names[0], names, strings.Join(names, ", "))
	g.list(&o.tables, "table", checkTables, "only these tables")
	g.shownDefault("table", "all")
	define(g, &o.diff, "diff", "FILE", "", parsePath, "what has changed since this output of --format json")
	return cmd
}

func checkTables(names []string) ([]string, error) {
	var all []string
	for _, t := range schemas.Tables() {
		all = append(all, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			if strings.HasPrefix(name, "analysis_") {
				return nil, fmt.Errorf("%s is not a table but a view of growth-export sql --views analysis, whose view analysis_columns describes all columns", name)
			}
			return nil, fmt.Errorf("there is no table %s%s (the tables are %s)", quoted(name), didYouMean("", name, all), strings.Join(all, ", "))
		}
	}
	return names, nil
}

// diffSchema prints how the tables differ from the description in a file. It returns an error if a change can break a
// reader, and sets exitPartial if there are only other changes.
func (a *app) diffSchema(path string) error {
	earlier, err := os.ReadFile(path)
	if err != nil {
		return usagef("--diff: %w", err)
	}
	version, changes, err := render.Diff(earlier)
	if err != nil {
		return usagef("--diff: %s is not the output of growth-export schema --format json: %w", path, err)
	}
	if version == "" {
		version = "without a version"
	}
	var b strings.Builder
	counts := make(map[render.ChangeKind]int)
	fmt.Fprintf(&b, "schema %s, compared with schema %s: %s\n", schemas.Version, version, wording.Many(len(changes), "change"))
	for _, c := range changes {
		counts[c.Kind]++
		fmt.Fprintf(&b, "%-8s  %s: %s\n", c.Kind, printable(c.Where), printable(c.What))
	}
	if err := writeText(a.stdout, b.String()); err != nil {
		return err
	}
	if n := counts[render.Breaking]; n > 0 {
		return fmt.Errorf("the tables differ from %s: %s", path, wording.Many(n, "breaking change"))
	}
	if len(changes) > 0 {
		a.code = exitPartial
	}
	return nil
}
