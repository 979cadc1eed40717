package report

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// failureList is a section about failures, or about denials.
type failureList struct {
	All int64
	// Reasons are the most frequent reasons, if there are many failures.
	Reasons []reasonLine
	// Shown lists the first failures. Folded lists further failures, which the page hides at first.
	Shown, Folded []failureLine
	// Query is an SQL query that selects the rows of all failures.
	Query string
}

// More returns the number of failures that are not on the page.
func (l *failureList) More() int64 { return l.All - int64(len(l.Shown)+len(l.Folded)) }

// deniedNote explains how denied schools affect the run.
func deniedNote(p *Page) string {
	held := func(check string) bool {
		return slices.ContainsFunc(p.Held.Reasons, func(r review.Reason) bool { return r.Check == check })
	}
	if held(review.DatasetDenied) {
		return "The run was held back because one of its datasets could not be read for any school."
	}
	if c := p.Manifest.Comparison; c != nil {
		for _, w := range c.Warnings {
			if w.Check != review.NewlyDenied {
				continue
			}
			note := strings.ToUpper(w.String()[:1]) + w.String()[1:] + "."
			if held(review.MaxShrink) {
				note += " These rows count as lost, which may be why the run was held back."
			}
			return note
		}
	}
	if visible := p.State == Published || p.State == Replaced; visible {
		return "This does not block publishing."
	}
	return ""
}

type reasonLine struct {
	Dataset, Reason string
	Count           int64
}

type failureLine struct {
	School            place
	Datasets, Error   string
	Requests, Retries int64
}

// failures lists the rows with a status, and merges consecutive rows of one school that have the same error. count
// returns the number of rows with the status.
func failures(p *Page, status snapshot.Status, rows []snapshot.LedgerRow, count func(*LedgerSums) int64) failureList {
	list := failureList{Query: ledgerQuery(p, status)}
	for _, sums := range p.Ledger.Datasets {
		list.All += count(&sums)
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b snapshot.LedgerRow) int {
		return cmp.Or(cmp.Compare(a.SchoolBid, b.SchoolBid), cmp.Compare(a.DistrictBid, b.DistrictBid))
	})
	for i := range rows {
		row := &rows[i]
		line := failureLine{
			School: p.placeOf(row), Datasets: row.Dataset, Error: clip(reasonOf(row), maxError), Requests: row.Requests, Retries: row.Retries,
		}
		if last := len(list.Shown) - 1; last >= 0 && list.Shown[last].School == line.School && list.Shown[last].Error == line.Error {
			list.All--
			same := &list.Shown[last]
			same.Datasets += ", " + line.Datasets
			same.Requests += line.Requests
			same.Retries += line.Retries
			continue
		}
		list.Shown = append(list.Shown, line)
	}
	if len(list.Shown) > maxOpen {
		list.Shown, list.Folded = list.Shown[:maxOpen], list.Shown[maxOpen:]
		list.Reasons = p.Ledger.frequentReasons(status)
	}
	return list
}

func (l *Ledger) frequentReasons(status snapshot.Status) []reasonLine {
	var lines []reasonLine
	for key, n := range l.reasons {
		if key.status == status {
			lines = append(lines, reasonLine{Dataset: key.dataset, Reason: clip(key.text, maxError), Count: n})
		}
	}
	slices.SortFunc(lines, func(a, b reasonLine) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Reason, b.Reason))
	})
	return lines[:min(len(lines), maxReasons)]
}

// ledgerQuery returns SQL for DuckDB that selects the rows with a status from the ledger or, if the run is not
// published, from its checkpoints.
func ledgerQuery(p *Page, status snapshot.Status) string {
	quoted := func(below string) string { return render.DuckDBPath(strings.TrimSuffix(p.Destination, "/"), below) }
	run := p.Manifest.RunID
	if p.State == Published || p.State == Replaced {
		return "SELECT * FROM read_parquet(" + quoted(snapshot.LedgerPath(run)) + ") WHERE status = '" + string(status) + "';"
	}
	checkpoints := quoted(path.Dir(snapshot.CheckpointPath(run, 0, "")) + "/*.json")
	return "SELECT line.* FROM (SELECT unnest(ledger) AS line FROM read_json(" + checkpoints + ")) WHERE line.status = '" + string(status) + "';"
}

// place is the subject of a row of the ledger, usually a school. Bid is empty unless Name is the name of a school.
type place struct{ Name, Bid string }

func (p *Page) placeOf(row *snapshot.LedgerRow) place {
	switch {
	case row.SchoolBid != "":
		return p.school(row.SchoolBid)
	case row.DistrictBid != "":
		return place{Name: "district " + clip(row.DistrictBid, maxError)}
	}
	if dataset, ok := schemas.Find(row.Dataset); ok && dataset.IsLookup() {
		return place{Name: "(the whole run)"}
	}
	return place{Name: "(a school without a bid)"}
}

func (p *Page) school(bid string) place {
	shown := clip(bid, maxError)
	if name := p.Names[bid]; strings.TrimSpace(name) != "" {
		return place{Name: clip(name, maxName), Bid: shown}
	}
	return place{Name: shown}
}
