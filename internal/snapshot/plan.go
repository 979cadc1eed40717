package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Plan is _runs/<run>/plan.json. It is written when a run starts and determines what the run does. Every process of the
// run follows the plan. A plan does not contain student data.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	RunID         string `json:"run_id"`
	Kind          Kind   `json:"kind"`
	SnapshotDate  string `json:"snapshot_date"`
	// PlannedAt is the time at which the plan was made, in UTC. Enrollment operations are pinned to its date.
	PlannedAt   time.Time `json:"planned_at"`
	ToolVersion string    `json:"tool_version"`
	BaseURL     string    `json:"base_url"`
	Scope       Scope     `json:"scope"`
	// StudentsKey is the key of the digest of the scope's students, in hexadecimal. It is empty if the digest uses the
	// privacy key.
	StudentsKey string `json:"students_key,omitempty"`
	// Suppressed describes the students whom the run leaves out. It is nil if there are no such students, for example
	// because the run has no privacy key. NotSuppressed are purged students whom the run cannot leave out.
	Suppressed    *Suppression     `json:"suppressed,omitempty"`
	NotSuppressed []PurgedStudents `json:"not_suppressed,omitempty"`
	// Filters are the optional parameters of the enrollment operations, as pinned by the plan.
	Filters map[string]string `json:"filters,omitempty"`
	// Fingerprint covers the settings from which the run id is derived. A run is resumed only by a command with the
	// same fingerprint.
	Fingerprint    string `json:"fingerprint"`
	SchoolsPerFile int    `json:"schools_per_file"`
	// Shards is the number of processes that share the run.
	Shards int `json:"shards"`
	review.Limits
	Replace bool `json:"replace,omitempty"`
	// AcceptBaseURL lets the run move a destination that belongs to another service to the run's service.
	AcceptBaseURL bool `json:"accept_base_url,omitempty"`
	// Compare is true if the run's rows are compared with the rows of the baseline.
	Compare bool `json:"compare,omitempty"`
	// Baseline is the previous snapshot, or nil. NoBaseline is the reason why a full run has none.
	Baseline   *Baseline `json:"baseline,omitempty"`
	NoBaseline string    `json:"no_baseline,omitempty"`
	Schools    []School  `json:"schools"`
	// Districts are the bids of the service's districts (4.2), sorted, if the run needs them.
	Districts []string `json:"districts,omitempty"`
	// DistrictNames are the names of the districts in Districts, by bid, truncated like names of schools.
	DistrictNames map[string]string `json:"district_names,omitempty"`
	// FailedSchools are schools that the run cannot fetch: unknown bids of --schools, and schools without a bid.
	FailedSchools []SchoolFailure `json:"failed_schools,omitempty"`
	Buckets       []Bucket        `json:"buckets"`
}

// MaxSchoolName is the length, in characters, at which a plan truncates school names. The names are only shown to
// people, and the service may send text of any length.
const MaxSchoolName = 200

// School is a school of a run.
type School struct {
	Bid string `json:"bid"`
	// Name is the school's name in the school list, truncated at MaxSchoolName characters. It is empty if the list has no
	// name.
	Name string `json:"name,omitempty"`
	// District is the school's own districtBid. It is empty if the list has no districtBid.
	District string `json:"district,omitempty"`
	// Perspectives are the districts through which the school's enrollment is read, in the order of their bids.
	Perspectives []string `json:"perspectives,omitempty"`
}

// SchoolFailure records why a school failed. SchoolBid is empty for a school that the service lists without a bid.
// SchoolName is empty for a school that is not in the list or has no name there.
type SchoolFailure struct {
	SchoolBid  string `json:"school_bid"`
	SchoolName string `json:"school_name"` // as in the school list
	Dataset    string `json:"dataset"`
	Error      string `json:"error"` // the reason
}

// Bucket is a fixed group of schools: the plan's schools from First up to, but not including, End. The lookup bucket
// has no schools.
type Bucket struct {
	Index    int    `json:"index"`
	First    int    `json:"first"`
	End      int    `json:"end"`
	District string `json:"district,omitempty"`
}

// Task is the unit of work: one dataset of one bucket. Each task has its own checkpoint. A resumed run skips the tasks
// whose checkpoint has no failed school and whose files are intact.
type Task struct {
	Bucket  int
	Dataset string
}

// String describes the task for messages.
func (t Task) String() string {
	if t.Bucket == LookupBucket {
		return t.Dataset
	}
	return fmt.Sprintf("%s of bucket %d", t.Dataset, t.Bucket)
}

