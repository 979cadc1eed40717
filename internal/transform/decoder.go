package transform

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
)

// Page describes one page that was read.
type Page struct {
	Records int
	// Next is the cursor of the next page, empty on the last page. It may contain student data: never log it.
	Next string
}

// Result holds the rows of all pages.
type Result struct {
	// Tables are in the order of the dataset's tables, and Order is set in each. They belong to the decoder and are valid
	// until its Reset.
	Tables []*rows.Batch
	// Records counts the records received, except those that a cohort or a suppression list dropped while reading.
	// Duplicates counts how many of these records were dropped as duplicates.
	Records, Duplicates int64
	// Drift is sorted by table, field and kind.
	Drift []Drift
}

// Decoder collects the records of one chain of calls: all pages of one list, or one single read. It must be used by
// only one goroutine at a time. Reset keeps most of its memory for the next chain.
type Decoder struct {
	plan   *Plan
	tables []*tableRows
	params Params
	limits Limits
	count  int // records of all pages read, except dropped ones
	// others counts the records of the current page that were dropped. matched lists the students of the cohort whose rows
	// were kept, and suppressed lists the suppressed students whose rows were dropped.
	others              int
	matched, suppressed []int
	only                Only // selects the records that are kept; all records if Values is nil
	// childRows counts the child rows of all records, and recordChildRows counts the child rows of the current record.
	childRows       int64
	recordChildRows int
	recordDrift     int   // where the drift of the current record begins
	limitErr        error // set when a scan returns limitReached
	// runs holds the number of records in each run that was written.
	runs            []int
	childRowsInRuns int64
	modifiedInRuns  []int64 // tableRows.modified of the records in runs, in their order
	runSizes        runSizes
	drift           driftCounter

	// received is the number of bytes received for all pages.
	received int64

	// The fields below belong to the current page.
	body []byte
	// source is the reader of the rest of the body, or nil if body holds the rest. sourceErr is the error that ended the
	// reading. window keeps the memory of body for the next page.
	source    io.Reader
	sourceErr error
	window    []byte
	// depth is the number of brackets around the members of a record.
	depth   int
	skipper skipper
	// targets holds the members of the objects, by the id of the object and the number of the member.
	targets [][]target
	// unknown is the name of the last undeclared member, and unknownReplaced how many parts of it were replaced because
	// they are not valid text.
	unknown         []byte
	unknownReplaced int
	left            leftovers
	// dropped holds the positions, in ascending order, of the record's members that are replaced by a later member of the
	// same name. nextDropped is the next of these positions, or -1 if no position is left.
	dropped     []int
	nextDropped int
	text        []byte // scratch memory for one text
	sorted      []sortedRow
	maker       *privacy.Maker  // nil unless identifiers become pseudonyms
	finder      *privacy.Finder // nil unless students are suppressed
	outer       []outerMember
}

// NewDecoder returns an empty decoder without parameters.
func (p *Plan) NewDecoder() *Decoder {
	d := &Decoder{
		plan: p, targets: make([][]target, p.objects), nextDropped: -1, runSizes: defaultRunSizes, left: leftovers{off: p.withholdsExtra()},
	}
	if p.key != nil {
		d.maker = p.key.NewMaker()
	}
	if p.suppressed != nil {
		d.finder = p.suppressed.NewFinder()
	}
	for _, tp := range p.tables {
		t := newTableRows(p, tp)
		d.tables = append(d.tables, t)
		d.addTargets(t, tp.root)
	}
	return d
}

// target is a member with the column of its values.
type target struct {
	*member

	// next is the member that last followed this one, and is expected to follow it again. The first member of an object
	// follows the undeclared member.
	next   *target
	values *rows.Vector
	texts  *textIndex
}

func (d *Decoder) addTargets(t *tableRows, obj *objectPlan) {
	targets := make([]target, len(obj.members))
	for i := range obj.members {
		m := &obj.members[i]
		targets[i] = target{member: m, next: &targets[0]}
		switch {
		case m.kind.isColumn():
			targets[i].values, targets[i].texts = &t.cols[m.column], &t.indexes[m.column]
		case m.kind == nestedObject:
			d.addTargets(t, m.object)
		}
	}
	d.targets[obj.id] = targets
}

