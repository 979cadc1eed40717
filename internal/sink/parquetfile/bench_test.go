//go:build unix

package parquetfile

import (
	"encoding/hex"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

const benchSchools, benchResults = 40, 2000 // results per school

// BenchmarkWrite writes the three tables of test results as one bucket, in
// batches of a school, and tells what a result takes. GenericWriter is the
// writer of parquet-go on one struct per table, with the encodings that suit
// it best, the same cuts and the same compression.
func BenchmarkWrite(b *testing.B) {
	batches := resultBatches(b, benchSchools, benchResults)
	results := float64(benchSchools * benchResults)
	report := func(b *testing.B, before time.Duration, size int64) {
		b.Helper()
		b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/results, "cpu-ns/result")
		b.ReportMetric(float64(size)/results, "bytes/result")
	}
	b.Run("parquetfile", func(b *testing.B) {
		pool := NewPool(Options{})
		parts := make([][]*rows.Batch, len(batches))
		for i, batch := range batches {
			for s := range benchSchools {
				part := rows.New(batch.Table)
				part.AppendRows(batch, s*batch.N/benchSchools, (s+1)*batch.N/benchSchools)
				parts[i] = append(parts[i], part)
			}
		}
		var out counter
		b.ReportAllocs()
		before := cpuTime(b)
		for b.Loop() {
			out = 0
			for i, batch := range batches {
				w := pool.Get(&out, batch.Table)
				for _, part := range parts[i] {
					require.NoError(b, w.Append(part))
				}
				_, err := w.Close()
				require.NoError(b, err)
				pool.Put(w)
			}
		}
		report(b, before, int64(out))
	})
	b.Run("GenericWriter", func(b *testing.B) {
		results, norms, areas := structsOf[resultRow](batches[0]), structsOf[normRow](batches[1]), structsOf[areaRow](batches[2])
		var out counter
		resultWriter := genericWriter[resultRow](&out)
		normWriter, areaWriter := genericWriter[normRow](&out), genericWriter[areaRow](&out)
		b.ReportAllocs()
		before := cpuTime(b)
		for b.Loop() {
			out = 0
			writeStructs(b, &out, resultWriter, results)
			writeStructs(b, &out, normWriter, norms)
			writeStructs(b, &out, areaWriter, areas)
		}
		report(b, before, int64(out))
	})
}

// cpuTime returns the time that the process has spent on a processor, which
// other processes of a busy machine do not lengthen much.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func genericWriter[T any](out io.Writer) *parquet.GenericWriter[T] {
	return parquet.NewGenericWriter[T](out,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.DataPageStatistics(false), parquet.MaxRowsPerRowGroup(defaultRowGroupRows))
}

func writeStructs[T any](b *testing.B, out io.Writer, w *parquet.GenericWriter[T], all []T) {
	b.Helper()
	w.Reset(out)
	for part := range slices.Chunk(all, len(all)/benchSchools) {
		_, err := w.Write(part)
		require.NoError(b, err)
	}
	require.NoError(b, w.Close())
}

