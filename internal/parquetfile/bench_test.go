//go:build unix

package parquetfile

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
)

const benchSchools, benchResults = 40, 2000 // results per school

// BenchmarkWrite writes the three tables of test results as one bucket, in batches of a school, with this package's
// writer and with the reference. It reports CPU time and bytes per result.
func BenchmarkWrite(b *testing.B) {
	batches := resultBatches(b, benchSchools, benchResults)
	results := float64(benchSchools * benchResults)
	report := func(b *testing.B, before time.Duration, size int64) {
		b.Helper()
		b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/results, "cpu-ns/result")
		b.ReportMetric(float64(size)/results, "bytes/result")
	}
	parts := make([][]*rows.Batch, len(batches))
	for i, batch := range batches {
		for s := range benchSchools {
			part := rows.New(batch.Table)
			part.AppendRows(batch, s*batch.N/benchSchools, (s+1)*batch.N/benchSchools)
			parts[i] = append(parts[i], part)
		}
	}
	b.Run("parquetfile", func(b *testing.B) {
		pool := NewPool(Options{})
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
	b.Run("reference", func(b *testing.B) {
		var out counter
		writers := make([]*reference, len(batches))
		for i, batch := range batches {
			writers[i] = newReference(&out, batch.Table, Options{})
		}
		b.ReportAllocs()
		before := cpuTime(b)
		for b.Loop() {
			out = 0
			for i, w := range writers {
				w.reset(&out)
				for _, part := range parts[i] {
					require.NoError(b, w.append(part))
				}
				require.NoError(b, w.close())
			}
		}
		report(b, before, int64(out))
	})
}

// BenchmarkRead reads the tables of test results back.
func BenchmarkRead(b *testing.B) {
	batches := resultBatches(b, benchSchools, benchResults)
	files := make([][]byte, len(batches))
	for i, batch := range batches {
		var out bytes.Buffer
		w := NewWriter(&out, batch.Table, Options{})
		require.NoError(b, w.Append(batch))
		_, err := w.Close()
		require.NoError(b, err)
		files[i] = out.Bytes()
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		for i, batch := range batches {
			r, err := NewReader(bytes.NewReader(files[i]), int64(len(files[i])), batch.Table)
			require.NoError(b, err)
			page := rows.New(batch.Table)
			for total := 0; total < batch.N; total += page.N {
				page.Reset()
				require.NoError(b, r.Read(page))
			}
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/float64(benchSchools*benchResults), "cpu-ns/result")
}

// cpuTime returns the CPU time of the process, which other processes affect less than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
