package norms

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// stored is a row of norms in a Parquet file, with columns in another order and case.
type stored struct {
	RIT     float64 `parquet:"StartRIT"`
	Subject string  `parquet:"measurementscale"`
	Grade   int32   `parquet:"startgrade"`
	Window  string  `parquet:"Growth_Window"`
	Typical float64 `parquet:"typical_growth"`
	Growth  float64 `parquet:"reported_growth"`
	SD      float64 `parquet:"std_dev_of_expectation"`
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestCheckParquet(t *testing.T) {
	t.Parallel()
	norms := func(rows ...stored) string {
		var file bytes.Buffer
		require.NoError(t, parquet.Write(&file, rows))
		return write(t, "Norms.PARQUET", file.Bytes())
	}
	require.NoError(t, Check(norms(
		stored{RIT: 190, Subject: "Reading", Grade: 3, Window: "Fall to Fall"}, stored{RIT: 191, Subject: "Reading", Grade: 3, Window: "Fall to Fall"},
	)))
	require.ErrorContains(t, Check(norms(
		stored{RIT: 190, Subject: "Reading", Window: "Fall to Fall"}, stored{RIT: 191, Subject: "Reading"}, stored{RIT: 190, Subject: "READING", Window: "Fall to Fall"},
	)), "has two rows for reading, grade 0, score 190, fall to fall: rows 1 and 3")

	var file bytes.Buffer
	require.NoError(t, parquet.Write(&file, []struct{ StartRIT int32 }{{190}}))
	require.ErrorContains(t, Check(write(t, "norms.parquet", file.Bytes())), "lacks columns of growth norms: measurementscale, startgrade, growth_window, ")
	require.ErrorContains(t, Check(write(t, "norms.parquet", []byte("measurementscale,"))), "norms.parquet")
}

func TestCheckCSV(t *testing.T) {
	t.Parallel()
	const header = "\ufeffMeasurementScale,startgrade,startrit,growth_window,typical_growth,reported_growth,std_dev_of_expectation\n"
	require.NoError(t, Check(write(t, "norms.csv", []byte(header+"Reading,K,140,Fall to Fall,1,1,1\nReading,1,140,Fall to Fall,1,1,1\n"))))
	require.ErrorContains(t, Check(write(t, "norms.csv", []byte(header+"Reading,K\n"))), "wrong number of fields")
	require.ErrorContains(t, Check(write(t, "norms.csv", []byte(header+"Reading,K,140,FallToFall,1,1,1\n"))),
		"has no norms for the spans of the views: in at least one row, growth_window must be one of Fall to Fall, Fall to Winter, ")
	require.ErrorContains(t, Check(write(t, "norms.csv", nil)), "read the first line")
}
