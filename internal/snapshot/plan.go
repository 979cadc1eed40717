package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Task is the task of work, of a checkpoint and of resuming: one dataset of one
// bucket.
type Task struct {
	Bucket  int
	Dataset string
}

// String names the task for messages.
func (u Task) String() string {
	if u.Bucket == LookupBucket {
		return u.Dataset
	}
	return fmt.Sprintf("%s of bucket %d", u.Dataset, u.Bucket)
}

// datasets returns the declarations of the run's datasets in their order.
func (p *Plan) datasets() []*schemas.Dataset {
	all := schemas.Datasets()
	return slices.DeleteFunc(all, func(d *schemas.Dataset) bool {
		return !slices.Contains(p.Scope.Datasets, d.Name)
	})
}

// Tasks returns the tasks of the run: the lookups, which are a bucket of their
// own, and then bucket by bucket the other datasets, in the order in which they
// are declared.
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

// Shard returns which of so many processes does the task: every n-th bucket is
// one's, the lookups are the first's.
func (u Task) Shard(shards int) int {
	if u.Bucket == LookupBucket {
		return 0
	}
	return u.Bucket % max(shards, 1)
}

// SchoolNames returns the names of the run's schools by their bids; schools
// WithPurge a name are left out.
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

// ReadPlan reads the plan of a run: ErrNotFound, ErrDamaged.
func (c Catalog) ReadPlan(ctx context.Context, run string) (*Plan, error) {
	path := PlanPath(run)
	plan, _, err := ReadDocument[Plan](ctx, c, path)
	if err != nil {
		return nil, err
	}
	if err := plan.check(run); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return plan, nil
}

func (p *Plan) check(run string) error {
	if p.FormatVersion != FormatVersion {
		return fmt.Errorf("its format is %d, this growth-export reads %d", p.FormatVersion, FormatVersion)
	}
	if p.RunID != run {
		return fmt.Errorf("%w: it is the plan of another run", sink.ErrDamaged)
	}
	for _, b := range p.Buckets {
		if b.First < 0 || b.First > b.End || b.End > len(p.Schools) {
			return fmt.Errorf("%w: bucket %d is not of its schools", sink.ErrDamaged, b.Index)
		}
	}
	for _, name := range p.Scope.Datasets {
		if _, ok := schemas.Find(name); !ok {
			return fmt.Errorf("this growth-export does not know dataset %q", name)
		}
	}
	return nil
}

// CreatePlan writes the plan of a new run, or returns the existing one: all processes of a run follow the plan of the first.
func (c Catalog) CreatePlan(ctx context.Context, plan *Plan) (*Plan, error) {
	err := c.WriteDocument(ctx, PlanPath(plan.RunID), plan, sink.Condition{Absent: true})
	if errors.Is(err, sink.ErrConflict) {
		return c.ReadPlan(ctx, plan.RunID)
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// Equal reports whether two scopes cover the same, in any order.
func (s Scope) Equal(other Scope) bool { return len(s.Differences(other)) == 0 }

// Differences names the settings in which a standing scope differs from the
// other.
func (s Scope) Differences(other Scope) []string {
	var found []string
	list := func(flag string, a, b []string) {
		if !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
			found = append(found, flag)
		}
	}
	value := func(flag, a, b string) {
		if a != b {
			found = append(found, fmt.Sprintf("%s %s instead of %s", flag, cmp.Or(a, "unset"), cmp.Or(b, "unset")))
		}
	}
	list("--datasets", s.Datasets, other.Datasets)
	list("--schools", s.Schools, other.Schools)
	list("--districts", s.Districts, other.Districts)
	value("--perspectives", s.Perspectives, other.Perspectives)
	value("--partition-by", s.PartitionBy, other.PartitionBy)
	value("--modified-since", s.ModifiedSince, other.ModifiedSince)
	if s.IncludeRemoved != other.IncludeRemoved {
		found = append(found, "--include-removed")
	}
	return found
}

// Covers reports whether the run is of that service and scope.
func (m *Manifest) Covers(baseURL string, scope Scope) bool {
	return len(m.Differences(baseURL, scope)) == 0
}

// Differences names how the run differs from one of that service and scope.
func (m *Manifest) Differences(baseURL string, scope Scope) []string {
	var found []string
	if !SameService(m.BaseURL, baseURL) {
		found = append(found, fmt.Sprintf("base URL %s instead of %s", m.BaseURL, baseURL))
	}
	return append(found, m.Parameters.Differences(scope)...)
}
