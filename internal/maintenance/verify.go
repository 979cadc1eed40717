package maintenance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

const (
	// hashConcurrency is the maximum number of files that are hashed at once, because a remote store takes tens of
	// milliseconds to answer each request.
	hashConcurrency = 16
	// scanConcurrency is the maximum number of files that are decoded, or whose last bytes are read, at once. Decoding
	// needs memory for a page of each file.
	scanConcurrency = 4
)

// Verify reads a published run again and compares it with its manifest, its ledger and its pointer. It lists missing,
// damaged or altered objects as problems. It returns a *RefusedError if no trace of the target exists, or if the target
// is not published or was replaced, and other errors if it cannot read the destination.
//
// A snapshot that another process replaces or purges at the same time is not reported as damaged. If Verify finds a
// problem, it reads the pointers and the manifest again. If they have changed, it starts over.
func Verify(ctx context.Context, catalog snapshot.Catalog, target VerifyTarget) (*VerifyReport, error) {
	for {
		v := &verification{catalog: catalog, report: &VerifyReport{Problems: []Problem{}}}
		report, err := v.verify(ctx, target)
		if err != nil || report.OK() {
			return report, err
		}
		if same, err := v.unchanged(ctx, target); same || err != nil {
			return report, err
		}
	}
}

func (v *verification) verify(ctx context.Context, target VerifyTarget) (*VerifyReport, error) {
	found, err := v.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	if found.run == "" && !slices.ContainsFunc(v.report.Problems, func(p Problem) bool { return p.Problem != Missing }) {
		return nil, target.unknown(v.catalog)
	}
	if found.run != "" {
		v.report.RunID = found.run
		if err := v.run(ctx, found); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(v.report.Problems, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return v.report, nil
}

// unchanged reports whether the pointers and the manifest still have the hashes that were verified.
func (v *verification) unchanged(ctx context.Context, target VerifyTarget) (bool, error) {
	again := &verification{catalog: v.catalog, report: &VerifyReport{}}
	found, err := again.locate(ctx, target)
	if err != nil || found.run != v.report.RunID || !maps.Equal(again.pointers, v.pointers) {
		return false, err
	}
	if found.run == "" {
		return true, nil
	}
	data, err := again.read(ctx, snapshot.ManifestPath(found.run))
	return data == nil && v.manifest == "" || data != nil && sink.Hash(data) == v.manifest, err
}

// run verifies the run that locate found.
func (v *verification) run(ctx context.Context, found located) error {
	path := snapshot.ManifestPath(found.run)
	data, err := v.read(ctx, path)
	if data == nil || err != nil {
		return err
	}
	if err := snapshot.CheckDocumentFormat(path, data); err != nil {
		return err
	}
	v.manifest = sink.Hash(data)
	manifest := new(snapshot.Manifest)
	if found.hash != "" && sink.Hash(data) != found.hash && !v.catalog.BeingPurged(ctx, found.run, sink.Hash(data), found.hash) {
		v.problem(path, "its SHA-256 is not the one in %s", found.pointer)
	}
	if err := json.Unmarshal(data, manifest); err != nil {
		v.problem(path, "%v: %v", sink.ErrDamaged, err)
		return nil
	}
	v.report.Kind, v.report.SnapshotDate = manifest.Kind, manifest.SnapshotDate
	if err := v.plan(ctx, path, found.run, manifest); err != nil {
		return err
	}
	v.tables(path, manifest.Tables)
	var purges []string
	for i := range manifest.Purges {
		purges = append(purges, manifest.Purges[i].ID)
	}
	if v.report.MissingProofs, err = v.catalog.MissingProofs(ctx, purges); err != nil {
		return err
	}

	files := []sink.File{manifest.Ledger}
	if v.catalog.LedgerBeingPurged(ctx, found.run) {
		files = nil
	}
	if manifest.Status == snapshot.Published {
		files = append(files, manifest.Files()...)
	} else {
		v.problem(path, "the status of the run is %q, so its files are not kept", manifest.Status)
	}
	sound, err := sink.Map(ctx, hashConcurrency, files, v.file)
	if err != nil {
		return err
	}
	if len(sound) > 0 && sound[0] && files[0].Path == manifest.Ledger.Path {
		return v.ledger(ctx, manifest)
	}
	return nil
}

// plan compares the manifest with the run's plan, if the plan can be read. The plan determines which pointer must refer
// to the manifest.
func (v *verification) plan(ctx context.Context, path, run string, manifest *snapshot.Manifest) error {
	if manifest.RunID != run {
		v.problem(path, "it is the manifest of another run")
	}
	if manifest.Ledger.Path != snapshot.LedgerPath(run) {
		v.problem(path, "its ledger belongs to another run")
	}
	plan, err := v.catalog.ReadPlan(ctx, run)
	if err != nil {
		return ctx.Err()
	}
	if manifest.Kind != plan.Kind || manifest.SnapshotDate != plan.SnapshotDate || manifest.BaseURL != plan.BaseURL ||
		!manifest.StartedAt.Equal(plan.PlannedAt) || !manifest.Parameters.Equal(plan.Scope) {
		v.problem(path, "it does not match %s", snapshot.PlanPath(run))
	}
	return nil
}

// tables compares the row count of each table in a manifest with the sum over the table's files.
func (v *verification) tables(path string, tables map[string]snapshot.ManifestTable) {
	for name, table := range tables {
		var sum int64
		for _, file := range table.Files {
			sum += file.Rows
		}
		if sum != table.Rows {
			v.problem(path, "table %s has %d rows, but its files have %d", name, table.Rows, sum)
		}
	}
}

// file compares a file with its entry in the manifest, and reports whether they match.
func (v *verification) file(ctx context.Context, file sink.File) (sound bool, err error) {
	object, err := v.catalog.Open(ctx, file.Path)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, sink.ErrNotFound):
		v.problem(file.Path, Missing)
		return false, nil
	case err != nil:
		v.problem(file.Path, "%v", err)
		return false, nil
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	sound = true
	bad := func(format string, args ...any) {
		sound = false
		v.problem(file.Path, format, args...)
	}
	size := object.Size()
	if _, ledger := strings.CutSuffix(file.Path, "/"+snapshot.LedgerName); !ledger {
		v.mu.Lock()
		v.report.Files++
		v.report.Rows += file.Rows
		v.report.Bytes += size
		v.mu.Unlock()
	}
	if size != file.Bytes {
		bad("it has %d bytes, but the manifest says %d", size, file.Bytes)
	}
	hash, err := sink.HashFile(ctx, object, size)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		bad("%v", err)
	case hash != file.SHA256:
		bad("its SHA-256 is not the one in the manifest")
	}
	info, err := parquetfile.Inspect(object, size)
	switch {
	case err != nil:
		bad("%v", err)
	case info.Rows != file.Rows:
		bad("its footer counts %d rows, but the manifest says %d", info.Rows, file.Rows)
	}
	return sound, nil
}

