package pipeline

import (
	"context"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Estimate is what a run would request and write.
type Estimate struct {
	RunID string `json:"run_id"`
	// Resumes tells that the run has begun; what it has staged already would
	// not be requested again.
	Resumes bool `json:"resumes"`
	// AlreadyPublished: the run is published, and nothing would be done.
	AlreadyPublished bool      `json:"already_published,omitempty"`
	Kind             sink.Kind `json:"kind"`
	SnapshotDate     string    `json:"snapshot_date"`
	Destination      string    `json:"destination"`
	Schools          int       `json:"schools"`
	// Districts are those of 4.2, where the run needs them.
	Districts     int                  `json:"districts"`
	FailedSchools []sink.SchoolFailure `json:"failed_schools"`
	Buckets       int                  `json:"buckets"`
	Datasets      []DatasetEstimate    `json:"datasets"`
	Files         int                  `json:"files"`
	// Requests are at least that many, and exactly that many if Exact, apart
	// from retries and tokens.
	Requests int  `json:"requests"`
	Exact    bool `json:"exact"`
	// Time is how long that many requests take at the run's concurrency and
	// the assumed latency; a minimum in any case.
	Time time.Duration `json:"time_ns"`
}

// DatasetEstimate is what a dataset would request and write.
type DatasetEstimate struct {
	Dataset string `json:"dataset"`
	// Selected is false for a lookup that is fetched only because the run
	// needs it.
	Selected bool `json:"selected"`
	Requests int  `json:"requests"`
	Exact    bool `json:"exact"`
	Files    int  `json:"files"`
}

// Plan tells what Run would do with these settings, at an assumed latency of
// one request. It asks the service for its lists of schools and districts, and
// for nothing of a student, and writes nothing.
func Plan(ctx context.Context, deps Deps, s Settings, latency time.Duration) (*Estimate, error) {
	deps.Meter.start(deps.Now(), deps.Client)
	if err := checkSettings(&s); err != nil {
		return nil, err
	}
	r, found, err := begin(ctx, deps, &s)
	if err != nil {
		return nil, err
	}
	if found.manifest != nil {
		return &Estimate{
			RunID: found.id, AlreadyPublished: true, Kind: s.kind(), SnapshotDate: found.manifest.SnapshotDate,
			Destination: deps.Store.String(), Exact: true,
		}, nil
	}
	looked, err := r.fetch.lookUp(ctx, &s, r.byName())
	if err != nil {
		return nil, err
	}
	plan := found.plan
	if plan == nil {
		if plan, err = r.makePlan(found.id, looked); err != nil {
			return nil, err
		}
	}
	e := &Estimate{
		RunID: found.id, Resumes: found.plan != nil, Kind: s.kind(), SnapshotDate: plan.SnapshotDate,
		Destination: deps.Store.String(), Schools: len(plan.Schools), Districts: len(looked.districts),
		FailedSchools: plan.FailedSchools, Buckets: len(plan.Buckets), Exact: true,
	}
	selected := r.byName()
	needDistricts, needLists := needs(&s, selected)
	for _, declared := range schemas.Datasets() {
		_, chosen := selected[declared.Name]
		needed := declared.Name == "schools" || declared.Name == "districts" && needDistricts ||
			declared.Name == "district_schools" && needLists
		if !chosen && !needed {
			continue
		}
		d := DatasetEstimate{Dataset: declared.Name, Selected: chosen}
		d.Requests, d.Exact = requests(declared, plan, looked)
		if chosen {
			d.Files = len(declared.Tables)
			if !declared.IsLookup() {
				d.Files *= len(plan.Buckets)
			}
		}
		e.Datasets = append(e.Datasets, d)
		e.Files += d.Files
		e.Requests += d.Requests
		e.Exact = e.Exact && d.Exact
	}
	rounds := (e.Requests + s.Concurrency - 1) / s.Concurrency
	e.Time = time.Duration(rounds) * latency
	return e, nil
}

// requests returns how many calls a dataset takes, or at least takes: where an
// answer comes in pages, or calls depend on what another one names, nobody can
// tell before.
func requests(d *schemas.Dataset, plan *sink.Plan, looked *lookups) (least int, exact bool) {
	switch {
	case d.Per == schemas.Once:
		return 1, true
	case d.Per == schemas.PerDistrict:
		return len(looked.districts), true
	case d.Per != schemas.PerSchool:
		// What feeds the calls is certain, how many it names is not.
		for _, name := range d.Feeds {
			_, feed, _ := schemas.FindTable(name)
			calls, _ := requests(feed, plan, looked)
			least += calls
		}
		return least, false
	case d.TakesPerspective():
		for _, school := range plan.Schools {
			least += len(school.Perspectives)
		}
		return least, false
	default:
		return len(plan.Schools), !d.Operation.Paged
	}
}
