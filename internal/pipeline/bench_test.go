package pipeline_test

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// schoolPages holds the answers of 4.6 for one school.
type schoolPages struct {
	bid   string
	pages [][]byte
}

// benchPages returns the simulated service's pages of a few schools of ordinary sizes, and the number of results in
// them.
func benchPages(b *testing.B) (schools []schoolPages, results int) {
	b.Helper()
	s := newSite(b, simulator.Options{Seed: 3, SchoolSizes: []int{2000, 2000, 2000, 2000, 2000}}, simulator.ServerOptions{})
	client := s.deps(nil).Client
	for _, bid := range slices.Sorted(bids(s.world)) {
		read := schoolPages{bid: bid}
		call := extract.Call{
			Operation: "test_results", Template: "/test-results/v1/growth",
			Query: []extract.Param{{Name: "school-bid", Value: bid}},
		}
		_, err := client.List(b.Context(), call, func(from io.Reader) (string, error) {
			body, err := io.ReadAll(from)
			require.NoError(b, err)
			read.pages = append(read.pages, body)
			var page struct {
				TestResults []json.RawMessage `json:"testResults"`
				Pagination  struct {
					NextPage string `json:"nextPage"`
				} `json:"pagination"`
			}
			err = json.Unmarshal(body, &page)
			results += len(page.TestResults)
			return page.Pagination.NextPage, err
		})
		require.NoError(b, err)
		schools = append(schools, read)
	}
	require.Positive(b, results)
	return schools, results
}

func bids(world *simulator.World) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, school := range world.Schools() {
			if !yield(school.Bid) {
				return
			}
		}
	}
}

// BenchmarkExport measures the path of test results from JSON in memory to three zstd Parquet files, in this program
// and in a naive one: CPU time and bytes written per test result, and memory allocated.
func BenchmarkExport(b *testing.B) {
	schools, results := benchPages(b)
	ours := newOurs(b)
	for _, way := range []struct {
		name   string
		export func([]schoolPages) (int, error)
	}{{"ours", ours}, {"naive", naive}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			size := 0
			for b.Loop() {
				var err error
				size, err = way.export(schools)
				require.NoError(b, err)
			}
			perResult := float64(b.N) * float64(results)
			b.ReportMetric((cpuTime(b)-before)/perResult*1e6, "cpu-us/result")
			b.ReportMetric(float64(size)/float64(results), "file-B/result")
		})
	}
}

// newOurs returns a function that exports the pages of schools into three files in memory and returns their total size.
// As in a run, memory is reused from one bucket to the next.
func newOurs(b *testing.B) func([]schoolPages) (int, error) {
	b.Helper()
	dataset, _ := schemas.Find("test_results")
	plan, err := transform.Compile(dataset)
	require.NoError(b, err)
	chain := plan.NewDecoder()
	pool := parquetfile.NewPool(parquetfile.Options{})
	return func(schools []schoolPages) (int, error) {
		written := &countingWriter{}
		var files []*parquetfile.Writer
		for _, table := range dataset.Tables {
			files = append(files, pool.Get(written, table))
		}
		for _, school := range schools {
			chain.Reset(transform.Params{"school_bid": school.bid})
			for _, page := range school.pages {
				if _, err := chain.ReadPage(bytes.NewReader(page)); err != nil {
					return 0, err
				}
			}
			for i, batch := range chain.Finish().Tables {
				if err := files[i].Append(batch); err != nil {
					return 0, err
				}
			}
		}
		for _, file := range files {
			if _, err := file.Close(); err != nil {
				return 0, err
			}
			pool.Put(file)
		}
		return written.n, nil
	}
}

type countingWriter struct{ n int }

func (c *countingWriter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// cpuTime returns the processor time of the process in seconds.
func cpuTime(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}
