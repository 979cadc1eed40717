//go:build unix

package transform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// bid returns a random identifier that looks like the service's.
func bid(rnd *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x",
		rnd.Uint32(), rnd.Uint32N(1<<16), rnd.Uint32N(1<<12), rnd.Uint32N(1<<12), rnd.Uint64N(1<<48))
}

// resultsPage writes a page of n test results of about 1.9 KB each, with three norms and four areas, in the documented
// wrapper. Shuffled records each have their members in a different order, as in the live service.
func resultsPage(rnd *rand.Rand, n int, shuffled bool) []byte {
	var page strings.Builder
	page.WriteString(`{"testResults":[`)
	for i := range n {
		if i > 0 {
			page.WriteByte(',')
		}
		members := resultMembers(rnd)
		if shuffled {
			rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		}
		page.WriteByte('{')
		page.WriteString(strings.Join(members, ","))
		page.WriteByte('}')
	}
	page.WriteString(`],"pagination":{"hasNextPage":true,"nextPage":"eyJvZmZzZXQiOjEwMDB9"}}`)
	return []byte(page.String())
}

func resultMembers(rnd *rand.Rand) []string {
	decimal := func(whole, digits int) string {
		return strconv.FormatFloat(float64(rnd.IntN(whole))+rnd.Float64(), 'f', digits, 64)
	}
	rit := 180 + rnd.IntN(70)
	var norms, areas []string
	for _, reference := range []string{"2020", "2025", "2025"} {
		norms = append(norms, fmt.Sprintf(`{"percentile":%d,"reference":"%s","type":"achievement"}`, 1+rnd.IntN(99), reference))
	}
	for _, name := range []string{
		"Operations and Algebraic Thinking", "The Real and Complex Number Systems", "Geometry", "Statistics and Probability",
	} {
		areas = append(areas, fmt.Sprintf(`{"instructionalAreaBid":"%s","instructionalAreaName":"%s","score":%s,"standardError":%s,"scoreLow":%s,"scoreHigh":%s}`,
			bid(rnd), name, decimal(240, 1), decimal(9, 1), decimal(240, 1), decimal(240, 1)))
	}
	day := 1 + rnd.IntN(28)
	return []string{
		`"testResultBid":"` + bid(rnd) + `"`,
		`"studentBid":"` + bid(rnd) + `"`,
		`"schoolBid":"7f9c24e5-3c1b-4a3e-9a3b-0d3a5c6b7e8f"`,
		`"termBid":"` + bid(rnd) + `"`,
		`"subjectArea":"Mathematics"`,
		`"grade":"` + strconv.Itoa(rnd.IntN(12)) + `"`,
		`"testName":"Growth: Math 6+ CCSS 2010 V2"`,
		`"testKey":"` + strconv.Itoa(10000+rnd.IntN(9000)) + `"`,
		`"testType":"Survey With Goals"`,
		`"growthEventYn":` + strconv.FormatBool(rnd.IntN(2) == 0),
		`"duration":` + strconv.Itoa(1000000+rnd.IntN(5000000)),
		`"status":"COMPLETED"`,
		`"rit":` + strconv.Itoa(rit),
		`"standardError":` + decimal(4, 2),
		`"ritScoreHigh":` + strconv.Itoa(rit+3),
		`"ritScoreLow":` + strconv.Itoa(rit-3),
		fmt.Sprintf(`"items":{"shown":%d,"correct":%d,"total":%d}`, 40+rnd.IntN(13), rnd.IntN(40), 53),
		`"responseDisengagedPercentage":` + decimal(100, 2),
		`"impactOfDisengagement":` + decimal(3, 2),
		fmt.Sprintf(`"administrationStartDateTime":"2025-09-%02dT%02d:%02d:%02dZ"`, day, 8+rnd.IntN(8), rnd.IntN(60), rnd.IntN(60)),
		fmt.Sprintf(`"administrationEndDateTime":"2025-09-%02dT%02d:%02d:%02dZ"`, day, 8+rnd.IntN(8), rnd.IntN(60), rnd.IntN(60)),
		`"norms":[` + strings.Join(norms, ",") + `]`,
		fmt.Sprintf(`"modifiedDateTime":"2025-10-%02dT%02d:%02d:%02d.%03dZ"`, day, rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000)),
		`"instructionalAreas":[` + strings.Join(areas, ",") + `]`,
		`"quantile":{"score":"` + strconv.Itoa(rnd.IntN(1200)) + `Q","range":"835Q-935Q","minimum":"835Q","maximum":"935Q","original":"885Q"}`,
	}
}

func compile(tb testing.TB, dataset string) *transform.Plan {
	tb.Helper()
	ds, ok := schemas.Find(dataset)
	require.True(tb, ok)
	plan, err := transform.Compile(ds)
	require.NoError(tb, err)
	return plan
}

// BenchmarkPage reads, sorts and de-duplicates schools of two pages of 1,000 test results each.
func BenchmarkPage(b *testing.B) {
	for _, order := range []string{"ordered", "shuffled"} {
		b.Run(order, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 2))
			const records = 1000
			pages := [][]byte{resultsPage(rnd, records, order == "shuffled"), resultsPage(rnd, records, order == "shuffled")}
			decoder := compile(b, "test_results").NewDecoder()
			params := transform.Params{"school_bid": bid(rnd)}
			b.SetBytes(int64(len(pages[0]) + len(pages[1])))
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				decoder.Reset(params)
				for _, page := range pages {
					if _, err := decoder.ReadPage(bytes.NewReader(page)); err != nil {
						b.Fatal(err)
					}
				}
				decoder.Finish()
			}
			perRecord(b, cpuTime(b)-start, records*len(pages))
		})
	}
}

// BenchmarkEncodingJSON reads the same pages into structs, for comparison.
func BenchmarkEncodingJSON(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const records = 1000
	page := resultsPage(rnd, records, false)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		var into struct {
			TestResults []struct {
				TestResultBid, StudentBid, SchoolBid, TermBid, SubjectArea, Grade, TestName, TestKey, TestType *string

				GrowthEventYn *bool
				Duration      *int64
				Status        *string

				Rit, RitScoreHigh, RitScoreLow *int32
				StandardError                  *float64
				Items                          *struct{ Shown, Correct, Total *int32 }
				ResponseDisengagedPercentage   *float64
				ImpactOfDisengagement          *float64

				AdministrationStartDateTime, AdministrationEndDateTime, ModifiedDateTime *string

				Norms []struct {
					Percentile      *int32
					Reference, Type *string
				}
				InstructionalAreas []struct {
					InstructionalAreaBid, InstructionalAreaName *string
					Score, StandardError, ScoreLow, ScoreHigh   *float64
				}
				Quantile *struct{ Score, Range, Minimum, Maximum, Original *string }
			} `json:"testResults"`
		}
		if err := json.Unmarshal(page, &into); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, cpuTime(b)-start, records)
}

// perRecord reports processor time, which is more meaningful than elapsed time on a shared machine.
func perRecord(b *testing.B, used time.Duration, records int) {
	b.Helper()
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(records), "cpu-ns/record")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
