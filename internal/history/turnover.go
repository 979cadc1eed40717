package history

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// turnover holds the test results that a task added or removed. Why a result was removed is not known while the run is
// being staged, because another school may list it, so the turnover is written to files of the run. Once everything is
// staged, Explain derives the results of all schools from these files and the baseline. It cannot read the staged
// tables themselves, because a store such as S3 does not return them before they are published.
type turnover struct {
	resultColumns

	batch *rows.Batch
	files []sink.File // the files written so far
}

// maxTurnover is the size, in bytes, at which the batch is written to a file.
const maxTurnover = 8 << 20

// The columns of the turnover. They are followed by a count of rows for each table of the dataset.
const (
	turnoverSign = iota // 1 for an added result, -1 for a removed one
	turnoverBid
	turnoverStudent
	turnoverSubject
	turnoverSchool // null unless the result is to be explained; only such results have the columns that follow
	turnoverDistrict
	turnoverAgedOut
	turnoverLeft
	turnoverRows
)

func turnoverTable(dataset *schemas.Dataset) *schemas.Table {
	column := func(name string, t schemas.Type) schemas.Column {
		return schemas.Column{Name: name, Type: t, Class: schemas.None}
	}
	table := &schemas.Table{Name: "turnover", Columns: []schemas.Column{
		turnoverSign: column("sign", schemas.Int64), turnoverBid: column("test_result_bid", schemas.String),
		turnoverStudent: column("student_bid", schemas.String), turnoverSubject: column("subject_area", schemas.String),
		turnoverSchool: column("school", schemas.String), turnoverDistrict: column("district", schemas.String),
		turnoverAgedOut: column("aged_out", schemas.Boolean), turnoverLeft: column("left_roster", schemas.Boolean),
	}}
	for _, of := range dataset.Tables {
		table.Columns = append(table.Columns, column("rows_of_"+of.Name, schemas.Int64))
	}
	return table
}

func newTurnover(dataset *schemas.Dataset) *turnover {
	t := &turnover{batch: rows.New(turnoverTable(dataset))}
	t.setTable(dataset.Tables[0])
	return t
}

// add adds a result that was added (sign 1), or one that was removed (-1) but needs no reason because the run has
// another version of it.
func (t *turnover) add(b *rows.Batch, row int, sign int64) {
	t.append(sign, [...][]byte{textOf(b, t.bid, row), textOf(b, t.student, row), textOf(b, t.subject, row)})
	for column := turnoverSchool; column < len(t.batch.Cols); column++ {
		t.batch.Cols[column].AppendNull()
	}
}

// addLost adds a result that is to be explained.
func (t *turnover) addLost(lost *lostResult) {
	t.append(-1, [...][]byte{[]byte(lost.bid), []byte(lost.student), []byte(lost.subject)})
	columns := t.batch.Cols
	columns[turnoverSchool].AppendString(lost.school)
	columns[turnoverDistrict].AppendString(lost.district)
	columns[turnoverAgedOut].AppendBool(lost.agedOut)
	columns[turnoverLeft].AppendBool(lost.left)
	for i, n := range lost.rows {
		columns[turnoverRows+i].AppendInt64(n)
	}
}

func (t *turnover) append(sign int64, texts [3][]byte) {
	t.batch.N++
	t.batch.Cols[turnoverSign].AppendInt64(sign)
	for i, text := range texts {
		t.batch.Cols[turnoverBid+i].AppendText(text)
	}
}

// lostFrom returns the result in a row if it is to be explained, and nil otherwise.
func lostFrom(b *rows.Batch, row int) *lostResult {
	columns := b.Cols
	if columns[turnoverSchool].Null(row) {
		return nil
	}
	text := func(column int) string { return string(columns[column].Text(row)) }
	lost := &lostResult{
		school: text(turnoverSchool), district: text(turnoverDistrict),
		bid: text(turnoverBid), student: text(turnoverStudent), subject: text(turnoverSubject),
		agedOut: columns[turnoverAgedOut].Bool[row] != 0, left: columns[turnoverLeft].Bool[row] != 0,
	}
	for column := turnoverRows; column < len(columns); column++ {
		lost.rows = append(lost.rows, columns[column].I64[row])
	}
	return lost
}

// save writes the rows to a file of the run, and empties the batch.
func (t *turnover) save(ctx context.Context, catalog snapshot.Catalog, task snapshot.Task, run string) error {
	if t.batch.N == 0 {
		return nil
	}
	var data bytes.Buffer
	w := parquetfile.NewWriter(&data, t.batch.Table, parquetfile.Options{LeanRows: math.MaxInt})
	err := w.Append(t.batch)
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("encode the turnover of %s: %w", task, err)
	}
	file, err := catalog.WriteTurnover(ctx, run, task, data.Bytes())
	t.files = append(t.files, file)
	t.batch.Reset()
	return err
}

// Explain adds the reasons why test results are gone to the comparison of a staged run. Like Diff for published
// snapshots, it considers all schools.
func Explain(ctx context.Context, catalog snapshot.Catalog, staged *snapshot.StagedRun) error {
	if staged.Comparison == nil || len(staged.Turnover) == 0 {
		return nil
	}
	dataset, _ := schemas.Find(resultsTable)
	e := &explanation{
		staged: staged, dataset: dataset, catalog: catalog, table: turnoverTable(dataset),
		baseline: &side{catalog: catalog, manifest: staged.Baseline},
	}
	var lost []*lostResult
	for i, file := range staged.Turnover {
		err := e.read(ctx, file, func(b *rows.Batch, row int) {
			if r := lostFrom(b, row); r != nil {
				lost = append(lost, r)
			}
		})
		if err == nil && (len(lost) >= maxLost || i == len(staged.Turnover)-1) {
			err = (&day{results: e.results}).explain(ctx, lost, e.count)
			lost = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// explanation adds reasons to the comparison of a staged run.
type explanation struct {
	staged   *snapshot.StagedRun
	catalog  snapshot.Catalog
	baseline *side
	dataset  *schemas.Dataset // the dataset of test results
	table    *schemas.Table   // the table of the turnover
}

func (e *explanation) read(ctx context.Context, file sink.File, use func(b *rows.Batch, row int)) error {
	r := &fileReader{catalog: e.catalog, table: e.table, files: []sink.File{file}, checked: new(checkedFiles)}
	return r.each(ctx, use)
}

// results passes all results of the run to use: the baseline's results, with the additions and removals in the
// turnover.
func (e *explanation) results(ctx context.Context, use useResult) error {
	if err := e.baseline.results(ctx, nil, use); err != nil {
		return err
	}
	for _, file := range e.staged.Turnover {
		err := e.read(ctx, file, func(b *rows.Batch, row int) {
			use(b.Cols[turnoverBid].Text(row), b.Cols[turnoverStudent].Text(row), b.Cols[turnoverSubject].Text(row),
				int(b.Cols[turnoverSign].I64[row]))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// count adds a reason to the counts of a result and its children.
func (e *explanation) count(lost *lostResult, reason string) {
	for i, n := range lost.rows {
		if name := e.dataset.Tables[i].Name; n > 0 { // if n > 0, both snapshots have the table
			e.staged.Districts.Of(lost.district, name).Because[reason] += n
			e.staged.Comparison.Tables[name].Because[reason] += n
		}
	}
}
