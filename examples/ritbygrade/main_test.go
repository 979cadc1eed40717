package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// stored is a row of test_results, with more columns than the program reads, in another order.
type stored struct {
	RequestedSchoolBid string  `parquet:"requested_school_bid"`
	RIT                *int32  `parquet:"rit"`
	Grade              *string `parquet:"grade"`
	TestName           *string `parquet:"test_name"`
	SubjectArea        *string `parquet:"subject_area"`
}

func write(t *testing.T, dest, path string, data []byte) {
	t.Helper()
	path = filepath.Join(dest, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func rowsOf(t *testing.T, rows ...stored) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, parquet.Write(&file, rows))
	return file.Bytes()
}

// snapshotAt writes a snapshot of two files, and a file that no manifest lists.
func snapshotAt(t *testing.T, dest string) {
	t.Helper()
	s := func(v string) *string { return &v }
	n := func(v int32) *int32 { return &v }
	const folder = "test_results/snapshot_date=2026-11-20/"
	write(t, dest, folder+"part-0000-r1.parquet", rowsOf(t,
		stored{"a", n(200), s("3"), s("x"), s("Reading")},
		stored{"a", n(201), s("3"), s("x"), s("Reading")},
		stored{"a", n(150), s("K"), nil, s("Reading")},
		stored{"b", nil, s("10"), nil, s("Mathematics")},
	))
	write(t, dest, folder+"part-0001-r1.parquet", rowsOf(t,
		stored{"c", n(230), s("10"), nil, s("Reading")},
		stored{"c", n(203), s("3"), nil, s("Reading")},
		stored{"c", n(199), nil, nil, s("Reading")},
	))
	write(t, dest, folder+"part-0000-r2.parquet", []byte("half a file of a run that is being published"))
	write(t, dest, "_runs/r1/manifest.json", []byte(`{"tables": {"test_results": {"rows": 7, "files": [
		{"path": "`+folder+`part-0000-r1.parquet"}, {"path": "`+folder+`part-0001-r1.parquet"}]}}}`))
	write(t, dest, "_latest.json",
		[]byte(`{"run_id": "r1", "snapshot_date": "2026-11-20", "manifest": "_runs/r1/manifest.json"}`))
}

func TestRun(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	snapshotAt(t, dest)

	var out strings.Builder
	require.NoError(t, run(&out, dest))

	table, query, _ := strings.Cut(out.String(), "\nThe same in DuckDB:\n")
	require.Equal(t, `Mean RIT by subject and grade, snapshot of 2026-11-20 (run r1)

      subject  grade  results  mean RIT
  Mathematics     10        1         -
      Reading      -        1     199.0
      Reading      K        1     150.0
      Reading      3        3     201.3
      Reading     10        1     230.0
`, table)
	require.Contains(t, query, dest+"/test_results/snapshot_date=*/**/*.parquet")
	require.Contains(t, query, "DATE '2026-11-20'")
}

func TestRunNamesTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, content, says string
	}{
		"no snapshot":    {"_latest.json", "", "_latest.json"},
		"no manifest":    {"_runs/r1/manifest.json", "", "_runs/r1/manifest.json"},
		"cut manifest":   {"_runs/r1/manifest.json", `{"tables": {`, "_runs/r1/manifest.json"},
		"a missing file": {"test_results/snapshot_date=2026-11-20/part-0001-r1.parquet", "", "part-0001-r1.parquet"},
		"a damaged file": {"test_results/snapshot_date=2026-11-20/part-0001-r1.parquet", "PAR1", "part-0001-r1.parquet"},
		"a path outside the destination": {
			"_latest.json", `{"run_id": "r1", "snapshot_date": "2026-11-20", "manifest": "../manifest.json"}`, "escapes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dest := t.TempDir()
			snapshotAt(t, dest)
			if test.content == "" {
				require.NoError(t, os.Remove(filepath.Join(dest, test.path)))
			} else {
				write(t, dest, test.path, []byte(test.content))
			}
			require.ErrorContains(t, run(&strings.Builder{}, dest), test.says)
		})
	}

	require.ErrorContains(t, run(&strings.Builder{}, filepath.Join(t.TempDir(), "nowhere")), "nowhere")
}
