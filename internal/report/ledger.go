package report

import (
	"strconv"
	"strings"

	"example.org/growthexport/internal/snapshot"
)

// Ledger is a summary of a run's ledger. The zero value summarizes an empty ledger.
type Ledger struct {
	// Failed and Denied hold the first rows with the respective status, at most maxListed each.
	Failed, Denied []snapshot.LedgerRow
	// Datasets holds sums by dataset.
	Datasets map[string]LedgerSums

	reasons map[reason]int64
}

// reason identifies the rows of a dataset that failed or were denied for the same reason.
type reason struct {
	status  snapshot.Status
	dataset string
	text    string
}

// maxDifferentReasons limits the memory for a ledger in which all errors differ.
const maxDifferentReasons = 1000

// LedgerSums holds sums over rows of a run's ledger.
type LedgerSums struct {
	OK, Denied, Failed      int64
	Duplicates, Unavailable int64
}

// Add adds a row of the run's ledger.
func (l *Ledger) Add(row *snapshot.LedgerRow) {
	if l.Datasets == nil {
		l.Datasets, l.reasons = make(map[string]LedgerSums), make(map[reason]int64)
	}
	sums := l.Datasets[row.Dataset]
	switch row.Status {
	case snapshot.StatusOK:
		sums.OK++
	case snapshot.StatusDenied:
		sums.Denied++
		l.Denied = l.addProblem(l.Denied, row)
	case snapshot.StatusFailed:
		sums.Failed++
		l.Failed = l.addProblem(l.Failed, row)
	}
	sums.Duplicates += row.DuplicatesDropped
	sums.Unavailable += row.RecordsUnavailable
	l.Datasets[row.Dataset] = sums
}

// addProblem counts the reason why a row failed or was denied. It returns rows with this row appended, unless rows
// already has maxListed elements.
func (l *Ledger) addProblem(rows []snapshot.LedgerRow, row *snapshot.LedgerRow) []snapshot.LedgerRow {
	key := reason{row.Status, row.Dataset, reasonOf(row)}
	if _, known := l.reasons[key]; known || len(l.reasons) < maxDifferentReasons {
		l.reasons[key]++
	}
	if len(rows) < maxListed {
		rows = append(rows, *row)
	}
	return rows
}

// reasonOf returns the error of a row without the dataset and the school, and with the route last.
func reasonOf(row *snapshot.LedgerRow) string {
	reason, ok := strings.CutPrefix(row.Error, row.Dataset+" of school "+row.SchoolBid+" ")
	if !ok { // unusual bids are quoted
		reason, ok = strings.CutPrefix(row.Error, row.Dataset+" of school "+strconv.Quote(row.SchoolBid)+" ")
	}
	if route, rest, found := strings.Cut(reason, "): "); ok && found && strings.HasPrefix(route, "(") {
		return rest + " " + route + ")"
	}
	return reason
}
