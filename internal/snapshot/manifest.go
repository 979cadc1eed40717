package snapshot

import (
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/sink"
)

// FormatVersion is the version of the documents and of the data files' layout.
const FormatVersion = 1

// The ways to partition the tables of per-school datasets.
const (
	NotPartitioned = "none"
	ByDistrict     = "district"
)

// Kind is the kind of a run.
type Kind string

// The kinds of runs: a full snapshot, the enrollment as of a past date, and
// the enrollment changes since a time.
const (
	Full  Kind = "full"
	AsOf  Kind = "as_of"
	Delta Kind = "delta"
)

// Scope is what a run covers. A run replaces the snapshot of its date, and is
// compared with an earlier one, only where the scopes are equal.
type Scope struct {
	Datasets     []string `json:"datasets"`
	Schools      []string `json:"schools,omitempty"`
	Districts    []string `json:"districts,omitempty"`
	Perspectives string   `json:"perspectives"`
	PartitionBy  string   `json:"partition_by"`
	// ModifiedSince is the parameter as given, auto included.
	ModifiedSince  string `json:"modified_since,omitempty"`
	IncludeRemoved bool   `json:"include_removed,omitempty"`
}

// Filtered reports whether the run was restricted to some schools. Such a run never becomes _latest.json.
func (s Scope) Filtered() bool { return len(s.Schools) > 0 || len(s.Districts) > 0 }

// Plan is _runs/<run>/plan.json: what a run will do, pinned when it starts.
// Every process of the run follows it. It holds no student data.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	RunID         string `json:"run_id"`
	Kind          Kind   `json:"kind"`
	SnapshotDate  string `json:"snapshot_date"`
	// PlannedAt is when the plan was made, in UTC; its date is the day that
	// enrollment operations are pinned to.
	PlannedAt   time.Time `json:"planned_at"`
	ToolVersion string    `json:"tool_version"`
	BaseURL     string    `json:"base_url"`
	Scope       Scope     `json:"scope"`
	// Filters are the optional parameters of the enrollment operations, pinned.
	Filters map[string]string `json:"filters,omitempty"`
	// Fingerprint covers what the derived run id covers: a run is resumed only
	// by a command with the same.
	Fingerprint    string `json:"fingerprint"`
	SchoolsPerFile int    `json:"schools_per_file"`
	// Shards is the number of processes the run is cut for.
	Shards           int    `json:"shards"`
	MaxFailedSchools int    `json:"max_failed_schools"`
	MaxShrink        string `json:"max_shrink"`
	StrictChecks     bool   `json:"strict_checks,omitempty"`
	Replace          bool   `json:"replace,omitempty"`
	// AcceptBaseURL lets the run move the destination to its service.
	AcceptBaseURL bool     `json:"accept_base_url,omitempty"`
	Schools       []School `json:"schools"`
	// Districts are those of 4.2 in the order of their bids, where the run
	// needs them.
	Districts []string `json:"districts,omitempty"`
	// FailedSchools are schools that the run cannot fetch: unknown bids of --schools, and schools without a bid.
	FailedSchools []SchoolFailure `json:"failed_schools,omitempty"`
	Buckets       []Bucket        `json:"buckets"`
}

// MaxSchoolName is the length, in characters, at which a plan cuts the name of a
// school: names are for people, and the service may send text of any length.
const MaxSchoolName = 200

// School is a school of a run.
type School struct {
	Bid string `json:"bid"`
	// Name is the school's name in the school list, cut at MaxSchoolName
	// characters; empty if the list has none.
	Name string `json:"name,omitempty"`
	// District is the school's own districtBid, empty if the list named none.
	District string `json:"district,omitempty"`
	// Perspectives are the districts through which the school's enrollment is
	// read, in the order of their bids.
	Perspectives []string `json:"perspectives,omitempty"`
}

// Bucket is a fixed group of schools: those from First up to End, exclusive,
// of the plan's list. The lookup bucket has no schools.
type Bucket struct {
	Index    int    `json:"index"`
	First    int    `json:"first"`
	End      int    `json:"end"`
	District string `json:"district,omitempty"`
}

// Checkpoint is _runs/<run>/journal/<task>.json: one dataset of one bucket, whole
// and staged. Checkpoints are the state from which a run is resumed and what a
// publisher gathers.
type Checkpoint struct {
	Dataset string `json:"dataset"`
	// Bucket is the bucket's index; -1 is the bucket of the lookups.
	Bucket int                  `json:"bucket"`
	Files  map[string]sink.File `json:"files"` // by table
	Ledger []LedgerRow          `json:"ledger"`
	Drift  []Drift              `json:"drift,omitempty"`
	// Checks are the counts of the dataset's own checks, including zeros.
	Checks CheckCounts `json:"checks,omitempty"`
	// Terms are what test results refer to, Sessions the enrollment sessions that
	// academic years define, sorted: Collect compares them over the whole run.
	Terms    TermCounts `json:"terms,omitempty"`
	Sessions []string   `json:"sessions,omitempty"`
	Requests Requests   `json:"requests"`
	// Activity is what came since the checkpoint before.
	Activity activity.Log `json:"activity"`
	StagedAt time.Time    `json:"staged_at"`
}

// Failed reports whether a school of the checkpoint failed. Resuming the run then repeats the bucket.
func (j *Checkpoint) Failed() bool {
	for i := range j.Ledger {
		if j.Ledger[i].Status == StatusFailed {
			return true
		}
	}
	return false
}

