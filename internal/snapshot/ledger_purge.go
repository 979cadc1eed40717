package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// PurgedLedger is the ledger of a run after a purge.
type PurgedLedger struct {
	Data    []byte
	File    sink.File
	Removed map[string]LedgerRemoved // by dataset
	schools ManifestSchools
	// slowest, accepted and warnings are members of the manifest, without the purged schools and districts.
	slowest            []activity.SchoolTime
	accepted, warnings []review.Reason
}

// Rows returns how many rows were removed.
func (p *PurgedLedger) Rows() int64 {
	var n int64
	for _, removed := range p.Removed {
		n += removed.Rows()
	}
	return n
}

// PurgeLedger returns the ledger of a run without the rows of the schools and districts for which goes returns true, or
// nil if neither the ledger nor the manifest contains any of them. It does not write anything. It returns ErrDamaged if
// the ledger contains such rows, or the manifest such schools, and the ledger's hash is not the one in the manifest.
func (c Catalog) PurgeLedger(ctx context.Context, m *Manifest, goes func(school, district string) bool) (_ *PurgedLedger, err error) {
	object, err := c.Open(ctx, m.Ledger.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	hash, err := sink.HashFile(ctx, object, object.Size())
	if err != nil {
		return nil, err
	}
	purged := &PurgedLedger{Removed: make(map[string]LedgerRemoved), schools: m.Schools}
	var out bytes.Buffer
	table, fields := LedgerTable(), ledgerFields()
	writer := parquetfile.NewWriter(&out, table, parquetfile.Options{})
	batch := rows.New(table)
	err = readLedgerRows(object, object.Size(), func(row *LedgerRow) error {
		if goes(row.SchoolBid, row.DistrictBid) {
			removed := purged.Removed[row.Dataset]
			removed.add(row.Status, row.RowsWritten)
			removed.RowsWritten += row.RowsWritten
			purged.Removed[row.Dataset] = removed
			return ctx.Err()
		}
		appendLedgerRow(batch, fields, row)
		if batch.N < ledgerBatchRows {
			return ctx.Err()
		}
		defer batch.Reset()
		return writer.Append(batch)
	})
	if err == nil {
		err = writer.Append(batch)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Ledger.Path, err)
	}
	count, err := writer.Close()
	if err != nil {
		return nil, err
	}
	purged.Data = out.Bytes()
	purged.File = sink.File{Path: m.Ledger.Path, Rows: count, Bytes: int64(out.Len()), SHA256: sink.Hash(purged.Data)}
	named := purged.clear(m, goes)
	switch {
	case len(purged.Removed) == 0 && !named:
		return nil, nil
	// A purge may have written the manifest, but not yet the ledger.
	case hash != m.Ledger.SHA256 && purged.File.SHA256 != m.Ledger.SHA256:
		return nil, fmt.Errorf("%w: the SHA-256 of %s is not the one in the manifest", sink.ErrDamaged, m.Ledger.Path)
	}
	totals, err := ReadLedgerTotals(bytes.NewReader(purged.Data), purged.File.Bytes)
	if err != nil {
		return nil, err
	}
	ok, denied, failed, known := totals.Schools()
	for name := range purged.Removed {
		dataset, found := schemas.Find(name)
		known = known || found && !dataset.IsLookup()
	}
	if known {
		purged.schools.OK, purged.schools.Denied, purged.schools.Failed = ok, denied, failed
		purged.schools.Total = ok + denied + failed
	}
	return purged, nil
}

// clear removes the schools and districts from the failures, slowest schools, accepted reasons and warnings of the
// manifest. It reports whether it has removed any.
func (p *PurgedLedger) clear(m *Manifest, goes func(school, district string) bool) bool {
	p.schools.Failures = slices.DeleteFunc(slices.Clone(m.Schools.Failures), func(f SchoolFailure) bool { return goes(f.SchoolBid, "") })
	p.slowest = slices.DeleteFunc(slices.Clone(m.Activity.Slowest), func(s activity.SchoolTime) bool { return goes(s.School, "") })
	named := len(p.schools.Failures) < len(m.Schools.Failures) || len(p.slowest) < len(m.Activity.Slowest)
	without := func(reasons []review.Reason) []review.Reason {
		reasons = slices.Clone(reasons)
		for i := range reasons {
			var had bool
			reasons[i], had = reasons[i].Without(func(f review.Finding) bool { return goes(f.School, f.District) })
			named = named || had
		}
		return reasons
	}
	p.accepted = without(m.Accepted)
	if m.Comparison != nil {
		p.warnings = without(m.Comparison.Warnings)
	}
	return named
}
