package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// side is one of two snapshots that are compared.
type side struct {
	catalog  snapshot.Catalog
	manifest *snapshot.Manifest
	plan     *snapshot.Plan
	// buckets are the buckets of the schools.
	buckets map[string]int
	// complete holds what the ledger calls ok: a dataset of a school or district, or a whole lookup dataset.
	complete map[coverage]bool
	files    map[string]map[int]sink.File // by table and bucket
	checked  *checkedFiles
}

// coverage is a dataset and the school or district it was asked for.
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
				return nil, fmt.Errorf("%s is not named as a data file", file.Path)
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

// covers reports whether everything of a dataset was read for a school or district.
func (s *side) covers(dataset, unit string) bool { return s.complete[coverage{dataset, unit}] }

// reader reads a table of a snapshot, unit by unit. It opens one file at a time, and reads on from the unit before if it
// can.
type reader struct {
	fileReader

	side     *side
	cursor   *cursor
	bucket   int
	last     string    // the unit read last
	gathered *gathered // nil if the units are read from the files
}

// fileReader reads files of a table, one at a time.
type fileReader struct {
	catalog snapshot.Catalog
	table   *schemas.Table
	lacking []int // columns that the open file lacks
	// checked, unless nil, compares the hashes of files with the manifest before their rows are used.
	checked *checkedFiles

	object sink.Object
	file   *parquetfile.Reader
	// narrow holds rows of a file that lacks columns, which older, unless nil, finds in _extra.
	narrow *rows.Batch
	older  *older
}

// checkedFiles are files with the hashes that their manifest says. Each is hashed when it is first opened, not again when
// other units of it are read. It is safe for concurrent use.
type checkedFiles struct{ paths sync.Map }

func (c *checkedFiles) check(ctx context.Context, object sink.Object, file sink.File) error {
	if _, done := c.paths.Load(file.Path); done {
		return nil
	}
	if err := sink.CheckHash(ctx, object, file.SHA256); err != nil {
		return err
	}
	c.paths.Store(file.Path, true)
	return nil
}

// noBucket is the bucket of a reader that has no file open.
const noBucket = -1

func (s *side) reader(table *schemas.Table) *reader {
	return &reader{fileReader: fileReader{catalog: s.catalog, table: table, checked: s.checked}, side: s, bucket: noBucket}
}

// unit returns a cursor on the rows of a unit of a bucket.
func (r *reader) unit(ctx context.Context, bucket int, unit string) (*cursor, error) {
	if r.gathered != nil {
		of := r.gathered.units[unit]
		if r.cursor == nil {
			r.cursor = newCursor(r.table, nil)
		}
		r.cursor.restart(r.gathered.source(ctx, of))
		return r.cursor, nil
	}
	if bucket == r.bucket && unit >= r.last {
		r.last = unit
		return r.cursor, nil
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	r.bucket, r.last = bucket, unit
	next := func(*rows.Batch) (*rows.Batch, error) { return nil, io.EOF }
	if file, ok := r.side.files[r.table.Name][bucket]; ok {
		if err := r.open(ctx, file); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Path, err)
		}
		next = func(to *rows.Batch) (*rows.Batch, error) {
			if err := r.read(to); err != nil {
				if !errors.Is(err, io.EOF) {
					err = fmt.Errorf("read %s: %w", file.Path, err)
				}
				return nil, err
			}
			return to, ctx.Err()
		}
	}
	r.cursor = newCursor(r.table, next)
	return r.cursor, nil
}

func (r *fileReader) open(ctx context.Context, file sink.File) (err error) {
	if r.object, err = r.catalog.Open(ctx, file.Path); err != nil {
		return err
	}
	if r.object.Size() != file.Bytes {
		return fmt.Errorf("it has %d bytes, its manifest says %d: run verify", r.object.Size(), file.Bytes)
	}
	if r.checked != nil {
		if err := r.checked.check(ctx, r.object, file); err != nil {
			return err
		}
	}
	stored, err := parquetfile.TableOf(r.object, file.Bytes)
	if err != nil {
		return err
	}
	wanted, held := r.table, make([]string, 0, len(r.table.Columns))
	for i := range r.table.Columns {
		if column := &r.table.Columns[i]; stored.Column(column.Name) < 0 {
			if column.Required {
				return fmt.Errorf("it has no column %s", column.Name)
			}
			r.lacking = append(r.lacking, i)
		} else {
			held = append(held, column.Name)
		}
	}
	if len(r.lacking) > 0 {
		wanted = snapshot.SelectColumns(r.table, held...)
		r.narrow = rows.New(wanted)
		if r.older, err = newOlder(r.table, wanted, r.lacking); err != nil {
			return err
		}
	}
	if r.file, err = parquetfile.NewReader(r.object, file.Bytes, wanted); err == nil && len(r.lacking) == 0 {
		r.file.CodeTexts()
	}
	return err
}

// read appends the rows of the next page. Columns that the file lacks have the values of their members in _extra.
func (r *fileReader) read(to *rows.Batch) error {
	if len(r.lacking) == 0 {
		return r.file.Read(to)
	}
	r.narrow.Reset()
	if err := r.file.Read(r.narrow); err != nil {
		return err
	}
	var found *rows.Batch
	if r.older != nil {
		var err error
		if found, err = r.older.read(r.narrow); err != nil {
			return err
		}
	}
	for i := range to.Cols {
		name, source := r.table.Columns[i].Name, r.narrow
		from := source.Table.Column(name)
		if found != nil {
			if at := found.Table.Column(name); at >= 0 {
				source, from = found, at
			}
		}
		for row := range r.narrow.N {
			if from < 0 {
				to.Cols[i].AppendNull()
			} else {
				to.Cols[i].AppendRow(&source.Cols[from], source.Row(row))
			}
		}
	}
	to.N += r.narrow.N
	return nil
}

// close closes the open file.
func (r *reader) close() error {
	r.bucket = noBucket
	err := r.fileReader.close()
	if r.gathered != nil {
		err = errors.Join(err, r.gathered.draft.Abort())
		r.gathered = nil
	}
	return err
}

func (r *fileReader) close() error {
	var errs []error
	if r.file != nil {
		errs = append(errs, r.file.Close())
	}
	if r.object != nil {
		errs = append(errs, r.object.Close())
	}
	r.file, r.object, r.lacking, r.older = nil, nil, nil, nil
	return errors.Join(errs...)
}

// scan passes every row of some columns of a table to use.
func (s *side) scan(ctx context.Context, table *schemas.Table, use func(b *rows.Batch, row int), columns ...string) error {
	some := snapshot.SelectColumns(table, columns...)
	for _, file := range s.manifest.Tables[table.Name].Files {
		err := func() (err error) {
			object, err := s.catalog.Open(ctx, file.Path)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, object.Close()) }()
			return snapshot.ReadRows(object, file.Bytes, some, func(b *rows.Batch) error {
				for row := range b.N {
					use(b, row)
				}
				return ctx.Err()
			})
		}()
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
	}
	return nil
}

// value returns a text of a row, and whether it has one: neither null nor empty. column is -1 if the table lacks it.
func value(b *rows.Batch, column, row int) (string, bool) {
	found := textOf(b, column, row)
	return string(found), len(found) > 0
}

// textOf returns a text of a row, nil for a null, which is valid until the batch changes.
func textOf(b *rows.Batch, column, row int) []byte {
	if column < 0 || b.Cols[column].Null(row) {
		return nil
	}
	return b.Cols[column].Text(row)
}
