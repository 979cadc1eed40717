package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas/render"
)

// describeLake returns a description of the Delta Lake tables for package render: all of them, or only the tables of
// the selected run.
func (a *app) describeLake(ctx context.Context, o *sqlOptions, from sources) (*render.Lake, error) {
	which, err := from.pick("snapshot-date", "effective-date", "run-id", "changes", "history")
	if err != nil {
		return nil, err
	}
	switch {
	case which != "" && which != "snapshot-date" && which != "run-id":
		return nil, usagef("--delta-lake can be used with one --snapshot-date or --run-id, but not with %s", from[which].name)
	case len(o.runIDs) > 1:
		return nil, usagef("--delta-lake can be used with only one run: give a single %s", from[which].name)
	}
	if o.kind() != render.TableViews && which == "" {
		return nil, usagef("--views %s needs one snapshot of the Delta Lake tables: give --snapshot-date or --run-id", o.views)
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return nil, err
	}
	lake := &render.Lake{Place: o.placeOf(catalog, "Delta Lake tables.")}
	var run *snapshot.Manifest
	found, err := await(ctx, func() ([]deltalake.Table, error) {
		if which == "" {
			return deltalake.Tables(ctx, catalog)
		}
		runs, err := o.runsToRead(ctx, catalog, which)
		if err != nil {
			return nil, err
		}
		run = runs[0]
		lake.Date, lake.Profile = run.SnapshotDate, run.Parameters.Profile()
		lake.Title = "Delta Lake tables, snapshot of " + lake.Date + ", run " + run.RunID + "."
		if run.Kind != snapshot.Full {
			return nil, usagef("run %s is not a full snapshot, and only full snapshots have Delta Lake tables", run.RunID)
		}
		return deltalake.Versions(ctx, catalog, run)
	})
	if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
		err = usagef("%w", refused)
	}
	if err == nil && len(found) == 0 {
		err = usagef("there are no Delta logs at %s: growth-export delta-lake writes them", catalog)
	}
	for _, t := range found {
		view := t.Name
		if t.History {
			view = "history_" + t.Name
		}
		byDistrict := run != nil && slices.ContainsFunc(run.Tables[t.Name].Files, func(f sink.File) bool { return strings.Contains(f.Path, "/district=") })
		lake.Tables = append(lake.Tables, render.LakeTable{Table: t.Table, View: view, Folder: t.Folder, Version: t.Version, District: byDistrict})
	}
	return lake, err
}
