package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// side is a snapshot that is compared with another one or folded into a history.
type side struct {
	catalog  snapshot.Catalog
	manifest *snapshot.Manifest
	plan     *snapshot.Plan
	// buckets holds the index of each school's bucket.
	buckets map[string]int
	// complete contains the datasets and units with status ok in the ledger. The unit is a school or a district, or empty
	// for a whole lookup dataset.
	complete map[coverage]bool
	files    map[string]map[int]sink.File // by table and bucket
	checked  *checkedFiles
}

// coverage is a dataset and the school or district for which it was requested.
type coverage struct{ dataset, unit string }

func openSide(ctx context.Context, catalog snapshot.Catalog, manifest *snapshot.Manifest) (*side, error) {
	plan, err := catalog.ReadPlan(ctx, manifest.RunID)
	if err != nil {
		return nil, err
	}
	s := &side{
		catalog: catalog, manifest: manifest, plan: plan, buckets: make(map[string]int), complete: make(map[coverage]bool),
		files: make(map[string]map[int]sink.File), checked: new(checkedFiles),
	}
	for _, bucket := range plan.Buckets {
		for _, school := range plan.Schools[bucket.First:bucket.End] {
			s.buckets[school.Bid] = bucket.Index
		}
	}
	err = catalog.ReadLedger(ctx, manifest.RunID, func(row *snapshot.LedgerRow) {
		if row.Status == snapshot.StatusOK {
			s.complete[coverage{row.Dataset, row.SchoolBid + row.DistrictBid}] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for name, table := range manifest.Tables {
		s.files[name] = make(map[int]sink.File, len(table.Files))
		for _, file := range table.Files {
			part, ok := sink.ParsePart(file.Path)
			if !ok {
				return nil, fmt.Errorf("%s does not have the name of a data file", file.Path)
			}
			s.files[name][part.Number] = file
		}
	}
	return s, nil
}

// units lists the units of a dataset, in the order of the snapshot's plan.
func (s *side) units(dataset *schemas.Dataset) []Unit {
	var units []Unit
	switch {
	case dataset.Per == schemas.PerDistrict:
		for _, district := range s.plan.Districts {
			units = append(units, Unit{District: district})
		}
	case dataset.IsLookup():
		units = []Unit{{}}
	default:
		for i := range s.plan.Schools {
			units = append(units, Unit{School: s.plan.Schools[i].Bid})
		}
	}
	return units
}

// covers reports whether a dataset was read completely for a school or district.
func (s *side) covers(dataset, unit string) bool { return s.complete[coverage{dataset, unit}] }

// reader reads a table of a snapshot, unit by unit. It opens one file at a time, and continues after the previous unit
// if possible.
type reader struct {
	fileReader

	side     *side
	rows     *cursor
	bucket   int
	last     string    // the unit read last
	gathered *gathered // nil if the units are read from the files
}

// noBucket is the bucket of a reader that has no file open, and the bucket before the first unit in isScattered.
const noBucket = -1

func (s *side) reader(table *schemas.Table) *reader {
	return &reader{fileReader: fileReader{catalog: s.catalog, table: table, checked: s.checked}, side: s, bucket: noBucket}
}

// wholeReader returns a reader for all units of a table, in their order.
func (s *side) wholeReader(table *schemas.Table) *reader {
	r := s.reader(table)
	r.ahead = openAhead(s.catalog, r.filesOf(slices.Sorted(maps.Keys(s.files[table.Name]))...))
	return r
}

// unit returns a cursor that reads the rows of a unit in a bucket.
func (r *reader) unit(ctx context.Context, bucket int, unit string) (*cursor, error) {
	if r.gathered != nil {
		of := r.gathered.units[unit]
		if r.rows == nil {
			r.rows = newCursor(r.table, nil)
		}
		r.rows.restart(r.gathered.source(ctx, of))
		return r.rows, nil
	}
	if bucket == r.bucket && unit >= r.last {
		r.last = unit
		return r.rows, nil
	}
	if err := r.closeFile(); err != nil {
		return nil, err
	}
	r.bucket, r.last = bucket, unit
	r.files = r.filesOf(bucket)
	r.rows = r.cursor(ctx)
	return r.rows, nil
}

// filesOf returns the table's files of the given buckets.
func (r *reader) filesOf(buckets ...int) []sink.File {
	var files []sink.File
	for _, bucket := range buckets {
		if file, ok := r.side.files[r.table.Name][bucket]; ok {
			files = append(files, file)
		}
	}
	return files
}

// close closes the open file and drops the gathered rows.
func (r *reader) close() error {
	r.bucket = noBucket
	err := r.fileReader.close()
	if r.gathered != nil {
		err = errors.Join(err, r.gathered.draft.Abort())
		r.gathered = nil
	}
	return err
}

// scan reads the given columns of a table and passes every row to use.
func (s *side) scan(ctx context.Context, table *schemas.Table, use func(b *rows.Batch, row int), columns ...string) error {
	files := s.manifest.Tables[table.Name].Files
	r := &fileReader{
		catalog: s.catalog, table: snapshot.SelectColumns(table, columns...), files: files, ahead: openAhead(s.catalog, files),
	}
	return r.each(ctx, use)
}

// value returns the text in a column of a row, and whether it is neither null nor empty. column is -1 if the table
// lacks the column.
func value(b *rows.Batch, column, row int) (string, bool) {
	found := textOf(b, column, row)
	return string(found), len(found) > 0
}

// textOf returns the text in a column of a row, or nil if the value is null or column is -1. The text is valid until
// the batch changes.
func textOf(b *rows.Batch, column, row int) []byte {
	if column < 0 || b.Cols[column].Null(row) {
		return nil
	}
	return b.Cols[column].Text(row)
}
