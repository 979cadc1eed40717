package main

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/norms"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// sqlOptions holds the settings of sql.
type sqlOptions struct {
	destination
	config        string
	format        string
	dialect       string
	schema        string
	views         string
	norms         string
	snapshotDate  string
	effectiveDate string
	runIDs        []string
	changes       bool
}

func (a *app) sqlCommand() *cobra.Command {
	dialects := render.Dialects()
	names := make([]string, len(dialects))
	for i := range dialects {
		names[i] = dialects[i].Name
	}
	o := &sqlOptions{}
	work := func(ctx context.Context, o *sqlOptions, from sources) error {
		from.ignoreUnlessFlags("format", "history", "delta-lake")
		if from.given("format") && o.format == duckLake {
			lake, err := a.describeDuckLake(ctx, o, from)
			if err != nil {
				return err
			}
			return writeText(a.stdout, render.DuckLake(lake))
		}
		if err := o.checkNorms(from); err != nil {
			return err
		}
		if from.given("delta-lake") {
			lake, err := a.describeLake(ctx, o, from)
			if err != nil {
				return err
			}
			return writeText(a.stdout, dialects[slices.Index(names, o.dialect)].Lake(lake))
		}
		views, err := a.describeViews(ctx, o, from)
		if err != nil {
			return err
		}
		return writeText(a.stdout, dialects[slices.Index(names, o.dialect)].Views(views))
	}
	cmd := newCommand(a, o, work, "dest dialect views norms snapshot-date run-id changes history delta-lake format", &cobra.Command{
		Use:   "sql",
		Short: "Prints SQL that creates a view for each table of a snapshot",
		Long: "Prints SQL that creates a view for each table, over exactly the files of one run or of the" +
			" history. For delta runs, a view shows the latest row of each key. --views analysis" +
			" adds views for analysts; sector adds others, with columns of other programs' files." +
			" --format ducklake prints a script for a catalogue.",
		Example: "  growth-export sql --dest /data/growth > views.sql && duckdb -init views.sql\n" +
			"  growth-export sql --dialect spark --history --views analysis > views.sql",
	})
	o.define(cmd)
	which := group{cmd.Flags(), "What to read"}
	choose(which, &o.dialect, "dialect", "DIALECT", names[0], names, strings.Join(names, " or "))
	define(which, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "the snapshot of this date")
	which.shownDefault("snapshot-date", "the latest")
	define(which, &o.effectiveDate, "effective-date", "DATE", "", parseDate, "the enrollment as of this date")
	which.list(&o.runIDs, "run-id", checkRunIDs, "a published run, or several delta runs")
	which.toggle(&o.changes, "changes", "all delta runs at the destination")
	which.toggle(new(bool), "history", "the history of all snapshots")
	which.toggle(new(bool), "delta-lake", "the Delta Lake tables of all snapshots, or of one")
	choose(which, &o.format, "format", "FORMAT", sqlViews, []string{sqlViews, duckLake}, "views, or ducklake (for a catalogue)")
	choose(which, &o.views, "views", "VIEWS", tableViews, viewsNames(), "tables, analysis or sector")
	define(which, &o.norms, "norms", "FILE", "", parsePath,
		"growth norms, CSV or Parquet; implies --views analysis")
	define(which, &o.schema, "schema", "NAME", "", parseSchema,
		"create the views in this schema")
	which.onlyFlags("history", "delta-lake", "format")
	define(group{cmd.Flags(), generalGroup}, &o.config, "config", "FILE", "", parsePath,
		"YAML file of settings, named like the flags")
	return cmd
}

// The values of --format.
const (
	sqlViews = "views"
	duckLake = "ducklake"
)

// tableViews is the default of --views.
const tableViews = "tables"

// viewsNames returns the values of --views, indexed by render.Views.
func viewsNames() []string { return []string{tableViews, "analysis", "sector"} }

// kind returns the kind of views that --views selects.
func (o *sqlOptions) kind() render.Views { return render.Views(slices.Index(viewsNames(), o.views)) }

// checkNorms returns a usage error if the views do not use norms, or if a local file of norms is not valid. If norms
// are given without --views, it selects the views for analysts, because the views of tables do not use norms.
func (o *sqlOptions) checkNorms(from sources) error {
	switch {
	case o.norms == "":
		return nil
	case o.kind() == render.TableViews && from.given("views"):
		return usagef("--norms has no effect on --views tables: use it with --views analysis or --views sector")
	case o.kind() == render.TableViews:
		o.views = viewsNames()[render.AnalysisViews]
	}
	if strings.Contains(o.norms, "://") {
		return nil
	}
	if err := norms.Check(o.norms); err != nil {
		return usagef("--norms: %w", err)
	}
	return nil
}

