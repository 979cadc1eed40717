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

	PlanName         = "plan.json"
	ManifestName     = "manifest.json"
	LedgerName       = "ledger.parquet"
	heldName         = "held.json"
	ChangeName       = "change.json"
	aliveName        = "alive.json"
	reportName       = "report.html"
	checkpointFolder = "journal/"
)

// LatestPath is where the newest published full run without a filter is named.
const LatestPath = "_latest.json"

// LookupBucket is the index of the bucket of the lookup tables, which are not
// fetched per school.
const LookupBucket = -1

// runPath returns the folder of a run's documents.
func runPath(run string) string { return RunsPrefix + sink.Escape(run) + "/" }

// PlanPath returns the path of plan.json.
func PlanPath(run string) string { return runPath(run) + PlanName }

// ManifestPath returns the path of manifest.json, which published runs have.
func ManifestPath(run string) string { return runPath(run) + ManifestName }

// LedgerPath returns the path of ledger.parquet, which published runs have.
func LedgerPath(run string) string { return runPath(run) + LedgerName }

// ReportPath returns the path of report.html.
func ReportPath(run string) string { return runPath(run) + reportName }

// HeldPath returns the path of held.json.
func HeldPath(run string) string { return runPath(run) + heldName }

// ChangePath returns the path of change.json.
func ChangePath(run string) string { return runPath(run) + ChangeName }

// AlivePath returns the path of alive.json, the sign of life of a run.
func AlivePath(run string) string { return runPath(run) + aliveName }

// CheckpointPath returns the path of the checkpoint of a staged task.
func CheckpointPath(run string, bucket int, dataset string) string {
	if bucket == LookupBucket {
		return fmt.Sprintf("%s%slookup-%s.json", runPath(run), checkpointFolder, sink.Escape(dataset))
	}
	return fmt.Sprintf("%s%s%04d-%s.json", runPath(run), checkpointFolder, bucket, sink.Escape(dataset))
}

// PointerPath returns the path of the pointer that names the run of a date. It is empty for delta runs, which do not replace
// one another and have no pointer.
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

// DatePath returns the folder of a table's files of one date, with a slash at the end.
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

// DataPath returns the path of a table's file of one bucket. The bucket of the lookups has tables of its own and counts as
// the first.
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
