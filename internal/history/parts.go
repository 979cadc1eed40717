package history

import (
	"context"
	"errors"
	"hash/fnv"
	"io"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// parts makes the files of a table's open versions. A file whose rows do not change is kept. If it turns out that rows
// do change, the file is read again.
type parts struct {
	files  *fileMaker
	table  *schemas.Table // the table with the columns of versions
	folder string
	before []sink.File
	cuts   bool // whether the table is split into several files by school
	day    int32
	// If held is not nil, the files in before are written again, except for the files in held.
	held map[string]bool

	// at is the index in before of the file that holds the next unread row, start is the position of that file's first
	// row, and pos is the number of rows used so far.
	at         int
	start, pos int64

	unit  string
	begun bool // whether a row of the unit has been added
	// The open part consists of count rows of the file before[from], unless it is being written to out.
	from   int
	count  int64
	out    *snapshot.TableFile
	number int

	begins *rows.Batch // the versions that begin
	made   []sink.File
}

// schoolsPerPart is the average number of schools in a part.
const schoolsPerPart = 32

// beginsPart reports whether a school begins a part. The result depends only on the bid, so adding or removing a school
// affects only the parts next to it.
func beginsPart(school string) bool {
	h := fnv.New32a()
	_, _ = io.WriteString(h, school) // it always succeeds
	sum := h.Sum32()
	return (sum^sum>>16)%schoolsPerPart == 0
}

// startUnit sets the unit of the rows that follow.
func (p *parts) startUnit(unit string) {
	if unit != p.unit {
		p.unit, p.begun = unit, false
	}
}

// startRow ends the open part if the unit begins another part.
func (p *parts) startRow(ctx context.Context) error {
	if p.begun {
		return nil
	}
	p.begun = true
	if p.cuts && (p.out != nil || p.count > 0) && beginsPart(p.unit) {
		return p.endPart(ctx)
	}
	return nil
}

// keep keeps n unread versions in their order. They start with row i of the batch.
func (p *parts) keep(ctx context.Context, b *rows.Batch, i, n int) error {
	if err := p.startRow(ctx); err != nil {
		return err
	}
	p.file()
	switch {
	case p.out != nil:
	case p.count == 0 && p.pos == p.start:
		p.from = p.at
		fallthrough
	case p.count > 0 && p.from == p.at && p.pos == p.start+p.count:
		p.count += int64(n)
		p.pos += int64(n)
		return nil
	}
	p.pos += int64(n)
	return p.write(ctx, b, i, n)
}

// file returns the path of the file that holds the next unread version.
func (p *parts) file() string {
	for p.pos >= p.start+p.before[p.at].Rows {
		p.start += p.before[p.at].Rows
		p.at++
	}
	return p.before[p.at].Path
}

// skip skips n unread versions, which end or have been written.
func (p *parts) skip(n int) { p.pos += int64(n) }

// write writes n versions, which start with row i of the batch. If the batch has the columns of a snapshot, each row
// begins a version.
func (p *parts) write(ctx context.Context, b *rows.Batch, i, n int) error {
	if err := p.startRow(ctx); err != nil {
		return err
	}
	if p.number < len(p.before) && p.held[p.before[p.number].Path] {
		p.from = p.number
		p.count += int64(n)
		return nil
	}
	if err := p.materialize(ctx); err != nil {
		return err
	}
	c := len(b.Cols)
	if c == len(p.table.Columns) {
		return p.out.AppendRows(b, i, i+n)
	}
	if p.begins == nil {
		p.begins = rows.New(p.table)
	}
	p.begins.Reset()
	p.begins.AppendRows(b, i, i+n)
	for range n {
		p.begins.Cols[c].AppendInt32(p.day)
		p.begins.Cols[c+1].AppendNull()
	}
	return p.out.Append(p.begins)
}

// materialize starts writing the open part to a file, beginning with the rows that have been kept so far.
func (p *parts) materialize(ctx context.Context) (err error) {
	if p.out != nil {
		return nil
	}
	path := p.folder + sink.PartName(p.number, p.files.id)
	if p.held != nil && p.number < len(p.before) {
		path = p.before[p.number].Path
	}
	if p.out, err = p.files.create(ctx, path, p.table); err != nil {
		return err
	}
	if p.count == 0 {
		return nil
	}
	source := newVersions(p.files.catalog, p.table, p.before[p.from:p.from+1], nil)
	defer func() { err = errors.Join(err, source.close()) }()
	batch := rows.New(p.table)
	for left := p.count; left > 0; {
		batch.Reset()
		if err := source.next(ctx, batch); err != nil {
			return err
		}
		n := min(left, int64(batch.N))
		left -= n
		if err := p.out.AppendRows(batch, 0, int(n)); err != nil {
			return err
		}
	}
	return nil
}

// endPart ends the open part, if it has rows.
func (p *parts) endPart(ctx context.Context) error {
	if p.out == nil {
		switch p.count {
		case 0:
			return nil
		case p.before[p.from].Rows:
			p.made = append(p.made, p.before[p.from])
			p.count = 0
			p.number++
			return nil
		}
		if err := p.materialize(ctx); err != nil {
			return err
		}
	}
	at := len(p.made)
	p.made = append(p.made, sink.File{})
	if err := p.files.stageInBackground(ctx, p.out, func(file sink.File) { p.made[at] = file }); err != nil {
		return err
	}
	p.out, p.count = nil, 0
	p.number++
	return nil
}

// finish ends the open part, and waits until all parts are staged.
func (p *parts) finish(ctx context.Context) error {
	if err := p.endPart(ctx); err != nil {
		return err
	}
	return p.files.settle()
}

// fileMaker stages the files of a fold, a purge or a restored history.
type fileMaker struct {
	catalog snapshot.Catalog
	id      string
	tables  *snapshot.Tables
	open    map[*snapshot.TableFile]bool
	staged  []sink.File
	staging *staging // nil if no file is being staged in the background
}

// staging is a file that is being staged in the background.
type staging struct {
	draft *snapshot.TableFile
	use   func(sink.File)
	done  chan struct{} // closed when file and err are set
	file  sink.File
	err   error
}

func newFileMaker(catalog snapshot.Catalog, id string) *fileMaker {
	return &fileMaker{
		catalog: catalog, id: id, tables: snapshot.NewHistoryTables(catalog), open: make(map[*snapshot.TableFile]bool),
	}
}

func (f *fileMaker) create(ctx context.Context, path string, table *schemas.Table) (*snapshot.TableFile, error) {
	file, err := f.tables.Create(ctx, path, table)
	if err == nil {
		f.open[file] = true
	}
	return file, err
}

// stage stages a file and returns its entry for the manifest.
func (f *fileMaker) stage(ctx context.Context, draft *snapshot.TableFile) (made sink.File, err error) {
	err = f.stageInBackground(ctx, draft, func(file sink.File) { made = file })
	return made, errors.Join(err, f.settle())
}

// stageInBackground begins to stage a file. Once the file is staged, settle passes its entry for the manifest to use.
func (f *fileMaker) stageInBackground(ctx context.Context, draft *snapshot.TableFile, use func(sink.File)) error {
	if err := draft.Close(); err != nil {
		return err
	}
	if err := f.settle(); err != nil {
		return err
	}
	s := &staging{draft: draft, use: use, done: make(chan struct{})}
	f.staging = s
	go func() {
		defer close(s.done)
		s.file, s.err = draft.Stage(ctx)
	}()
	return nil
}

// settle waits for the file that is being staged in the background, if there is one. It returns an error if that file
// could not be staged.
func (f *fileMaker) settle() error {
	s := f.staging
	if s == nil {
		return nil
	}
	<-s.done
	f.staging = nil
	if s.err != nil {
		return s.err
	}
	delete(f.open, s.draft)
	f.staged = append(f.staged, s.file)
	s.file.Staged = nil
	s.use(s.file)
	return nil
}

// abort drops all open and staged files.
func (f *fileMaker) abort(ctx context.Context) error {
	_ = f.settle() // a file that could not be staged is still open
	var errs []error
	for file := range f.open {
		errs = append(errs, file.Abort())
	}
	return errors.Join(append(errs, f.catalog.AbortAll(ctx, "", f.staged), f.catalog.Sweep(ctx, f.id))...)
}
