package sink

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"example.org/growthexport/schemas"
)

// ledgerRecord is what is read back of a row of the ledger. This file is the
// only one of the package that reads the values of a Parquet file.
type ledgerRecord struct {
	Dataset   string  `parquet:"dataset"`
	SchoolBid *string `parquet:"requested_school_bid,optional"`
	Status    string  `parquet:"status"`
	Received  int64   `parquet:"records_received"`
	Dropped   int64   `parquet:"duplicates_dropped"`
	Written   int64   `parquet:"rows_written"`
}

// ledgerTotals is what a ledger adds up to.
type ledgerTotals struct {
	datasets map[string]ManifestDataset
	written  map[string]int64 // rows of the first table by dataset
	uneven   int64            // rows of status ok whose counts do not add up
	// worst is the status of each school: failed before denied before ok.
	worst map[string]Status
	// nameless counts by dataset the schools without a bid, which all failed.
	nameless map[string]int64
}

// readLedgerTotals reads a ledger of that size and adds it up.
func readLedgerTotals(file io.ReaderAt, size int64) (_ *ledgerTotals, err error) {
	defer func() {
		// The library panics on some damage that the footer does not show.
		if p := recover(); p != nil {
			err = fmt.Errorf("read the ledger: %v", p)
		}
	}()
	reader := parquet.NewGenericReader[ledgerRecord](io.NewSectionReader(file, 0, size))
	defer func() { err = errors.Join(err, reader.Close()) }()
	totals := &ledgerTotals{
		datasets: make(map[string]ManifestDataset), written: make(map[string]int64),
		worst: make(map[string]Status), nameless: make(map[string]int64),
	}
	records := make([]ledgerRecord, 1024)
	for {
		n, err := reader.Read(records)
		for i := range n {
			totals.add(&records[i])
		}
		if errors.Is(err, io.EOF) {
			return totals, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
	}
}

func (t *ledgerTotals) add(r *ledgerRecord) {
	counts := t.datasets[r.Dataset]
	status := Status(r.Status)
	switch status {
	case StatusOK:
		counts.OK++
		if r.Written > 0 {
			counts.SchoolsWithRow++
		}
		if r.Received != r.Written+r.Dropped {
			t.uneven++
		}
	case StatusDenied:
		counts.Denied++
	case StatusFailed:
		counts.Failed++
	}
	t.datasets[r.Dataset] = counts
	t.written[r.Dataset] += r.Written

	dataset, ok := schemas.Find(r.Dataset)
	switch {
	case !ok || !perSchool(dataset):
	case r.SchoolBid == nil:
		t.nameless[r.Dataset]++
	default:
		worst := t.worst[*r.SchoolBid]
		if worst != StatusFailed && (worst != StatusDenied || status != StatusOK) {
			t.worst[*r.SchoolBid] = status
		}
	}
}

// schools counts the schools by what became of them; not known where no dataset
// of the run is asked per school.
func (t *ledgerTotals) schools() (ok, denied, failed int64, known bool) {
	for _, status := range t.worst {
		switch status {
		case StatusOK:
			ok++
		case StatusDenied:
			denied++
		case StatusFailed:
			failed++
		}
	}
	for _, n := range t.nameless {
		failed += n
		break // every dataset has the same
	}
	for name := range t.datasets {
		if dataset, found := schemas.Find(name); found && perSchool(dataset) {
			known = true
		}
	}
	return ok, denied, failed, known
}