func checkRunIDs(ids []string) ([]string, error) {
	for _, id := range ids {
		if _, err := parseRunID(id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// parseSchema accepts a name that is valid in every dialect.
func parseSchema(text string) (string, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`).MatchString(text) {
		return "", fmt.Errorf("%s is not a valid schema name: use 1 to 64 letters, digits or underscores, such as night_2026_11_20", quoted(text))
	}
	return text, nil
}

// describeViews returns a description of the selected runs, or of the history, for package render.
func (a *app) describeViews(ctx context.Context, o *sqlOptions, from sources) (*render.Snapshot, error) {
	which, err := from.pick("snapshot-date", "effective-date", "run-id", "changes", "history")
	if err != nil {
		return nil, err
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return nil, err
	}
	return await(ctx, func() (*render.Snapshot, error) {
		if which == "history" {
			return o.describeHistory(ctx, catalog)
		}
		manifests, err := o.runsToRead(ctx, catalog, which)
		if err != nil {
			return nil, err
		}
		s := o.describeSnapshot(manifests, catalog)
		if s.Views != render.TableViews && len(s.Deltas) > 0 {
			return nil, usagef("--views %s needs whole tables, but a delta run has only changed rows: use a snapshot or --history", o.views)
		}
		return s, nil
	})
}

// runsToRead returns the manifests of the selected runs: one run, or several delta runs, oldest first.
func (o *sqlOptions) runsToRead(ctx context.Context, catalog snapshot.Catalog, which string) ([]*snapshot.Manifest, error) {
	switch which {
	case "run-id":
		return runsByID(ctx, catalog, o.runIDs)
	case "changes":
		runs, err := catalog.DeltaRuns(ctx)
		if err == nil && len(runs) == 0 {
			err = fmt.Errorf("no delta run is published at %s: %w", catalog, errNothingPublished)
		}
		return runs, err
	}
	if which != "snapshot-date" {
		o.snapshotDate = ""
	}
	if which != "effective-date" {
		o.effectiveDate = ""
	}
	manifest, err := publishedRun(ctx, catalog, o.snapshotDate, o.effectiveDate)
	return []*snapshot.Manifest{manifest}, err
}

// placeOf returns the location of a destination and the settings of the views, for package render.
func (o *sqlOptions) placeOf(catalog snapshot.Catalog, title string) render.Place {
	info := catalog.Info()
	return render.Place{
		Title: title, Root: info.URL, HadoopRoot: info.HadoopURL, Session: info.Session, Schema: o.schema,
		Views: o.kind(), Norms: o.norms,
	}
}

// describeSnapshot returns a description of the runs for package render.
func (o *sqlOptions) describeSnapshot(manifests []*snapshot.Manifest, catalog snapshot.Catalog) *render.Snapshot {
	first, last := manifests[0], manifests[len(manifests)-1]
	what := map[snapshot.Kind]string{snapshot.Full: "Snapshot of ", snapshot.AsOf: "Enrollment as of ", snapshot.Delta: "Delta run of "}
	title := what[first.Kind] + first.SnapshotDate + ", run " + first.RunID + "."
	if len(manifests) > 1 {
		dates := make([]string, len(manifests)) // these are not always in order, because --snapshot-date can set them
		for i, m := range manifests {
			dates[i] = m.SnapshotDate
		}
		title = fmt.Sprintf("Changes from %s to %s, in %d delta runs.", slices.Min(dates), slices.Max(dates), len(manifests))
	}
	if first.Parameters.Filtered() {
		title += " It covers only some schools or students."
	}
	failed := int64(0)
	for _, m := range manifests {
		failed += m.Schools.Failed
	}
	if failed > 0 {
		title += " Rows are missing because " + wording.Many(failed, "school") + " failed."
	}
	s := &render.Snapshot{Place: o.placeOf(catalog, title)}
	s.Dates = []string{last.SnapshotDate}
	mixed := func(m *snapshot.Manifest) bool { return m.Parameters.Profile() != first.Parameters.Profile() }
	if !slices.ContainsFunc(manifests, mixed) {
		s.Profile = first.Parameters.Profile()
	}
	if first.Kind == snapshot.Delta {
		for _, m := range manifests {
			s.Deltas = append(s.Deltas, m.RunID)
		}
	}
	for _, table := range schemas.Tables() {
		folder := path.Dir(path.Clean(snapshot.DatePath(first.Kind, table.Name, first.SnapshotDate)))
		t := render.SnapshotTable{Table: table, Folder: folder}
		exported := false
		for _, m := range manifests {
			published, ok := m.Tables[table.Name]
			exported = exported || ok
			t.Rows += published.Rows
			for i := range published.Files {
				file := strings.TrimPrefix(published.Files[i].Path, folder+"/")
				t.Files = append(t.Files, file)
				t.District = t.District || strings.Contains(file, "/district=")
			}
		}
		if exported {
			s.Tables = append(s.Tables, t)
		}
	}
	return s
}
