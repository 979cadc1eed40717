package norms

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"example.org/growthexport/schemas/render"
)

// Check checks that a CSV or Parquet file has all columns of growth norms, in any order and case, and no two rows with
// the same key. If the file has rows, at least one must be about a span that the views measure.
func Check(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the norms: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if render.IsParquet(path) {
		return checkParquet(path, file)
	}
	return checkCSV(path, file)
}

// rows checks one row at a time.
type rows struct {
	path    string
	numbers string // the unit of the numbers passed to check: lines or rows
	columns []int  // the positions of the key's columns
	seen    map[[render.NormsKey]string]int
	known   bool // whether any row is about a span that the views measure
}

// newRows returns a checker of rows with the given header. It returns an error if a column of growth norms is missing.
func newRows(path, numbers string, header []string) (*rows, error) {
	r := &rows{path: path, numbers: numbers, seen: make(map[[render.NormsKey]string]int)}
	var missing []string
	for i, name := range render.NormsColumns() {
		at := slices.IndexFunc(header, func(column string) bool { return strings.EqualFold(strings.TrimSpace(column), name) })
		if at < 0 {
			missing = append(missing, name)
		}
		if i < render.NormsKey {
			r.columns = append(r.columns, at)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks columns of growth norms: %s; it has %s", path, strings.Join(missing, ", "), strings.Join(header, ", "))
	}
	return r, nil
}

// check checks that no earlier row has the same key as the row with the given number. value must return the value of a
// column.
func (r *rows) check(number int, value func(column int) string) error {
	var key [render.NormsKey]string
	for i, column := range r.columns {
		key[i] = strings.ToLower(strings.TrimSpace(value(column)))
		if n, err := strconv.ParseFloat(key[i], 64); err == nil {
			key[i] = strconv.FormatFloat(n, 'g', -1, 64)
		}
	}
	if key[0] == "general science" {
		key[0] = "science"
	}
	if key[1] == "k" {
		key[1] = "0"
	}
	if before, found := r.seen[key]; found {
		return fmt.Errorf("%s has two rows for %s, grade %s, score %s, %s: %s %d and %d",
			r.path, key[0], key[1], key[2], key[3], r.numbers, before, number)
	}
	r.seen[key] = number
	r.known = r.known || slices.ContainsFunc(render.SpanNames(), func(name string) bool { return strings.EqualFold(name, key[3]) })
	return nil
}

// end checks, after the last row, that at least one row is about a span that the views measure.
func (r *rows) end() error {
	if len(r.seen) > 0 && !r.known {
		return fmt.Errorf("%s has no norms for the spans of the views: in at least one row, growth_window must be one of %s", r.path, strings.Join(render.SpanNames(), ", "))
	}
	return nil
}

func checkCSV(path string, file io.Reader) error {
	reader := csv.NewReader(file)
	header, err := reader.Read()
	if err != nil {
		return fmt.Errorf("read the first line of %s: %w", path, err)
	}
	header = slices.Clone(header)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	r, err := newRows(path, "lines", header)
	if err != nil {
		return err
	}
	reader.ReuseRecord = true
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		if err := r.check(line, func(column int) string { return record[column] }); err != nil {
			return err
		}
	}
}

func checkParquet(path string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	content, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var header []string
	for _, field := range content.Schema().Fields() {
		header = append(header, field.Name())
	}
	r, err := newRows(path, "rows", header)
	if err != nil {
		return err
	}
	reader := parquet.NewReader(file)
	defer func() { _ = reader.Close() }()
	batch := make([]parquet.Row, 512)
	for number := 1; ; {
		n, err := reader.ReadRows(batch)
		for _, row := range batch[:n] {
			if err := r.check(number, func(column int) string { return row[column].String() }); err != nil {
				return err
			}
			number++
		}
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
}
