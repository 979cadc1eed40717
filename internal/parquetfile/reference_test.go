package parquetfile

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// reference writes a table with the library's writer, through its ColumnWriters, with the same compression and the same
// rows per page and row group. A benchmark compares it with this package's writer, and a test shows that both write the
// same rows.
type reference struct {
	w       *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	opts    Options
	page    int // rows in the open page
	group   int // rows in the open row group
	values  []parquet.Value
}

func newReference(out io.Writer, table *schemas.Table, opts Options) *reference {
	var sorting []parquet.SortingColumn
	for _, k := range table.KeyColumns() {
		sorting = append(sorting, parquet.NullsFirst(parquet.Ascending(table.Columns[k].Name)))
	}
	r := &reference{opts: opts.withDefaults()}
	r.w = parquet.NewGenericWriter[any](out, parquet.NewSchema(table.Name, newOrderedGroup(table)),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.DataPageVersion(1), parquet.DataPageStatistics(false), parquet.PageBufferSize(1<<20),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)))
	r.reset(out)
	return r
}

func (r *reference) reset(out io.Writer) {
	r.w.Reset(out)
	r.columns, r.page, r.group = r.w.ColumnWriters(), 0, 0
}

func (r *reference) append(b *rows.Batch) error {
	for i := 0; i < b.N; {
		n := min(b.N-i, r.opts.PageRows-r.page, r.opts.RowGroupRows-r.group)
		for c := range b.Cols {
			r.values = appendValues(r.values[:0], &b.Cols[c], i, i+n, c)
			if _, err := r.columns[c].WriteRowValues(r.values); err != nil {
				return err
			}
		}
		i, r.page, r.group = i+n, r.page+n, r.group+n
		switch {
		case r.group == r.opts.RowGroupRows:
			if err := r.w.Flush(); err != nil {
				return err
			}
			r.page, r.group = 0, 0
		case r.page == r.opts.PageRows:
			for _, c := range r.columns {
				if err := c.Flush(); err != nil {
					return err
				}
			}
			r.page = 0
		}
	}
	return nil
}

func (r *reference) close() error { return r.w.Close() }

// orderedGroup is a group of columns in declared order; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group

	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

func newOrderedGroup(table *schemas.Table) orderedGroup {
	group := parquet.Group{}
	for _, c := range table.Columns {
		node := map[schemas.Type]parquet.Node{
			schemas.String: parquet.String(), schemas.JSON: parquet.String(), schemas.Boolean: parquet.Leaf(parquet.BooleanType),
			schemas.Int32: parquet.Leaf(parquet.Int32Type), schemas.Int64: parquet.Leaf(parquet.Int64Type),
			schemas.Double: parquet.Leaf(parquet.DoubleType), schemas.Date: parquet.Date(),
			schemas.Timestamp: parquet.Timestamp(parquet.Microsecond),
		}[c.Type]
		// The encodings that suit most columns of a type. Only this package's writer chooses by the values.
		switch unique := c.Key && c.Source != "" && c.Source[0] >= 'a'; {
		case c.Type == schemas.Int64 || c.Type == schemas.Timestamp:
			node = parquet.Encoded(node, &parquet.DeltaBinaryPacked)
		case c.Type == schemas.JSON || unique:
			node = parquet.Encoded(node, &parquet.DeltaLengthByteArray)
		case c.Type != schemas.Boolean:
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		if !c.Required {
			node = parquet.Optional(node)
		}
		group[c.Name] = node
	}
	fields := group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return table.Column(a.Name()) - table.Column(b.Name()) })
	return orderedGroup{group, fields}
}

// appendValues appends the rows i to j, exclusive, of a column.
func appendValues(values []parquet.Value, v *rows.Vector, i, j, column int) []parquet.Value {
	level := 1
	if v.Required {
		level = 0
	}
	for ; i < j; i++ {
		var x parquet.Value
		switch {
		case v.Null(i):
			values = append(values, parquet.NullValue().Level(0, 0, column))
			continue
		case v.IsText():
			x = parquet.ByteArrayValue(v.Text(i))
		case v.I32 != nil:
			x = parquet.Int32Value(v.I32[i])
		case v.I64 != nil:
			x = parquet.Int64Value(v.I64[i])
		case v.F64 != nil:
			x = parquet.DoubleValue(v.F64[i])
		default:
			x = parquet.BooleanValue(v.Bool[i] != 0)
		}
		values = append(values, x.Level(0, level, column))
	}
	return values
}

