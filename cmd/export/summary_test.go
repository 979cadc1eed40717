package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	s := &pipeline.Summary{
		Outcome: pipeline.Published, RunID: "r1", Kind: snapshot.Full, SnapshotDate: "2026-11-20", Destination: "it's here", Duration: 1500 * time.Millisecond,
		Tables: []pipeline.TableSummary{
			{Table: "schools", Rows: 3, Files: 1, Bytes: 500},
			{Table: "test_results", Rows: 1234, Files: 2, Bytes: 123456},
		},
		Datasets: []pipeline.DatasetSummary{{Dataset: "test_results", ManifestDataset: snapshot.ManifestDataset{OK: 1, Denied: 2, Failed: 1}}},
		Schools: snapshot.ManifestSchools{Total: 3, OK: 1, Denied: 1, Failed: 1, Failures: []snapshot.SchoolFailure{
			{SchoolBid: "bid\n1", Dataset: "test_results", Error: "status 500"},
			{SchoolBid: "bid2", Dataset: "students", Error: "students of school bid2: status 404"},
			{SchoolBid: "bid3", SchoolName: "Lincoln Elementary", Dataset: "students", Error: "students of school bid3: status 404"},
			{SchoolBid: "bid4", SchoolName: "Oak\u202e\n" + strings.Repeat("k", 200), Dataset: "students", Error: "more than 3 records"},
			{SchoolName: "Elm", Error: "it has no bid"},
		}},
		Denials:  []pipeline.Denial{{SchoolBid: "bid9", SchoolName: "Pine Middle", Datasets: []string{"students", "test_results"}}},
		Requests: snapshot.Requests{Total: 1010, Retries: 8, TokenRefreshes: 1, ByStatus: map[string]int64{"500": 9, "200": 1001}},
		Drift: []snapshot.Drift{
			{Table: "test_results", Field: "", Kind: "unknown_field", Count: 1},
			{Table: "test_results", Field: "a: b", Kind: "unknown_field", Count: 1},
			{Table: "test_results", Field: "x", Kind: "unknown_field", Count: 12},
		},
	}
	require.Equal(t, `Published: snapshot 2026-11-20, run r1, at it's here (2s)

  table          rows  files      size
  schools           3      1     500 B
  test_results  1,234      2  123.5 kB
  all           1,237      3  124.0 kB

schools   3: 1 ok, 1 denied, 1 failed
  failed  "bid\n1" test_results: status 500
  failed  students of school bid2: status 404
  failed  Lincoln Elementary: students of school bid3: status 404
  failed  "Oak\u202e\n`+strings.Repeat("k", 54)+`…" (bid4) students: more than 3 records
  failed  Elm (no bid): it has no bid
  denied  Pine Middle (bid9): students, test_results
  denied  test_results: 1, see the ledger
requests  1,010, 8 retries, 1 new token (200: 1,001, 500: 9)
drift     test_results "": unknown_field, 1
          test_results "a: b": unknown_field, 1
          test_results x: unknown_field, 12
          fields and values that the schema does not expect are kept in _extra; duplicates are dropped

next      failures are listed in it's here/_runs/r1/ledger.parquet
          in DuckDB: SELECT count(*) FROM read_parquet('it''s here/test_results/snapshot_date=2026-11-20/**/*.parquet', hive_partitioning = true);
`, summaryText(s))

	s.Outcome, s.Held = pipeline.HeldBack, []review.Reason{review.New(review.MaxFailedSchools, "0", []review.Finding{{N: 1, Of: 3}})}
	s.Next = []wording.Advice{{Say: "Run it again."}, {Say: "Publish it:", Command: "growth-export publish"}}
	text := summaryText(s)
	require.Contains(t, text, "Held back: snapshot 2026-11-20, run r1, at it's here (2s)\n  because 1 of 3 schools failed, more than --max-failed-schools 0\n")
	require.True(t, strings.HasSuffix(text, "\nnext      Run it again.\nor        Publish it: growth-export publish\n"), text)
}

// TestSummaryOnAzure expects no query that DuckDB cannot run.
func TestSummaryOnAzure(t *testing.T) {
	t.Parallel()
	text := summaryText(&pipeline.Summary{
		Outcome: pipeline.Published, RunID: "r1", Kind: snapshot.Full, SnapshotDate: "2026-11-20",
		Destination: "abfss://rosters@account.dfs.core.windows.net/growth",
		Tables:      []pipeline.TableSummary{{Table: "students", Rows: 1, Files: 1, Bytes: 1}},
	})
	require.NotContains(t, text, "read_parquet")
	require.Contains(t, text, "in DuckDB: growth-export sql")
}

// TestSummaryNamesPlaces expects the name of each kind of run and a query that reads the run's files.
func TestSummaryNamesPlaces(t *testing.T) {
	t.Parallel()
	for destination, kinds := range map[string]map[snapshot.Kind][2]string{
		"out": {
			snapshot.Full:  {"snapshot 2026-11-20", "out/students/snapshot_date=2026-11-20/**/*.parquet"},
			snapshot.AsOf:  {"enrollment as of 2026-11-20", "out/as_of/students/snapshot_date=2026-11-20/**/*.parquet"},
			snapshot.Delta: {"changes of 2026-11-20", "out/changes/students/snapshot_date=2026-11-20/**/part-????-r1.parquet"},
		},
		"a[b]*?":             {snapshot.Full: {"snapshot", "a[[]b][*][?]/students/snapshot_date="}},
		"s3://bucket/prefix": {snapshot.Full: {"snapshot", "s3://bucket/prefix/students/snapshot_date="}},
		"s3://bucket/":       {snapshot.Full: {"snapshot", "s3://bucket/students/snapshot_date="}},
	} {
		for kind, want := range kinds {
			text := summaryText(&pipeline.Summary{
				Outcome: pipeline.Published, RunID: "r1", Kind: kind, SnapshotDate: "2026-11-20", Destination: destination,
				Tables: []pipeline.TableSummary{{Table: "students", Rows: 1, Files: 1, Bytes: 1}},
			})
			require.Contains(t, text, "Published: "+want[0])
			require.Contains(t, text, "read_parquet('"+want[1])
		}
	}
}
