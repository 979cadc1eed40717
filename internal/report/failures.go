package report

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// failureList is what failed, or was denied.
type failureList struct {
	All int64
	// Reasons are the most frequent, where there are many failures.
	Reasons []reasonLine
	// Shown are the first, and Folded some more.
	Shown, Folded []failureLine
	// Query is one that has them all.
	Query string
}

// More is how many are not on the page.
func (l failureList) More() int64 { return l.All - int64(len(l.Shown)+len(l.Folded)) }

type reasonLine struct {
	Dataset, Reason string
	N               int64
}

type failureLine struct {
	School            place
	Datasets, Error   string
	Requests, Retries int64
}

// failures puts the rows of a school that say the same in one line.
func failures(p *Page, status sink.Status, rows []sink.LedgerRow, of func(*LedgerSums) int64) failureList {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b sink.LedgerRow) int {
		return cmp.Or(cmp.Compare(a.SchoolBid, b.SchoolBid), cmp.Compare(a.DistrictBid, b.DistrictBid))
	})
	lines := failureList{Query: ledgerQuery(p, status)}
	for _, sums := range p.Ledger.Datasets {
		lines.All += of(&sums)
	}
	merged := int64(0)
	for i := range rows {
		row := &rows[i]
		line := failureLine{
			School: p.placeOf(row), Datasets: row.Dataset, Error: clip(reasonOf(row), mostError), Requests: row.Requests, Retries: row.Retries,
		}
		if last := len(lines.Shown) - 1; last >= 0 && lines.Shown[last].School == line.School && lines.Shown[last].Error == line.Error {
			merged++
			same := &lines.Shown[last]
			same.Datasets += ", " + line.Datasets
			same.Requests += line.Requests
			same.Retries += line.Retries
			continue
		}
		lines.Shown = append(lines.Shown, line)
	}
	lines.All -= merged
	if len(lines.Shown) > mostOpen {
		lines.Shown, lines.Folded = lines.Shown[:mostOpen], lines.Shown[mostOpen:]
		lines.Reasons = p.Ledger.mostFrequent(status)
	}
	return lines
}

// mostFrequent are the reasons of most rows.
func (l *Ledger) mostFrequent(status sink.Status) []reasonLine {
	var lines []reasonLine
	for key, n := range l.reasons {
		if key.status == status {
			lines = append(lines, reasonLine{Dataset: key.dataset, Reason: clip(key.text, mostError), N: n})
		}
	}
	slices.SortFunc(lines, func(a, b reasonLine) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Reason, b.Reason))
	})
	return lines[:min(len(lines), mostReasons)]
}

// ledgerQuery lists what failed, or was denied: from the ledger, or from the journals of a run that has none yet.
func ledgerQuery(p *Page, status sink.Status) string {
	at := func(below string) string {
		return "'" + strings.ReplaceAll(strings.TrimSuffix(p.Destination, "/")+"/"+below, "'", "''") + "'"
	}
	run := p.Manifest.RunID
	if p.State == Published || p.State == Replaced {
		return "SELECT * FROM read_parquet(" + at(sink.LedgerPath(run)) + ") WHERE status = '" + string(status) + "';"
	}
	journals := path.Dir(sink.JournalPath(run, 0, "")) + "/*.json"
	return "SELECT line.* FROM (SELECT unnest(ledger) AS line FROM read_json(" + at(journals) + ")) WHERE line.status = '" + string(status) + "';"
}

// place is a school, or what else something happened to. Bid is empty where
// the name says it all.
type place struct{ Name, Bid string }

// placeOf names what a row of the ledger is about.
func (p *Page) placeOf(row *sink.LedgerRow) place {
	switch {
	case row.SchoolBid != "":
		return p.school(row.SchoolBid)
	case row.DistrictBid != "":
		return place{Name: "district " + clip(row.DistrictBid, mostError)}
	}
	if dataset, ok := schemas.Find(row.Dataset); ok && dataset.IsLookup() {
		return place{Name: "(the whole run)"}
	}
	return place{Name: "(a school without a bid)"}
}

// school names a school: by its name with the bid beside it, or by its bid if
// it has no name.
func (p *Page) school(bid string) place {
	shown := clip(bid, mostError)
	if name := p.Names[bid]; strings.TrimSpace(name) != "" {
		return place{Name: clip(name, mostField), Bid: shown}
	}
	return place{Name: shown}
}
