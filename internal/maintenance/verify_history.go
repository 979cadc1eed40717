package maintenance

import (
	"context"
	"errors"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// VerifyHistory reads the files of the history again and compares them with its manifest. It returns a *RefusedError if
// there is no history. If it finds a problem and another process has replaced the history in the meantime, it starts
// over.
func VerifyHistory(ctx context.Context, catalog snapshot.Catalog) (*VerifyReport, error) {
	for {
		v := &verification{catalog: catalog, report: &VerifyReport{Problems: []Problem{}}}
		pointer, _, err := catalog.Read(ctx, snapshot.HistoryPointerPath)
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return nil, err
		}
		if err := v.history(ctx); err != nil || v.report.OK() {
			return v.report, err
		}
		now, _, err := catalog.Read(ctx, snapshot.HistoryPointerPath)
		if err == nil && string(now) == string(pointer) || errors.Is(err, sink.ErrNotFound) {
			return v.report, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (v *verification) history(ctx context.Context) error {
	history, err := v.catalog.ReadHistory(ctx)
	switch {
	case errors.Is(err, sink.ErrDamaged):
		v.problem(snapshot.HistoryPointerPath, "%v", err)
		return nil
	case err != nil:
		return err
	case history == nil:
		return v.catalog.NoHistory(ctx)
	}
	m := history.Manifest
	v.report.SnapshotDate, v.report.HistoryID = m.Through(), m.HistoryID
	if history.Pointer.Through != m.Through() {
		v.problem(snapshot.HistoryPointerPath, "it ends on %s, but its manifest ends on %s", history.Pointer.Through, m.Through())
	}
	v.tables(history.Pointer.Manifest, m.Tables)
	var purges []string
	for i := range m.Purges {
		purges = append(purges, m.Purges[i].ID)
	}
	if v.report.MissingProofs, err = v.catalog.MissingProofs(ctx, purges); err != nil {
		return err
	}
	_, err = sink.Map(ctx, hashConcurrency, m.Files(), v.file)
	return err
}