// Shard returns the index of the process that does the task. Buckets are assigned in turn. The first process also does
// the lookups.
func (t Task) Shard(shards int) int {
	if t.Bucket == LookupBucket {
		return 0
	}
	return t.Bucket % max(shards, 1)
}

// Tasks returns the tasks of the run: the lookups, which have their own bucket, then the other datasets bucket by
// bucket, in declaration order.
func (p *Plan) Tasks() []Task {
	var tasks []Task
	datasets := p.datasets()
	for _, d := range datasets {
		if d.IsLookup() {
			tasks = append(tasks, Task{Bucket: LookupBucket, Dataset: d.Name})
		}
	}
	buckets := slices.Clone(p.Buckets)
	slices.SortFunc(buckets, func(a, b Bucket) int { return cmp.Compare(a.Index, b.Index) })
	for _, b := range buckets {
		if b.Index == LookupBucket {
			continue
		}
		for _, d := range datasets {
			if !d.IsLookup() {
				tasks = append(tasks, Task{Bucket: b.Index, Dataset: d.Name})
			}
		}
	}
	return tasks
}

// datasets returns the declarations of the run's datasets in declaration order.
func (p *Plan) datasets() []*schemas.Dataset {
	all := schemas.Datasets()
	return slices.DeleteFunc(all, func(d *schemas.Dataset) bool {
		return !slices.Contains(p.Scope.Datasets, d.Name)
	})
}

// SchoolNames returns the names of the run's schools by bid, without schools that have no name.
func (p *Plan) SchoolNames() map[string]string {
	names := make(map[string]string)
	for i := range p.Schools {
		if school := &p.Schools[i]; school.Name != "" {
			names[school.Bid] = school.Name
		}
	}
	return names
}

// schoolsOf returns the schools of a bucket.
func (p *Plan) schoolsOf(bucket int) []School {
	for _, b := range p.Buckets {
		if b.Index == bucket {
			return p.Schools[b.First:b.End]
		}
	}
	return nil
}

// DataPath returns the path at which a bucket's file of a table is published. The lookup bucket can share its number in
// the path with the first bucket, because their tables are different.
func (p *Plan) DataPath(table string, bucket int) string {
	folder := DatePath(p.Kind, table, p.SnapshotDate)
	if p.Scope.PartitionBy == ByDistrict && bucket != LookupBucket {
		district := ""
		for i := range p.Buckets {
			if p.Buckets[i].Index == bucket {
				district = p.Buckets[i].District
			}
		}
		folder += "district=" + escapeDistrict(district) + "/"
	}
	return folder + sink.PartName(max(bucket, 0), p.RunID)
}

// escapeDistrict escapes a district for the name of its folder. DuckDB before 2.0 reads an unescaped null, in upper or
// lower case, as SQL's NULL.
func escapeDistrict(district string) string {
	if strings.EqualFold(district, "null") {
		return fmt.Sprintf("%%%X", district[0]) + district[1:]
	}
	return sink.Escape(district)
}

// CreatePlan writes the plan of a new run, or returns the existing plan, because all processes of a run follow the plan
// that was written first.
func (c Catalog) CreatePlan(ctx context.Context, plan *Plan) (*Plan, error) {
	err := WriteDocument(ctx, c.store, PlanPath(plan.RunID), plan, sink.Condition{Absent: true})
	if errors.Is(err, sink.ErrConflict) {
		return c.ReadPlan(ctx, plan.RunID)
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// ReadPlan reads the plan of a run. The error may be ErrNotFound or ErrDamaged.
func (c Catalog) ReadPlan(ctx context.Context, run string) (*Plan, error) {
	path := PlanPath(run)
	plan, _, err := ReadDocument[Plan](ctx, c, path)
	if err != nil {
		return nil, err
	}
	if err := plan.check(sink.Escape(run)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return plan, nil
}

func (p *Plan) check(folder string) error {
	if p.FormatVersion != FormatVersion {
		return fmt.Errorf("its format version is %d, but this growth-export reads only version %d", p.FormatVersion, FormatVersion)
	}
	if sink.Escape(p.RunID) != folder {
		return fmt.Errorf("%w: it is the plan of another run", sink.ErrDamaged)
	}
	for _, b := range p.Buckets {
		if b.First < 0 || b.First > b.End || b.End > len(p.Schools) {
			return fmt.Errorf("%w: bucket %d has an invalid range of schools", sink.ErrDamaged, b.Index)
		}
	}
	for _, name := range p.Scope.Datasets {
		if _, ok := schemas.Find(name); !ok {
			return fmt.Errorf("this growth-export does not know dataset %q", name)
		}
	}
	return nil
}
