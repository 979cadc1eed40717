package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Reasons why a school is not compared. If the school is in both snapshots, the reason may also be its status in the
// later snapshot or, followed by _before, in the earlier one.
const (
	newSchool    = "new"
	notListed    = "no_longer_listed"
	notSelected  = "not_selected" // one of the runs was limited to other schools
	notRecorded  = "not_recorded" // a ledger has no rows of the school, as after a purge
	beforeSuffix = "_before"
)

// maxNotCompared is the maximum number of schools in Difference.NotCompared.
const maxNotCompared = 100

// NotCompared is a school that is compared only in part or not at all.
type NotCompared struct {
	School string `json:"school"` // the bid
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
	// Datasets lists the datasets that are not compared. Part is true if other datasets of the school are compared.
	Datasets []string `json:"datasets"`
	Part     bool     `json:"part"`
	// RowsBefore and RowsNow count the rows of these datasets in the earlier and in the later snapshot, by table. Child
	// tables are not counted.
	RowsBefore map[string]int64 `json:"rows_before"`
	RowsNow    map[string]int64 `json:"rows_now"`
}

// String describes the school in a line of text.
func (n *NotCompared) String() string {
	text := wording.School(n.Name, n.School) + ", "
	switch status, before := strings.CutSuffix(n.Reason, beforeSuffix); {
	case n.Reason == notSelected:
		text += "not selected in one of the two runs"
	case n.Reason == notRecorded:
		text += "not recorded in one of the two runs, as after a purge"
	case before:
		text += status + " in the earlier snapshot"
	default:
		text += strings.ReplaceAll(status, "_", " ")
	}
	if n.Part {
		text += ": only " + wording.First(n.Datasets, 3)
	}
	return text + countsText("before", n.RowsBefore) + countsText("now", n.RowsNow)
}

// countsText describes the numbers of rows in a snapshot, the largest table first.
func countsText(when string, counts map[string]int64) string {
	var parts []string
	for _, table := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, wording.Many(counts[table], "row")+" of "+table)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + when + ": " + wording.First(parts, 3)
}

// rows returns the number of rows in both snapshots together.
func (n *NotCompared) rows() (sum int64) {
	for _, counts := range []map[string]int64{n.RowsBefore, n.RowsNow} {
		for _, rows := range counts {
			sum += rows
		}
	}
	return sum
}

// notCompared fills in Difference.NotCompared with up to maxNotCompared schools, sorted by their number of rows in
// descending order.
func (d *differ) notCompared(ctx context.Context) error {
	d.found.NotCompared = []*NotCompared{}
	both := schemas.SharedBySchool(d.earlier.manifest.Parameters.Datasets, d.later.manifest.Parameters.Datasets)
	if len(both) == 0 || d.found.SchoolsNotCompared == 0 {
		return nil
	}
	schools := make(map[string]*NotCompared)
	for i, side := range []*side{d.later, d.earlier} {
		other, absent := d.earlier, newSchool
		if i == 1 {
			other, absent = d.later, notListed
		}
		for j := range side.plan.Schools {
			school := &side.plan.Schools[j]
			if schools[school.Bid] != nil || d.compared(school.Bid) {
				continue
			}
			n := &NotCompared{School: school.Bid, Name: school.Name, Datasets: []string{}, RowsBefore: map[string]int64{}, RowsNow: map[string]int64{}}
			if _, listed := other.buckets[school.Bid]; !listed {
				n.Reason = absent
				if other.manifest.Parameters.Filtered() {
					n.Reason = notSelected
				}
			}
			for _, dataset := range both {
				if !d.earlier.covers(dataset, school.Bid) || !d.later.covers(dataset, school.Bid) {
					n.Datasets = append(n.Datasets, dataset)
				}
			}
			n.Part = len(n.Datasets) < len(both)
			schools[school.Bid] = n
		}
	}
	for i, side := range []*side{d.later, d.earlier} {
		err := side.catalog.ReadLedger(ctx, side.manifest.RunID, func(row *snapshot.LedgerRow) {
			n := schools[row.SchoolBid]
			if n == nil || !slices.Contains(n.Datasets, row.Dataset) {
				return
			}
			counts, status := n.RowsNow, string(row.Status)
			if i == 1 {
				counts, status = n.RowsBefore, status+beforeSuffix
			}
			if n.Reason == "" && row.Status != snapshot.StatusOK {
				n.Reason = status
			}
			if dataset, ok := schemas.Find(row.Dataset); ok && row.RowsWritten > 0 {
				counts[dataset.Tables[0].Name] += row.RowsWritten
			}
		})
		if err != nil {
			return err
		}
	}
	listed := slices.SortedFunc(maps.Values(schools), func(a, b *NotCompared) int {
		return cmp.Or(cmp.Compare(b.rows(), a.rows()), cmp.Compare(a.School, b.School))
	})
	for _, n := range listed {
		n.Reason = cmp.Or(n.Reason, notRecorded)
	}
	d.found.NotCompared = listed[:min(len(listed), maxNotCompared)]
	return nil
}
