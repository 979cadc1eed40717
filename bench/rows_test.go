package main

import (
	"cmp"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/bench/naive"
	"example.org/growthexport/bench/pages"
	"example.org/growthexport/bench/service"
)

// TestSameRows checks that growth-export and the naive exporter read the same rows from the made-up service, plain from
// memory and compressed from files, and that these add up to the service's totals.
func TestSameRows(t *testing.T) {
	t.Parallel()
	build := filepath.Join(t.TempDir(), "growth-export")
	// The flags are the same as for the tests and `make build`, so everything is already compiled.
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", build, "./cmd/export")
	compile.Dir = ".."
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := compile.CombinedOutput()
	require.NoError(t, err, string(out))

	world := pages.NewWorld(pages.Options{Results: 2500, SchoolSize: 800, Huge: 1100})
	folder := t.TempDir()
	require.NoError(t, world.Write(folder, true))
	memory := httptest.NewServer(service.New(service.Options{World: world}))
	t.Cleanup(memory.Close)
	files := httptest.NewServer(service.New(service.Options{World: world, Folder: folder, Gzip: true}))
	t.Cleanup(files.Close)

	env := append(os.Environ(), "GROWTH_EXPORT_API_KEY="+service.Key, "GROWTH_EXPORT_API_SECRET="+service.Secret)
	ours, theirs := t.TempDir(), t.TempDir()
	c, err := measure(t.Context(), exportCommand(build, task{url: files.URL, dest: ours, concurrency: 2}), env, ours)
	require.NoError(t, err)
	require.Positive(t, c.cpu)
	require.Greater(t, c.peak, int64(1<<20))
	require.Greater(t, c.bytes, int64(100<<10))
	require.NoError(t, naive.Export(t.Context(), naive.Options{
		URL: memory.URL, Key: service.Key, Secret: service.Secret, Dest: theirs, Threads: 2,
	}))

	var sum pages.Totals
	for _, r := range sameRows[naive.Result](t, ours, theirs, "test_results") {
		sum.Results++
		sum.RIT += int64(*r.RIT)
		sum.Duration += *r.Duration
	}
	for _, n := range sameRows[naive.Norm](t, ours, theirs, "test_result_norms") {
		sum.Norms++
		sum.Percentile += int64(*n.Percentile)
	}
	for _, a := range sameRows[naive.Area](t, ours, theirs, "test_result_instructional_areas") {
		sum.Areas++
		sum.Score += int64(*a.Score*10 + 0.5)
	}
	require.Equal(t, world.Totals(), sum)
	require.Equal(t, int64(3600), sum.Results)
}

// sameRows compares the rows of a table, in any order, and returns them.
func sameRows[Row any](t *testing.T, ours, theirs, table string) []Row {
	t.Helper()
	read := func(dest string) []Row {
		var rows []Row
		for _, pattern := range []string{"*.parquet", "*/*.parquet"} {
			files, err := filepath.Glob(filepath.Join(dest, table, pattern))
			require.NoError(t, err)
			for _, file := range files {
				more, err := parquet.ReadFile[Row](file)
				require.NoError(t, err)
				rows = append(rows, more...)
			}
		}
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(rowKey(a), rowKey(b)) })
		return rows
	}
	rows := read(ours)
	require.NotEmpty(t, rows)
	require.Equal(t, rows, read(theirs), table)
	return rows
}

func rowKey(row any) string {
	switch r := row.(type) {
	case naive.Result:
		return *r.TestResultBid
	case naive.Norm:
		return *r.TestResultBid + string('0'+r.Ordinal)
	case naive.Area:
		return *r.TestResultBid + string('0'+r.Ordinal)
	default:
		panic("no such table")
	}
}
