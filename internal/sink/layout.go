package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

const (
	runsPrefix     = "_runs/"
	stagingPrefix  = "_staging/"
	purgesPrefix   = "_purges/"
	snapshotPrefix = "_snapshots/"
	asOfPrefix     = "_as_of/"

	planName     = "plan.json"
	manifestName = "manifest.json"
	ledgerName   = "ledger.parquet"
	heldName     = "held.json"
	intentName   = "intent.json"
	aliveName    = "alive.json"
	purgeName    = "purge.json"
	pruneName    = "prune.json"
	reportName   = "report.html"
	journalName  = "journal/"
)

// LatestPath is where the newest published full run without a filter is named.
const LatestPath = "_latest.json"

// LookupBucket is the index of the bucket of the lookup tables, which are not
// fetched per school.
const LookupBucket = -1

// unknownPartition is the name that Hive, Spark and DuckDB give to the
// partition of a null: schools whose district the service does not name.
const unknownPartition = "__HIVE_DEFAULT_PARTITION__"

// longestValue is the maximum number of bytes of an escaped value in a path:
// file systems limit a segment to 255 bytes, and the partition's name comes
// before it.
const longestValue = 200

// Escape returns a value as a segment of a path, or the end of one: ASCII
// outside [A-Za-z0-9._-] is percent-encoded, which Hive, Spark and DuckDB
// decode. Other characters stay as they are, because Spark decodes each encoded
// byte to a character of its own. The result is never empty and never a segment
// that means something to a file system. A value too long for a segment is cut
// between characters and ends in a tilde and its hash, so that different values
// stay different.
func Escape(value string) string {
	switch value {
	case "":
		return unknownPartition
	case unknownPartition:
		return "%5F" + value[1:]
	case ".", "..":
		return strings.ReplaceAll(value, ".", "%2E")
	}
	const hashed = 1 + 2*hashBytes // the tilde and the hash
	var b strings.Builder
	cut := 0
	for i := 0; i < len(value); {
		c := value[i]
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-',
			c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1):
			b.WriteString(value[i : i+size])
		default:
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
		if b.Len() < longestValue-hashed {
			cut = b.Len()
		}
		i += size
	}
	if b.Len() <= longestValue {
		return b.String()
	}
	sum := sha256.Sum256([]byte(value))
	return b.String()[:cut] + "~" + hex.EncodeToString(sum[:hashBytes])
}

// hashBytes is how many bytes of a long value's hash are used in a path.
const hashBytes = 16

// runPath is the folder of a run's documents.
func runPath(run string) string { return runsPrefix + Escape(run) + "/" }

// PlanPath is where the plan of a run is.
func PlanPath(run string) string { return runPath(run) + planName }

// ManifestPath is where the manifest of a published run is.
func ManifestPath(run string) string { return runPath(run) + manifestName }

// LedgerPath is where the ledger of a published run is.
func LedgerPath(run string) string { return runPath(run) + ledgerName }

// ReportPath is where the page is that shows what a run did.
func ReportPath(run string) string { return runPath(run) + reportName }

// HeldPath is where it says why a run was held back.
func HeldPath(run string) string { return runPath(run) + heldName }

// IntentPath is where a publisher says that it began.
func IntentPath(run string) string { return runPath(run) + intentName }

// AlivePath is the path of alive.json, the sign of life of a run.
func AlivePath(run string) string { return runPath(run) + aliveName }

// JournalPath is where the journal of a staged unit is.
func JournalPath(run string, bucket int, dataset string) string {
	if bucket == LookupBucket {
		return fmt.Sprintf("%s%slookup-%s.json", runPath(run), journalName, Escape(dataset))
	}
	return fmt.Sprintf("%s%s%04d-%s.json", runPath(run), journalName, bucket, Escape(dataset))
}

// PointerPath is where the run of a date is named; empty for delta runs, which
// do not replace one another and have no pointer.
func PointerPath(kind Kind, date string) string {
	switch kind {
	case Full:
		return snapshotPrefix + Escape(date) + ".json"
	case AsOf:
		return asOfPrefix + Escape(date) + ".json"
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
	return top + table + "/snapshot_date=" + Escape(date) + "/"
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
		folder += "district=" + Escape(district) + "/"
	}
	return fmt.Sprintf("%spart-%04d-%s.parquet", folder, max(bucket, 0), Escape(p.RunID))
}

// RunOf returns the run, as it stands in paths, that the object at a path
// belongs to: data files are named part-<bucket>-<run>.parquet, the others lie
// in the run's folder. Empty if it is neither.
func RunOf(path string) string {
	if below, ok := strings.CutPrefix(path, runsPrefix); ok {
		run, _, inside := strings.Cut(below, "/")
		if !inside {
			return ""
		}
		return run
	}
	name, parquet := strings.CutSuffix(path[strings.LastIndexByte(path, '/')+1:], ".parquet")
	name, part := strings.CutPrefix(name, "part-")
	bucket, run, cut := strings.Cut(name, "-")
	if !parquet || !part || !cut || strings.Trim(bucket, "0123456789") != "" {
		return ""
	}
	return run
}

// CheckPath refuses a path that is none of a destination: the names below
// _staging/ are kept free in every store.
func CheckPath(path string) error {
	if !fs.ValidPath(path) || path == "." || strings.HasPrefix(path, stagingPrefix) {
		return fmt.Errorf("%q is not a path of a destination", path)
	}
	return nil
}