// ledger compares the totals of the ledger with the manifest.
func (v *verification) ledger(ctx context.Context, manifest *snapshot.Manifest) error {
	path := manifest.Ledger.Path
	object, err := v.catalog.Open(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		v.problem(path, Missing) // the ledger was removed after it was hashed
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	totals, err := snapshot.ReadLedgerTotals(object, object.Size())
	if err := errors.Join(err, object.Close()); err != nil {
		v.problem(path, "%v", err)
		return nil
	}
	for name, counts := range manifest.Datasets {
		removed := manifest.LedgerRemoved(name)
		// The ledger counts schools as they were when the run was published, except for schools that a purge removed from the
		// ledger.
		counts.SchoolsWithRow += manifest.SchoolsEmptied(name) - removed.SchoolsWithRow
		if found := totals.Datasets[name]; found != counts {
			v.problem(path, "dataset %s: the ledger counts %s; the manifest counts %s", name, countsText(found), countsText(counts))
		}
		dataset, ok := schemas.Find(name)
		if !ok {
			continue
		}
		table := dataset.Tables[0].Name
		rows, purged := manifest.Tables[table].Rows, manifest.Purged(table)-removed.RowsWritten
		if rows+purged != totals.Written[name] {
			v.problem(path, "it counts %d rows of dataset %s, but table %s has %d, and %d were purged",
				totals.Written[name], name, table, rows, purged)
		}
	}
	for name := range totals.Datasets {
		if _, ok := manifest.Datasets[name]; !ok {
			v.problem(path, "it has rows of dataset %s, which is not in the manifest", name)
		}
	}
	if totals.Uneven > 0 {
		v.problem(path, "%d rows with status ok: records received differ from rows written plus duplicates dropped", totals.Uneven)
	}
	schools := manifest.Schools
	if ok, denied, failed, known := totals.Schools(); known &&
		(ok != schools.OK || denied != schools.Denied || failed != schools.Failed) {
		v.problem(path, "it counts %d schools ok, %d denied and %d failed, but the manifest counts %d, %d and %d",
			ok, denied, failed, schools.OK, schools.Denied, schools.Failed)
	}
	if schools.Total != schools.OK+schools.Denied+schools.Failed {
		v.problem(snapshot.ManifestPath(manifest.RunID), "its counts of schools do not add up")
	}
	return nil
}

// countsText describes the counts of a dataset in words.
func countsText(d snapshot.ManifestDataset) string {
	return fmt.Sprintf("%d ok, %d denied, %d failed and %d with rows", d.OK, d.Denied, d.Failed, d.SchoolsWithRow)
}
