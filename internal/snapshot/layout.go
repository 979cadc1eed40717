package snapshot

import (
	"fmt"

	"example.org/growthexport/internal/sink"
)

const (
	RunsPrefix     = "_runs/"
	PurgesPrefix   = "_purges/"
	snapshotPrefix = "_snapshots/"
	asOfPrefix     = "_as_of/"

	PlanName     = "plan.json"
	ManifestName = "manifest.json"
	LedgerName   = "ledger.parquet"
	heldName     = "held.json"
	ChangeName   = "change.json"
	aliveName    = "alive.json"
	reportName   = "report.html"
	journalName  = "journal/"
)

// LatestPath is where the newest published full run without a filter is named.
const LatestPath = "_latest.json"

// LookupBucket is the index of the bucket of the lookup tables, which are not
// fetched per school.
const LookupBucket = -1

// runPath is the folder of a run's documents.
func runPath(run string) string { return RunsPrefix + sink.Escape(run) + "/" }

// PlanPath is where the plan of a run is.
func PlanPath(run string) string { return runPath(run) + PlanName }

// ManifestPath is where the manifest of a published run is.
func ManifestPath(run string) string { return runPath(run) + ManifestName }

// LedgerPath is where the ledger of a published run is.
func LedgerPath(run string) string { return runPath(run) + LedgerName }

// ReportPath is where the page is that shows what a run did.
func ReportPath(run string) string { return runPath(run) + reportName }

// HeldPath is where it says why a run was held back.
func HeldPath(run string) string { return runPath(run) + heldName }

// ChangePath returns the path of change.json.
func ChangePath(run string) string { return runPath(run) + ChangeName }

// AlivePath is the path of alive.json, the sign of life of a run.
func AlivePath(run string) string { return runPath(run) + aliveName }

// JournalPath is where the journal of a staged unit is.
func JournalPath(run string, bucket int, dataset string) string {
	if bucket == LookupBucket {
		return fmt.Sprintf("%s%slookup-%s.json", runPath(run), journalName, sink.Escape(dataset))
	}
	return fmt.Sprintf("%s%s%04d-%s.json", runPath(run), journalName, bucket, sink.Escape(dataset))
}

// PointerPath is where the run of a date is named; empty for delta runs, which
// do not replace one another and have no pointer.
func PointerPath(kind Kind, date string) string {
	switch kind {
	case Full:
		return snapshotPrefix + sink.Escape(date) + ".json"
	case AsOf:
		return asOfPrefix + sink.Escape(date) + ".json"
	case Delta:
	}
	return ""
}

// DatePath is the folder of a table's files of one date, slash included.
func DatePath(kind Kind, table, date string) string {
	top := ""
	switch kind {
	case AsOf:
		top = "as_of/"
	case Delta:
		top = "changes/"
	case Full:
	}
	return top + table + "/snapshot_date=" + sink.Escape(date) + "/"
}

// DataPath is where the file of a table of one bucket will be. The bucket of the
// lookups, whose tables are its own, counts as the first.
func (p *Plan) DataPath(table string, bucket int) string {
	folder := DatePath(p.Kind, table, p.SnapshotDate)
	if p.Scope.PartitionBy == ByDistrict && bucket != LookupBucket {
		district := ""
		for i := range p.Buckets {
			if p.Buckets[i].Index == bucket {
				district = p.Buckets[i].District
			}
		}
		folder += "district=" + sink.Escape(district) + "/"
	}
	return fmt.Sprintf("%spart-%04d-%s.parquet", folder, max(bucket, 0), sink.Escape(p.RunID))
}
