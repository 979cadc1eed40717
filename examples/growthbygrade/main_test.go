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
	StudentBid         *string `parquet:"student_bid"`
	TestResultBid      *string `parquet:"test_result_bid"`
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

const fall, winter, span = "2025-10-10", "2026-02-12", "Fall to Winter"

// normsAt writes a file of norms.
func normsAt(t *testing.T, dest string) string {
	t.Helper()
	write(t, dest, "norms.csv", []byte(`growth_window,measurementscale,startgrade,startrit,reported_growth
Fall to Winter,Reading,3,190,5
Fall to Winter,Reading,3,201,4.5
Fall to Spring,Reading,3,201,4
Fall to Winter,Reading,K,140,12
`))
	return filepath.Join(dest, "norms.csv")
}

// snapshotsAt writes two snapshots, the second in two files, and a file that no manifest lists.
func snapshotsAt(t *testing.T, dest string) {
	t.Helper()
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	row := func(bid, student, grade, subject string, rit int32) stored {
		s := stored{
			RequestedSchoolBid: "a", Grade: text(grade), TestName: text("x"), SubjectArea: text(subject), StudentBid: text(student), TestResultBid: text(bid),
		}
		if rit > 0 {
			s.RIT = &rit
		}
		return s
	}
	first, second := "test_results/snapshot_date="+fall+"/", "test_results/snapshot_date="+winter+"/"
	write(t, dest, first+"part-0000-r1.parquet", rowsOf(t,
		row("r1", "s1", "3", "Reading", 190), row("r2", "s2", "3", "Reading", 201), row("r3", "s3", "K", "Reading", 140),
		row("r4", "s4", "10", "Mathematics", 230), row("r5", "s5", "3", "Reading", 180), row("r6", "s6", "3", "Reading", 150),
	))
	write(t, dest, second+"part-0000-r2.parquet", rowsOf(t,
		row("w1", "s1", "3", "Reading", 195), row("w2", "s2", "3", "Reading", 205), row("w3", "s3", "K", "Reading", 151),
		row("r4", "s4", "10", "Mathematics", 230), // not tested again
		row("w6", "s6", "4", "Reading", 200),      // of another school year
	))
	write(t, dest, second+"part-0001-r2.parquet", rowsOf(t,
		row("w5", "s5", "3", "Reading", 0), row("w7", "s7", "3", "Reading", 200), row("", "s1", "3", "Reading", 100),
	))
	write(t, dest, second+"part-0000-r3.parquet", []byte("half a file of a run that is being published"))
	for date, run := range map[string][]string{fall: {"r1", first + "part-0000-r1"}, winter: {"r2", second + "part-0000-r2", second + "part-0001-r2"}} {
		var files []string
		for _, path := range run[1:] {
			files = append(files, `{"path": "`+path+`.parquet"}`)
		}
		write(t, dest, "_runs/"+run[0]+"/manifest.json", []byte(`{"tables": {"test_results": {"files": [`+strings.Join(files, ",")+`]}}}`))
		write(t, dest, "_snapshots/"+date+".json", []byte(`{"run_id": "`+run[0]+`", "manifest": "_runs/`+run[0]+`/manifest.json"}`))
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	snapshotsAt(t, dest)

	var out strings.Builder
	require.NoError(t, run(&out, dest, fall, winter, normsAt(t, dest), span))

	table, query, _ := strings.Cut(out.String(), "\nThe same in DuckDB:\n")
	require.Equal(t, `Growth by subject and grade from 2025-10-10 to 2026-02-12: mean RIT of students tested again

  subject  grade  students  2025-10-10  2026-02-12  growth  met projection
  Reading      K         1       140.0       151.0    11.0              0%
  Reading      3         2       195.5       200.0     4.5             50%
`, table)
	require.Contains(t, query, dest+"/test_results/snapshot_date=2025-10-10/**/*.parquet")
	require.Contains(t, query, dest+"/test_results/snapshot_date=2026-02-12/**/*.parquet")
}

func TestRunNamesTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, content, says string
	}{
		"no snapshot":    {"_snapshots/2025-10-10.json", "", "2025-10-10.json"},
		"no manifest":    {"_runs/r2/manifest.json", "", "_runs/r2/manifest.json"},
		"cut manifest":   {"_runs/r1/manifest.json", `{"tables": {`, "_runs/r1/manifest.json"},
		"a missing file": {"test_results/snapshot_date=2026-02-12/part-0001-r2.parquet", "", "part-0001-r2.parquet"},
		"a damaged file": {"test_results/snapshot_date=2026-02-12/part-0001-r2.parquet", "PAR1", "part-0001-r2.parquet"},
		"a path outside the destination": {
			"_snapshots/2025-10-10.json", `{"run_id": "r1", "manifest": "../manifest.json"}`, "escapes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dest := t.TempDir()
			snapshotsAt(t, dest)
			if test.content == "" {
				require.NoError(t, os.Remove(filepath.Join(dest, test.path)))
			} else {
				write(t, dest, test.path, []byte(test.content))
			}
			require.ErrorContains(t, run(&strings.Builder{}, dest, fall, winter, normsAt(t, dest), span), test.says)
		})
	}

	norms := normsAt(t, t.TempDir())
	require.ErrorContains(t, run(&strings.Builder{}, filepath.Join(t.TempDir(), "nowhere"), fall, winter, norms, span), "nowhere")
	require.ErrorContains(t, run(&strings.Builder{}, t.TempDir(), fall, winter, "nowhere.csv", span), "read the norms: open nowhere.csv")
	require.ErrorContains(t, run(&strings.Builder{}, t.TempDir(), fall, winter, norms, "Fall to Fall"), `has no norms for "Fall to Fall"`)
}
