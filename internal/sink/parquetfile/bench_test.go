package parquetfile

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

const benchSchools, benchResults = 40, 2000 // results per school

// resultBatches makes rows of the three tables of test results, sorted, as a
// bucket of ordinary schools has them: per student about six results of a
// year, three norms and four areas per result.
func resultBatches(tb testing.TB, schools, results int) []*rows.Batch {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	id := func() string {
		var b [16]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		h := hex.EncodeToString(b[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	ids := func(n int) []string {
		s := make([]string, n)
		for i := range s {
			s[i] = id()
		}
		return s
	}
	one := func(s ...string) string { return s[r.IntN(len(s))] }
	table := func(i int) *schemas.Table {
		for _, d := range schemas.Datasets() {
			if d.Name == "test_results" {
				return d.Tables[i]
			}
		}
		return nil
	}
	main, norms, areas := rows.New(table(0)), rows.New(table(1)), rows.New(table(2))
	terms, areaBids := ids(3), ids(20)
	subjects := []string{"Mathematics", "Reading", "Language Usage", "Science"}
	for _, school := range sortedTexts(ids(schools)) {
		students := ids(max(results/6, 1))
		for _, result := range sortedTexts(ids(results)) {
			subject := r.IntN(4)
			grade := strconv.Itoa(r.IntN(12) + 1)
			rit := 140 + r.IntN(120)
			start := int64(1.7e15) + int64(r.IntN(300*86400))*1e6
			duration := int64(1_200_000 + r.IntN(3_000_000))
			shown := 40 + r.IntN(14)
			lexile := subject == 1 && r.IntN(10) > 0
			quantile := subject == 0 && r.IntN(10) > 0
			score := strconv.Itoa(200+5*r.IntN(250)) + "L"
			fill(main, map[string]any{
				"requested_school_bid": school, "test_result_bid": result, "student_bid": students[r.IntN(len(students))],
				"school_bid": school, "term_bid": one(terms...), "subject_area": subjects[subject], "grade": grade,
				"test_name": "Growth: " + subjects[subject] + " " + one("2-5", "6+", "K-2") + " CCSS 2010 V4",
				"test_key":  strconv.Itoa(4000 + r.IntN(30)), "test_type": "Survey With Goals", "growth_event_yn": r.IntN(10) > 0,
				"duration": duration, "status": "Completed", "rit": rit, "standard_error": float64(28+r.IntN(10)) / 10,
				"rit_score_high": rit + 3, "rit_score_low": rit - 3, "items_shown": shown,
				"items_correct": shown/2 + r.IntN(8), "items_total": shown,
				"response_disengaged_percentage": float64(r.IntN(30)), "impact_of_disengagement": float64(r.IntN(300)) / 100,
				"administration_start_date_time": start, "administration_end_date_time": start + duration*1000,
				"modified_date_time": start + duration*1000 + int64(r.IntN(86400e3))*1000,
				"lexile_score":       when(lexile, score), "lexile_range": when(lexile, score+"-"+score),
				"lexile_min": when(lexile, score), "lexile_max": when(lexile, score),
				"quantile_score": when(quantile, score), "quantile_range": when(quantile, score+"-"+score),
				"quantile_minimum": when(quantile, score), "quantile_maximum": when(quantile, score),
			})
			for i := range 3 {
				fill(norms, map[string]any{
					"requested_school_bid": school, "test_result_bid": result, "ordinal": i, "percentile": 1 + r.IntN(99),
					"reference": strconv.Itoa(2015 + 5*i/2), "type": one("achievement", "growth"),
				})
			}
			for i := range 4 {
				s := float64(rit*10+r.IntN(100)-50) / 10
				fill(areas, map[string]any{
					"requested_school_bid": school, "test_result_bid": result, "ordinal": i,
					"instructional_area_bid": areaBids[subject*5+i], "instructional_area_name": "Area of " + subjects[subject] + strconv.Itoa(i),
					"score": s, "standard_error": float64(50+r.IntN(30)) / 10, "score_low": s - 6.5, "score_high": s + 6.5,
				})
			}
		}
	}
	return []*rows.Batch{main, norms, areas}
}

func sortedTexts(s []string) []string { slices.Sort(s); return s }

func when(ok bool, s string) any {
	if ok {
		return s
	}
	return nil
}

// fill appends a row of the values by column name.
func fill(b *rows.Batch, values map[string]any) {
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
			if v.Type == schemas.Int64 {
				v.AppendInt64(int64(x))
			} else {
				v.AppendInt32(int32(x))
			}
		}
	}
	b.N++
}

func BenchmarkWrite(b *testing.B) {
	batches := resultBatches(b, benchSchools, benchResults)
	pool := NewPool(Options{})
	size := int64(0)
	for b.Loop() {
		size = 0
		for _, batch := range batches {
			n := &counter{w: io.Discard}
			w := pool.Get(n, batch.Table)
			// In batches as large as a school has rows.
			per := batch.N / benchSchools
			part := rows.New(batch.Table)
			for i := 0; i < batch.N; i += per {
				part.Reset()
				part.AppendRows(batch, i, i+per)
				require.NoError(b, w.Append(part))
			}
			_, err := w.Close()
			require.NoError(b, err)
			pool.Put(w)
			size += n.n
		}
	}
	results := float64(benchSchools * benchResults)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/results, "ns/result")
	b.ReportMetric(float64(size)/results, "bytes/result")
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}

var _ = bytes.NewReader
var _ = strings.Repeat