// Requests counts the requests of a run, or of a part of one.
type Requests struct {
	Total          int64            `json:"total"`
	Retries        int64            `json:"retries"`
	TokenRefreshes int64            `json:"token_refreshes"`
	ByStatus       map[string]int64 `json:"by_status"`
}

// Add adds the other counts.
func (r *Requests) Add(other Requests) {
	r.Total += other.Total
	r.Retries += other.Retries
	r.TokenRefreshes += other.TokenRefreshes
	for status, n := range other.ByStatus {
		if r.ByStatus == nil {
			r.ByStatus = make(map[string]int64)
		}
		r.ByStatus[status] += n
	}
}

// Status is what became of a school's dataset.
type Status string

// The statuses of ledger rows.
const (
	StatusOK     Status = "ok"
	StatusDenied Status = "denied"
	StatusFailed Status = "failed"
)

// LedgerRow is one row of ledger.parquet: one school (or district, or the
// whole run) and dataset.
type LedgerRow struct {
	Dataset            string `json:"dataset"`
	SchoolBid          string `json:"school,omitempty"`
	DistrictBid        string `json:"district,omitempty"`
	Status             Status `json:"status"`
	Pages              int64  `json:"pages"`
	RecordsReceived    int64  `json:"records_received"`
	DuplicatesDropped  int64  `json:"duplicates_dropped"`
	RowsWritten        int64  `json:"rows_written"`
	RecordsUnavailable int64  `json:"records_unavailable"`
	Requests           int64  `json:"requests"`
	Retries            int64  `json:"retries"`
	Error              string `json:"error,omitempty"`
}

// The states of a manifest.
const (
	Published = "published"
	Replaced  = "replaced"
)

// Manifest is _runs/<run>/manifest.json: what a published run consists of. A
// run without one is not published.
type Manifest struct {
	FormatVersion int                        `json:"format_version"`
	RunID         string                     `json:"run_id"`
	Status        string                     `json:"status"`
	SnapshotDate  string                     `json:"snapshot_date"`
	Kind          Kind                       `json:"kind"`
	StartedAt     time.Time                  `json:"started_at"`
	PublishedAt   time.Time                  `json:"published_at"`
	ToolVersion   string                     `json:"tool_version"`
	BaseURL       string                     `json:"base_url"`
	Parameters    Parameters                 `json:"parameters"`
	Tables        map[string]ManifestTable   `json:"tables"`
	Ledger        sink.File                  `json:"ledger"`
	Schools       ManifestSchools            `json:"schools"`
	Datasets      map[string]ManifestDataset `json:"datasets"`
	Requests      Requests                   `json:"requests"`
	Drift         []Drift                    `json:"drift"`
	// Checks are the checks of the service's own rules that were made.
	Checks []Check `json:"checks"`
	// Replaces are the runs that this one took the date from, as of the start of publishing.
	Replaces []string `json:"replaces,omitempty"`
	// Accepted are the reasons to hold the run back that were overruled with
	// --accept-held.
	Accepted []string `json:"accepted,omitempty"`
	// Activity is what all processes of the run did over time, as far as they came to checkpoint it.
	Activity activity.Log `json:"activity"`
	// Purges are what was removed from the run after it was published, the
	// earliest first. Tables and Datasets count what is left, the ledger what was
	// published.
	Purges []ManifestPurge `json:"purges,omitempty"`
}

// Parameters are the settings that a manifest remembers.
type Parameters struct {
	Scope
	SchoolsPerFile   int    `json:"schools_per_file"`
	Shards           int    `json:"shards"`
	MaxFailedSchools int    `json:"max_failed_schools"`
	MaxShrink        string `json:"max_shrink"`
	StrictChecks     bool   `json:"strict_checks"`
}

// ManifestTable is a table of a published run.
type ManifestTable struct {
	Rows  int64       `json:"rows"`
	Files []sink.File `json:"files"`
}

// ManifestDataset counts a dataset's schools, for the next run to be compared
// with. For datasets that are not per school the counts are of ledger rows.
type ManifestDataset struct {
	OK             int64 `json:"ok"`
	Denied         int64 `json:"denied"`
	Failed         int64 `json:"failed"`
	SchoolsWithRow int64 `json:"schools_with_rows"`
}

// ManifestSchools counts the schools of a run by what became of them.
type ManifestSchools struct {
	Total    int64           `json:"total"`
	OK       int64           `json:"ok"`
	Denied   int64           `json:"denied"`
	Failed   int64           `json:"failed"`
	Failures []SchoolFailure `json:"failures"`
}

// SchoolFailure says why a school failed. SchoolBid is empty for a school that
// the service lists without one. SchoolName is empty if the school is not in
// the list or has no name there.
type SchoolFailure struct {
	SchoolBid  string `json:"school_bid"`
	SchoolName string `json:"school_name"`
	Dataset    string `json:"dataset"`
	Error      string `json:"error"`
}

// Pointer is _snapshots/<date>.json (and _as_of/<date>.json): the run that is
// the snapshot of that date.
type Pointer struct {
	RunID          string `json:"run_id"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Latest is _latest.json: the newest published full run that is not
// restricted to some schools.
type Latest struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	Manifest     string `json:"manifest"`
}
