package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// sqlOptions are the settings of sql.
type sqlOptions struct {
	destination
	config        string
	dialect       string
	snapshotDate  string
	effectiveDate string
}

func (a *app) sqlCommand() *cobra.Command {
	dialects := render.Dialects()
	names := make([]string, len(dialects))
	for i := range dialects {
		names[i] = dialects[i].Name
	}
	o := &sqlOptions{}
	cmd := &cobra.Command{
		Use:         "sql",
		Annotations: map[string]string{oftenAnnotation: "dest dialect snapshot-date effective-date config"},
		Short:       "Prints statements that make a view of each table of a snapshot",
		Args:        noArguments,
		Example: "  growth-export sql --dest /data/growth > views.sql && duckdb -init views.sql\n" +
			"  growth-export sql --dest s3://bucket/prefix --dialect spark > views.sql",
		RunE: resolved(a, o, func(ctx context.Context, o *sqlOptions, from sources) error {
			manifest, err := a.snapshotToRead(ctx, o, from)
			if err != nil {
				return err
			}
			snapshot, err := o.snapshot(manifest)
			if err != nil {
				return err
			}
			return dialects[slices.Index(names, o.dialect)].Write(a.stdout, snapshot)
		}),
	}
	o.define(cmd)
	which := group{cmd.Flags(), "What is read"}
	choose(which, &o.dialect, "dialect", "DIALECT", names[0], names, strings.Join(names, " or "))
	define(which, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "the snapshot of this date")
	which.shownDefault("snapshot-date", "the latest")
	define(which, &o.effectiveDate, "effective-date", "DATE", "", parseDate, "the enrollment as of this date")
	define(group{cmd.Flags(), generalGroup}, &o.config, "config", "FILE", "", parseText,
		"YAML file of settings, with the names of the flags")
	return cmd
}

// snapshotToRead returns the manifest of the run that was asked for.
func (a *app) snapshotToRead(ctx context.Context, o *sqlOptions, from sources) (*sink.Manifest, error) {
	which, err := from.choose("snapshot-date", "effective-date")
	if err != nil {
		return nil, err
	}
	if which != "snapshot-date" {
		o.snapshotDate = ""
	}
	if which != "effective-date" {
		o.effectiveDate = ""
	}
	store, err := a.existingStore(ctx, &o.destination, from)
	if err != nil {
		return nil, err
	}
	return await(ctx, func() (*sink.Manifest, error) {
		return publishedRun(ctx, store, o.snapshotDate, o.effectiveDate)
	})
}

// snapshot tells what SQL has to know of a run. A folder gets its absolute path,
// so that statements work wherever they are run.
func (o *sqlOptions) snapshot(m *sink.Manifest) (*render.Snapshot, error) {
	root := "s3://" + strings.TrimSuffix(o.place.bucket+"/"+o.place.prefix, "/")
	if o.place.folder != "" {
		absolute, err := filepath.Abs(o.place.folder)
		if err != nil {
			return nil, fmt.Errorf("resolve the destination: %w", err)
		}
		root = strings.TrimSuffix(filepath.ToSlash(absolute), "/")
	}
	what := "Snapshot of "
	if m.Kind == sink.AsOf {
		what = "Enrollment as of "
	}
	s := &render.Snapshot{Title: what + m.SnapshotDate + ", run " + m.RunID + ".", Root: root}
	for _, table := range schemas.Tables() {
		stands, exported := m.Tables[table.Name]
		if !exported {
			continue
		}
		folder := strings.TrimSuffix(sink.DatePath(m.Kind, table.Name, m.SnapshotDate), "/")
		folder = folder[:strings.LastIndexByte(folder, '/')]
		t := render.SnapshotTable{Table: table, Rows: stands.Rows, Folder: folder}
		for i := range stands.Files {
			file := strings.TrimPrefix(stands.Files[i].Path, folder+"/")
			t.Files = append(t.Files, file)
			t.District = t.District || strings.Contains(file, "/district=")
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

// errNothingPublished says that there is no snapshot where one was looked for.
var errNothingPublished = usagef("see growth-export status for what is there")

// publishedRun returns the manifest of the snapshot of a date, or of the
// enrollment as of a date, or else of the latest snapshot.
func publishedRun(ctx context.Context, store sink.Store, snapshotDate, effectiveDate string) (*sink.Manifest, error) {
	var manifest *sink.Manifest
	var err error
	what := "latest snapshot"
	none := "no snapshot of all schools is published"
	switch {
	case snapshotDate != "":
		what = "snapshot of " + snapshotDate
		none = "there is no " + what
		manifest, err = sink.Standing(ctx, store, sink.Full, snapshotDate)
	case effectiveDate != "":
		what = "enrollment as of " + effectiveDate
		none = "there is no " + what
		manifest, err = sink.Standing(ctx, store, sink.AsOf, effectiveDate)
	default:
		manifest, err = sink.LatestRun(ctx, store)
	}
	switch {
	case err != nil && !errors.Is(err, sink.ErrNotFound):
		return nil, fmt.Errorf("read the %s: %w", what, err)
	case manifest == nil:
		return nil, fmt.Errorf("%s at %s: %w", none, store, errNothingPublished)
	}
	return manifest, nil
}
