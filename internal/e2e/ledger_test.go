package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// testLedger checks that the ledger has a row for everything requested, and agrees with the tables for each dataset and
// school.
func testLedger(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	d.exec("CREATE VIEW ledger AS SELECT * FROM read_parquet(" + literal(s.dest+"/"+s.manifest.Ledger.Path) + ")")

	require.Equal(t, [][]any{
		{"dataset", "VARCHAR"},
		{"requested_school_bid", "VARCHAR"},
		{"requested_district_bid", "VARCHAR"},
		{"status", "VARCHAR"},
		{"pages", "BIGINT"},
		{"records_received", "BIGINT"},
		{"duplicates_dropped", "BIGINT"},
		{"rows_written", "BIGINT"},
		{"records_unavailable", "BIGINT"},
		{"requests", "BIGINT"},
		{"retries", "BIGINT"},
		{"error", "VARCHAR"},
	}, d.describe("SELECT * FROM ledger"))

	require.Empty(t, d.query("SELECT * FROM ledger WHERE status <> 'ok' OR error IS NOT NULL"))
	require.Empty(t, d.query("SELECT * FROM ledger WHERE records_received <> rows_written + duplicates_dropped"))
	require.Empty(t, d.query("SELECT * FROM ledger WHERE pages < 1 OR requests < pages + retries"))

	require.EqualValues(t, s.manifest.Requests.Retries, d.one("SELECT sum(retries)::BIGINT FROM ledger"))
	require.EqualValues(t, s.manifest.Requests.Total, d.one("SELECT sum(requests)::BIGINT FROM ledger"))

	datasets := s.datasets()
	require.NotEmpty(t, datasets)
	rows := int64(0)
	for _, dataset := range datasets {
		// The schools or districts requested, as listed by the service.
		asked := "SELECT NULL::VARCHAR AS bid"
		column := "NULL::VARCHAR"
		switch {
		case dataset.Name == "district_schools":
			asked, column = "SELECT district_bid AS bid FROM "+s.named("districts"), "requested_district_bid"
		case dataset.Per != schemas.Once:
			asked, column = "SELECT school_bid AS bid FROM "+s.named("schools"), "requested_school_bid"
		}
		require.Empty(t, d.query(`
			SELECT asked.bid, ledger.requested_school_bid, ledger.requested_district_bid, rows_written, coalesce(n, 0) AS rows_there
			FROM (`+asked+`) AS asked
			FULL JOIN (FROM ledger WHERE dataset = `+literal(dataset.Name)+`) AS ledger
				ON asked.bid IS NOT DISTINCT FROM coalesce(requested_school_bid, requested_district_bid)
			FULL JOIN (SELECT `+column+` AS bid, count(*) AS n FROM `+s.files(dataset.Tables[0])+` GROUP BY 1) AS there
				ON there.bid IS NOT DISTINCT FROM asked.bid
			WHERE dataset IS NULL OR rows_written <> rows_there`),
			"%s: requests, ledger and table differ", dataset.Name)
		n := d.one("SELECT count(*) FROM ledger WHERE dataset = ?", dataset.Name).(int64)
		require.Equal(t, d.one("SELECT count(*) FROM ("+asked+")"), n, "rows of the ledger for %s", dataset.Name)
		rows += n
	}
	require.Equal(t, s.manifest.Ledger.Rows, rows, "rows of the ledger for the selected datasets")
}
