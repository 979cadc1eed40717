package snapshot

import (
	"fmt"
	pathpkg "path"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// Kind is the kind of a run: full, as_of or delta.
type Kind string

// The kinds of runs: a full snapshot, the enrollment as of a past date, and the enrollment changes since a time.
const (
	Full  Kind = "full"
	AsOf  Kind = "as_of"
	Delta Kind = "delta"
)

// The folders and documents of a destination.
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
	AliveName        = "alive.json"
	reportName       = "report.html"
	CheckpointFolder = "journal/"
)

// LatestPath is the path of the document that refers to the newest published full run without a filter.
const LatestPath = "_latest.json"

// IndexPath is the path of the page that lists all runs.
const IndexPath = RunsPrefix + "index.html"

// LookupBucket is the index of the bucket of the lookup tables, which are not fetched per school.
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

// AlivePath returns the path of alive.json, the heartbeat of a run.
func AlivePath(run string) string { return runPath(run) + AliveName }

// CheckpointPath returns the path of the checkpoint of a staged task.
func CheckpointPath(run string, bucket int, dataset string) string {
	if bucket == LookupBucket {
		return fmt.Sprintf("%s%slookup-%s.json", runPath(run), CheckpointFolder, sink.Escape(dataset))
	}
	return fmt.Sprintf("%s%s%04d-%s.json", runPath(run), CheckpointFolder, bucket, sink.Escape(dataset))
}

// The suffixes of the files beside the checkpoints.
const (
	turnoverSuffix = ".turnover"
	callsSuffix    = ".calls"
)

// taskPrefix returns the start of the paths of a task's files beside its checkpoint.
func taskPrefix(run string, task Task) string {
	return strings.TrimSuffix(CheckpointPath(run, task.Bucket, task.Dataset), ".json") + "-"
}

// taskPath returns the path of a file of a task beside its checkpoint. The hash in the name keeps two processes that do
// the same task from replacing each other's files.
func taskPath(run string, task Task, hash, suffix string) string {
	return taskPrefix(run, task) + hash[:16] + suffix
}

// PointerPath returns the path of a date's pointer. It returns "" for delta runs, which do not replace one another and
// therefore have no pointer.
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

// DatePath returns the folder of a table's files of one date, with a trailing slash.
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

// IsDocument reports whether this program stores a document at a path.
func IsDocument(path string) bool {
	parts := strings.Split(path, "/")
	folder, name := parts[0]+"/", parts[len(parts)-1]
	switch {
	case path == IndexPath || path == HistoryPrefix+ChangeName:
		return true
	case len(parts) == 1:
		return path == LatestPath || path == HistoryPointerPath || path == ServicePath
	case len(parts) == 2:
		return (folder == snapshotPrefix || folder == asOfPrefix || folder == PurgesPrefix) && strings.HasSuffix(name, ".json")
	case len(parts) == 3 && folder == HistoryPrefix:
		return name == ManifestName
	case len(parts) == 3 && folder == RunsPrefix:
		return slices.Contains([]string{PlanName, ManifestName, LedgerName, heldName, ChangeName, AliveName, reportName}, name)
	case len(parts) == 4 && folder == RunsPrefix && parts[2]+"/" == CheckpointFolder:
		return slices.Contains([]string{".json", turnoverSuffix, callsSuffix}, pathpkg.Ext(name))
	}
	return false
}

// DocumentPath returns the path of a document in a run's folder. run is the name of the folder, which is the escaped id
// of the run.
func DocumentPath(run, name string) string { return RunsPrefix + run + "/" + name }