// Reset empties the decoder for calls with these parameters, which must not change before Finish or MergeRuns. A
// parameter that a column needs but params lacks is taken as empty.
func (d *Decoder) Reset(params Params) {
	d.params = params
	d.limits, d.only = unlimited, Only{}
	d.count, d.childRows, d.received = 0, 0, 0
	d.others, d.matched, d.suppressed, d.sorted = 0, d.matched[:0], d.suppressed[:0], nil
	d.runs, d.childRowsInRuns, d.modifiedInRuns = d.runs[:0], 0, nil
	d.drift.reset()
	block(d.tables).reset(d.plan, params)
}

// Records returns the number of records received, except those that a cohort or a suppression list dropped.
func (d *Decoder) Records() int { return d.count }

// ChildRows returns the number of child rows of these records.
func (d *Decoder) ChildRows() int64 { return d.childRows }

// Held returns the size in bytes of the rows that the decoder holds, without spare capacity.
func (d *Decoder) Held() int {
	n := 0
	for _, t := range d.tables {
		n += t.n * t.plan.width
		for i := range t.cols {
			n += len(t.cols[i].Data)
		}
	}
	return n
}

// Bytes returns the memory that the decoder holds, in bytes, including spare capacity.
func (d *Decoder) Bytes() int {
	n := d.drift.bytes() + d.left.bytes() +
		cap(d.window) + cap(d.skipper.open) + cap(d.unknown) + cap(d.text) + 8*cap(d.dropped) + 16*cap(d.sorted) + 8*cap(d.matched) + 8*cap(d.suppressed) + 8*cap(d.modifiedInRuns)
	for _, t := range d.tables {
		n += t.bytes()
	}
	return n
}

// prepare extends the columns of all tables to their whole capacity. It returns ErrTooLarge if the rows in the window
// might not fit in a batch.
func (d *Decoder) prepare() error {
	for _, t := range d.tables {
		if err := t.prepare(len(d.body)); err != nil {
			return err
		}
	}
	return nil
}

// finishPage reads the page whose body begins in the window. After an error, the decoder holds nothing of the page.
func (d *Decoder) finishPage() (page Page, err error) {
	if err = d.sourceErr; err == nil {
		page, err = d.readBody()
	}
	if d.sourceErr != nil {
		err = d.sourceErr
	}
	if err == nil {
		err = d.commitPage()
	}
	if err == nil {
		return page, nil
	}
	d.rollBack()
	if shape := (*ShapeError)(nil); errors.As(err, &shape) {
		return Page{}, err // the error already contains the dataset
	}
	return Page{}, fmt.Errorf("read a page of %s: %w", d.plan.dataset.Name, err)
}

// rollBack drops the rows and drift of the current page.
func (d *Decoder) rollBack() {
	for _, t := range d.tables {
		t.rewind(t.committed)
	}
	d.childRows = d.childRowsInRuns
	for _, t := range d.tables[1:] {
		t.starts = t.starts[:d.tables[0].committed]
		d.childRows += int64(t.committed)
	}
	d.left.reset()
	d.drift.rewind(0)
	d.others = 0
}

// commitPage accepts the rows of the current page. It returns ErrTooLarge if child rows repeat too much text of their
// records.
func (d *Decoder) commitPage() error {
	if slices.ContainsFunc(d.tables[1:], d.repeatsTooMuch) {
		return ErrTooLarge
	}
	d.count += d.pageRecords()
	d.others = 0
	for _, t := range d.tables {
		t.commit()
	}
	d.drift.commit()
	return nil
}

// pageRecords returns how many records of the current page were kept.
func (d *Decoder) pageRecords() int { return d.tables[0].n - d.tables[0].committed }

// repeatsTooMuch reports whether the rows of the table repeat too much text of their records. A batch holds such a text
// only once, but a file repeats it.
func (d *Decoder) repeatsTooMuch(t *tableRows) bool {
	records := d.tables[0]
	for _, p := range t.plan.parents {
		repeated := 0
		for r := records.committed; r < records.n; r++ {
			repeated += len(records.cols[p.from].Text(r)) * (t.childEnd(r) - int(t.starts[r]))
		}
		if int64(repeated) > d.maxRowBytes() {
			return true
		}
	}
	return false
}
