package maintenance

import (
	"context"
	"errors"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// VerifyHistory reads the files of the history again and compares them with its manifest. It returns a *RefusedError if
// there is no history. If another process replaces the history at the same time, everything is read again.
func VerifyHistory(ctx context.Context, catalog snapshot.Catalog) (*VerifyReport, error) {
	for {
		v := &verification{catalog: catalog, report: &VerifyReport{Problems: []Problem{}}}
		pointer, _, err := catalog.Read(ctx, snapshot.HistoryPointerPath)
		if errors.Is(err, sink.ErrNotFound) {
			return nil, catalog.NoHistory(ctx)
		}
		if err == nil {
			err = v.history(ctx)
		}
		if err != nil || v.report.OK() {
			return v.report, err
		}
		now, _, err := catalog.Read(ctx, snapshot.HistoryPointerPath)
		if err != nil || string(now) == string(pointer) {
			return v.report, err
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
		v.problem(snapshot.HistoryPointerPath, isMissing)
		return nil
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