type resultRow struct {
	RequestedSchoolBid           string   `parquet:"requested_school_bid,dict"`
	TestResultBid                *string  `parquet:"test_result_bid,optional"`
	StudentBid                   *string  `parquet:"student_bid,optional,dict"`
	SchoolBid                    *string  `parquet:"school_bid,optional,dict"`
	TermBid                      *string  `parquet:"term_bid,optional,dict"`
	SubjectArea                  *string  `parquet:"subject_area,optional,dict"`
	Grade                        *string  `parquet:"grade,optional,dict"`
	TestName                     *string  `parquet:"test_name,optional,dict"`
	TestKey                      *string  `parquet:"test_key,optional,dict"`
	TestType                     *string  `parquet:"test_type,optional,dict"`
	GrowthEventYn                *bool    `parquet:"growth_event_yn,optional"`
	Duration                     *int64   `parquet:"duration,optional"`
	Status                       *string  `parquet:"status,optional,dict"`
	Rit                          *int32   `parquet:"rit,optional,dict"`
	StandardError                *float64 `parquet:"standard_error,optional,dict"`
	RitScoreHigh                 *int32   `parquet:"rit_score_high,optional,dict"`
	RitScoreLow                  *int32   `parquet:"rit_score_low,optional,dict"`
	ItemsShown                   *int32   `parquet:"items_shown,optional,dict"`
	ItemsCorrect                 *int32   `parquet:"items_correct,optional,dict"`
	ItemsTotal                   *int32   `parquet:"items_total,optional,dict"`
	ResponseDisengagedPercentage *float64 `parquet:"response_disengaged_percentage,optional,dict"`
	ImpactOfDisengagement        *float64 `parquet:"impact_of_disengagement,optional,dict"`
	AdministrationStartDateTime  *int64   `parquet:"administration_start_date_time,optional,timestamp(microsecond)"`
	AdministrationEndDateTime    *int64   `parquet:"administration_end_date_time,optional,timestamp(microsecond)"`
	ModifiedDateTime             *int64   `parquet:"modified_date_time,optional,timestamp(microsecond)"`
	LexileScore                  *string  `parquet:"lexile_score,optional,dict"`
	LexileRange                  *string  `parquet:"lexile_range,optional,dict"`
	LexileMin                    *string  `parquet:"lexile_min,optional,dict"`
	LexileMax                    *string  `parquet:"lexile_max,optional,dict"`
	QuantileScore                *string  `parquet:"quantile_score,optional,dict"`
	QuantileRange                *string  `parquet:"quantile_range,optional,dict"`
	QuantileMinimum              *string  `parquet:"quantile_minimum,optional,dict"`
	QuantileMaximum              *string  `parquet:"quantile_maximum,optional,dict"`
	QuantileOriginal             *string  `parquet:"quantile_original,optional,dict"`
	Extra                        *string  `parquet:"_extra,optional"`
}

type normRow struct {
	RequestedSchoolBid string  `parquet:"requested_school_bid,dict"`
	TestResultBid      *string `parquet:"test_result_bid,optional"`
	Ordinal            int32   `parquet:"ordinal,dict"`
	Percentile         *int32  `parquet:"percentile,optional,dict"`
	Reference          *string `parquet:"reference,optional,dict"`
	Type               *string `parquet:"type,optional,dict"`
	Extra              *string `parquet:"_extra,optional"`
}

type areaRow struct {
	RequestedSchoolBid    string   `parquet:"requested_school_bid,dict"`
	TestResultBid         *string  `parquet:"test_result_bid,optional"`
	Ordinal               int32    `parquet:"ordinal,dict"`
	InstructionalAreaBid  *string  `parquet:"instructional_area_bid,optional,dict"`
	InstructionalAreaName *string  `parquet:"instructional_area_name,optional,dict"`
	Score                 *float64 `parquet:"score,optional,dict"`
	StandardError         *float64 `parquet:"standard_error,optional,dict"`
	ScoreLow              *float64 `parquet:"score_low,optional,dict"`
	ScoreHigh             *float64 `parquet:"score_high,optional,dict"`
	Extra                 *string  `parquet:"_extra,optional"`
}

// structsOf returns the rows of a batch as structs, without the columns that
// the struct has no field for.
func structsOf[T any](b *rows.Batch) []T {
	fields := map[string]int{}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		fields[name] = i
	}
	all := make([]T, b.N)
	for i := range all {
		s := reflect.ValueOf(&all[i]).Elem()
		for j := range b.Cols {
			v := &b.Cols[j]
			at, known := fields[b.Table.Columns[j].Name]
			if !known || v.Null(i) {
				continue
			}
			field := s.Field(at)
			if field.Kind() == reflect.Pointer {
				field.Set(reflect.New(field.Type().Elem()))
				field = field.Elem()
			}
			switch v.Type {
			case schemas.Int32, schemas.Date:
				field.SetInt(int64(v.I32[i]))
			case schemas.Int64, schemas.Timestamp:
				field.SetInt(v.I64[i])
			case schemas.Double:
				field.SetFloat(v.F64[i])
			case schemas.Boolean:
				field.SetBool(v.Bool[i] != 0)
			case schemas.String, schemas.JSON:
				field.SetString(string(v.Text(i)))
			}
		}
	}
	return all
}

// resultBatches makes the rows of the three tables of test results, sorted, as
// a bucket of ordinary schools has them: about six results of a year for a
// student, three norms and four areas for a result.
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
