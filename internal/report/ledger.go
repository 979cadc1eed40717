package report

import (
	"strconv"
	"strings"

	"example.org/growthexport/internal/sink"
)

// Ledger is what is said of a run's ledger. Its zero value is that of an empty one.
type Ledger struct {
	// Failed and Denied are its rows that are so, as many as are shown.
	Failed, Denied []sink.LedgerRow
	// Datasets are its sums.
	Datasets map[string]LedgerSums

	reasons map[reason]int64
}

// reason is why rows of a dataset failed or were denied.
type reason struct {
	status  sink.Status
	dataset string
	text    string
}

// mostKept is how many different reasons are counted, so that a ledger of which no two rows say the same needs little memory.
const mostKept = 1000

// LedgerSums are the sums of the rows of a dataset.
type LedgerSums struct {
	OK, Denied, Failed      int64
	Duplicates, Unavailable int64
}

// Add adds a row.
func (l *Ledger) Add(row *sink.LedgerRow) {
	if l.Datasets == nil {
		l.Datasets, l.reasons = make(map[string]LedgerSums), make(map[reason]int64)
	}
	sums := l.Datasets[row.Dataset]
	switch row.Status {
	case sink.StatusOK:
		sums.OK++
	case sink.StatusDenied:
		sums.Denied++
		l.Denied = appendUpTo(l.Denied, row)
	case sink.StatusFailed:
		sums.Failed++
		l.Failed = appendUpTo(l.Failed, row)
	}
	if key := (reason{row.Status, row.Dataset, reasonOf(row)}); row.Status != sink.StatusOK {
		if _, known := l.reasons[key]; known || len(l.reasons) < mostKept {
			l.reasons[key]++
		}
	}
	sums.Duplicates += row.DuplicatesDropped
	sums.Unavailable += row.RecordsUnavailable
	l.Datasets[row.Dataset] = sums
}

func appendUpTo(rows []sink.LedgerRow, row *sink.LedgerRow) []sink.LedgerRow {
	if len(rows) >= mostListed {
		return rows
	}
	return append(rows, *row)
}

// reasonOf is the error of a row without what stands beside it.
func reasonOf(row *sink.LedgerRow) string {
	reason, ok := strings.CutPrefix(row.Error, row.Dataset+" of school "+row.SchoolBid+" ")
	if !ok { // odd bids are quoted
		reason, ok = strings.CutPrefix(row.Error, row.Dataset+" of school "+strconv.Quote(row.SchoolBid)+" ")
	}
	if route, rest, found := strings.Cut(reason, "): "); ok && found && strings.HasPrefix(route, "(") {
		return rest + " " + route + ")"
	}
	return reason
}
