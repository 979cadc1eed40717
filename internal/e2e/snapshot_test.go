package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

// export is a run of the default datasets against the embedded simulator.
type export struct {
	name string
	args []string
	// own reads enrollment only in a school's own perspective.
	own bool
	// byDistrict adds a partition to the tables of per-school datasets.
	byDistrict bool
}

// snapshot is a published export.
type snapshot struct {
	export
	dest     string
	pointer  pointer
	manifest manifest
	world    *simulator.World
}

// pointer and manifest repeat the documented format, so that the tests do not rely on the exporter's own types.
type pointer struct {
	RunID          string `json:"run_id"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

type manifest struct {
	RunID        string `json:"run_id"`
	Status       string `json:"status"`
	SnapshotDate string `json:"snapshot_date"`
	Kind         string `json:"kind"`
	StartedAt    string `json:"started_at"`
	Tables       map[string]struct {
		Rows  int64  `json:"rows"`
		Files []file `json:"files"`
	} `json:"tables"`
	Ledger  file `json:"ledger"`
	Schools struct {
		Total    int64 `json:"total"`
		OK       int64 `json:"ok"`
		Denied   int64 `json:"denied"`
		Failed   int64 `json:"failed"`
		Failures []any `json:"failures"`
	} `json:"schools"`
	Requests struct {
		Total    int64            `json:"total"`
		Retries  int64            `json:"retries"`
		ByStatus map[string]int64 `json:"by_status"`
	} `json:"requests"`
	Drift []any `json:"drift"`
}

type file struct {
	Path   string `json:"path"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// runExport runs the export and reads what it published.
func runExport(t *testing.T, e export) *snapshot {
	t.Helper()
	s := &snapshot{
		export: e,
		dest:   filepath.ToSlash(filepath.Join(t.TempDir(), "growth data")), // with a space, as in real paths
	}
	execute(t, racedExport, append([]string{"run", "--simulate", "--dest", s.dest}, e.args...)...)

	var latest struct {
		RunID        string `json:"run_id"`
		SnapshotDate string `json:"snapshot_date"`
		Manifest     string `json:"manifest"`
	}
	s.read(t, "_latest.json", &latest)
	s.read(t, "_snapshots/"+latest.SnapshotDate+".json", &s.pointer)
	s.read(t, latest.Manifest, &s.manifest)
	s.world = simulator.NewWorld(simulator.Options{AsOf: s.day(t)})
	require.Equal(t, latest.RunID, s.pointer.RunID)
	require.Equal(t, latest.RunID, s.manifest.RunID)
	require.Equal(t, latest.Manifest, s.pointer.Manifest)
	require.Equal(t, latest.SnapshotDate, s.manifest.SnapshotDate)
	return s
}

// day returns the day of the run and of the simulated world.
func (s *snapshot) day(t *testing.T) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, s.manifest.StartedAt[:len(time.DateOnly)])
	require.NoError(t, err)
	return day
}

func (s *snapshot) read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dest, path))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}

// datasets returns the datasets of the run.
func (s *snapshot) datasets() []*schemas.Dataset {
	var selected []*schemas.Dataset
	for _, dataset := range schemas.Datasets() {
		if dataset.Default {
			selected = append(selected, dataset)
		}
	}
	return selected
}

// tables returns the tables of the run's datasets.
func (s *snapshot) tables() []*schemas.Table {
	var tables []*schemas.Table
	for _, dataset := range s.datasets() {
		tables = append(tables, dataset.Tables...)
	}
	return tables
}

// hasDistricts reports whether the table is partitioned by district.
func (s *snapshot) hasDistricts(table *schemas.Table) bool {
	return s.byDistrict && table.Column("requested_school_bid") >= 0
}

// districtOf returns the district of a school.
func (s *snapshot) districtOf(school any) string {
	for _, known := range s.world.Schools() {
		if known.Bid == school {
			return known.DistrictBid
		}
	}
	return ""
}

// files returns the SQL source of a table's rows, as in the README.
func (s *snapshot) files(table *schemas.Table) string { return s.source(table, "") }

// named returns the SQL source of the table with this name.
func (s *snapshot) named(name string) string {
	for _, table := range s.tables() {
		if table.Name == name {
			return s.files(table)
		}
	}
	return name // DuckDB will report that it does not exist
}

// inFileOrder returns a query for a table's declared columns in the order of the files.
func (s *snapshot) inFileOrder(table *schemas.Table) string {
	columns := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		columns[i] = `"` + c.Name + `"`
	}
	return "SELECT " + strings.Join(columns, ", ") +
		" FROM " + s.source(table, ", filename = true, file_row_number = true") + " ORDER BY filename, file_row_number"
}

func (s *snapshot) source(table *schemas.Table, options string) string {
	if s.hasDistricts(table) {
		options += ", hive_types = {'district': VARCHAR}"
	}
	return "read_parquet(" + literal(s.dest+"/"+table.Name+"/**/*.parquet") + ", hive_partitioning = true" + options + ")"
}