// TestReference checks that the reference writes the same rows, in the same pages, but larger files.
func TestReference(t *testing.T) {
	t.Parallel()
	table, opts := everyType(), Options{PageRows: 100, RowGroupRows: 350}
	all := randomRows(rand.New(rand.NewPCG(8, 8)), table, 1000)
	var out bytes.Buffer
	r := newReference(&out, table, opts)
	require.NoError(t, r.append(batchOf(t, table, all)))
	require.NoError(t, r.close())
	requireRows(t, all, read(t, table, out.Bytes()))
	ours, err := parquet.OpenFile(bytes.NewReader(write(t, table, all, opts)), int64(len(write(t, table, all, opts))))
	require.NoError(t, err)
	theirs, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	require.Len(t, theirs.RowGroups(), len(ours.RowGroups()))
	for i, want := range theirs.OffsetIndexes() {
		for p, page := range want.PageLocations {
			require.Equal(t, page.FirstRowIndex, ours.OffsetIndexes()[i].PageLocations[p].FirstRowIndex)
		}
		require.Equal(t, theirs.ColumnIndexes()[i].NullCounts, ours.ColumnIndexes()[i].NullCounts)
		require.Equal(t, theirs.ColumnIndexes()[i].NullPages, ours.ColumnIndexes()[i].NullPages)
	}

	var sizes [2]counter
	for _, batch := range resultBatches(t, 4, 500) {
		w := NewWriter(&sizes[0], batch.Table, Options{})
		require.NoError(t, w.Append(batch))
		_, err := w.Close()
		require.NoError(t, err)
		r := newReference(&sizes[1], batch.Table, Options{})
		require.NoError(t, r.append(batch))
		require.NoError(t, r.close())
	}
	require.Less(t, float64(sizes[0]), 0.95*float64(sizes[1]))
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// resultBatches returns sorted rows of the three tables of test results, as in a bucket of ordinary schools: about six
// results per student, three norms and four areas per result.
func resultBatches(tb testing.TB, schools, results int) []*rows.Batch {
	tb.Helper()
	dataset, ok := schemas.Find("test_results")
	require.True(tb, ok)
	batches := make([]*rows.Batch, len(dataset.Tables))
	for i, table := range dataset.Tables {
		batches[i] = rows.New(table)
	}
	r := rand.New(rand.NewPCG(1, 2))
	terms, areas := randomIDs(r, 3), randomIDs(r, 20)
	subjects := []string{"Mathematics", "Reading", "Language Usage", "Science"}
	levels := []string{"2-5", "6+", "K-2"}
	for _, school := range randomIDs(r, schools) {
		students := randomIDs(r, max(results/6, 1))
		for _, result := range randomIDs(r, results) {
			subject := r.IntN(len(subjects))
			rit := 140 + r.IntN(120)
			start := int64(17e14) + int64(r.IntN(300*86400))*1e6
			duration := int64(1_200_000 + r.IntN(3_000_000)) // ms
			shown := 40 + r.IntN(14)
			score := strconv.Itoa(200+5*r.IntN(250)) + "L"
			values := map[string]any{
				"requested_school_bid": school, "test_result_bid": result, "student_bid": students[r.IntN(len(students))],
				"school_bid": school, "term_bid": terms[r.IntN(3)], "subject_area": subjects[subject],
				"grade":     strconv.Itoa(1 + r.IntN(12)),
				"test_name": "Growth: " + subjects[subject] + " " + levels[r.IntN(3)] + " CCSS 2010 V4",
				"test_key":  strconv.Itoa(4000 + r.IntN(30)), "test_type": "Survey With Goals",
				"growth_event_yn": r.IntN(10) > 0, "duration": duration, "status": "Completed",
				"rit": rit, "standard_error": float64(28+r.IntN(10)) / 10, "rit_score_high": rit + 3, "rit_score_low": rit - 3,
				"items_shown": shown, "items_correct": shown/2 + r.IntN(8), "items_total": shown,
				"response_disengaged_percentage": float64(r.IntN(30)), "impact_of_disengagement": float64(r.IntN(300)) / 100,
				"administration_start_date_time": start, "administration_end_date_time": start + duration*1000,
				"modified_date_time": start + duration*1000 + r.Int64N(86400e3)*1000,
			}
			prefix := map[int][]string{
				0: {"quantile_score", "quantile_range", "quantile_minimum", "quantile_maximum"},
				1: {"lexile_score", "lexile_range", "lexile_min", "lexile_max"},
			}[subject]
			if r.IntN(10) > 0 {
				for _, name := range prefix {
					values[name] = score
				}
			}
			fill(tb, batches[0], values)
			for i := range 3 {
				fill(tb, batches[1], map[string]any{
					"requested_school_bid": school, "test_result_bid": result, "ordinal": i, "percentile": 1 + r.IntN(99),
					"reference": []string{"2015", "2020", "2025"}[i], "type": []string{"achievement", "growth"}[r.IntN(2)],
				})
			}
			for i := range 4 {
				score := float64(rit*10+r.IntN(100)-50) / 10
				fill(tb, batches[2], map[string]any{
					"requested_school_bid": school, "test_result_bid": result, "ordinal": i,
					"instructional_area_bid":  areas[subject*5+i],
					"instructional_area_name": "Area " + strconv.Itoa(i) + " of " + subjects[subject],
					"score":                   score, "standard_error": float64(50+r.IntN(30)) / 10, "score_low": score - 6.5, "score_high": score + 6.5,
				})
			}
		}
	}
	return batches
}

// randomIDs returns sorted identifiers that look like UUIDs.
func randomIDs(r *rand.Rand, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		var b [16]byte
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		h := hex.EncodeToString(b[:])
		ids[i] = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	slices.Sort(ids)
	return ids
}

// fill appends a row of the values by column name.
func fill(tb testing.TB, b *rows.Batch, values map[string]any) {
	tb.Helper()
	for i := range b.Cols {
		v := &b.Cols[i]
		switch x := values[b.Table.Columns[i].Name].(type) {
		case nil:
			v.AppendNull()
		case string:
			v.AppendString(x)
		case bool:
			v.AppendBool(x)
		case float64:
			v.AppendDouble(x)
		case int64:
			v.AppendInt64(x)
		case int:
			v.AppendInt32(int32(x))
		default:
			tb.Fatalf("value %T", x)
		}
	}
	b.N++
}
