package pipeline

import (
	"context"
	"slices"
	"time"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Estimate counts the requests and files of a run.
type Estimate struct {
	RunID            string                   `json:"run_id"`
	Resumes          bool                     `json:"resumes"`                     // the run has begun; data that it has already staged would not be requested again
	AlreadyPublished bool                     `json:"already_published,omitempty"` // nothing would be done
	Kind             snapshot.Kind            `json:"kind"`
	SnapshotDate     string                   `json:"snapshot_date"`
	Destination      string                   `json:"destination"`
	BaseURL          string                   `json:"base_url"`
	MovesFrom        string                   `json:"moves_from,omitempty"` // the destination's service, if publishing the run would change it
	Replaces         *ReplacedRun             `json:"replaces,omitempty"`   // the published run that this one would replace
	Deadline         time.Time                `json:"deadline,omitzero"`    // when a run that begins now would stop fetching
	Schools          int                      `json:"schools"`
	Districts        int                      `json:"districts"` // the number that 4.2 lists, if the run needs them
	FailedSchools    []snapshot.SchoolFailure `json:"failed_schools"`
	Buckets          int                      `json:"buckets"`
	SchoolsPerFile   int                      `json:"schools_per_file"`
	Shards           int                      `json:"shards"`                  // the number of shards into which the run is divided
	IdleShards       int                      `json:"idle_shards"`             // the number of shards that would get no school
	UsefulShards     int                      `json:"useful_shards,omitempty"` // the number of shards that balances the load best, if only some of them run at the same time
	Students         *snapshot.Students       `json:"students,omitempty"`      // the cohort, if the run is restricted to one
	Datasets         []DatasetEstimate        `json:"datasets"`
	Files            int                      `json:"files"`
	Requests         int                      `json:"requests"` // exact if Exact is true, otherwise the minimum; without retries and token requests
	Exact            bool                     `json:"exact"`
	About            int                      `json:"about,omitempty"` // the estimated number, if a dataset has an estimate
	// Time is the minimum duration of these requests at the run's concurrency and the assumed latency. AboutTime is the
	// duration of the estimated number of requests.
	Time      time.Duration `json:"time_ns"`
	AboutTime time.Duration `json:"about_time_ns,omitempty"`
}

// ReplacedRun is a published run that another run would replace.
type ReplacedRun struct {
	RunID       string    `json:"run_id"`
	PublishedAt time.Time `json:"published_at"`
}

// DatasetEstimate counts the requests and files of a dataset.
type DatasetEstimate struct {
	Dataset  string `json:"dataset"`
	Selected bool   `json:"selected"` // false for a lookup that is fetched only because the run needs it
	Requests int    `json:"requests"`
	Exact    bool   `json:"exact"`
	// About estimates the requests of a dataset with a call per student, educator or record, from the rows of the
	// newest snapshot. It is 0 for other datasets, and if there is no snapshot or the run is restricted to a cohort.
	About int `json:"about,omitempty"`
	Files int `json:"files"`
}

// Estimates counts the requests and files of one or several runs.
type Estimates struct {
	Dates            []string      `json:"dates"`
	AlreadyPublished []string      `json:"already_published"` // the dates for which nothing would be done
	Files            int           `json:"files"`
	Requests         int           `json:"requests"` // the sums over all runs; this and the next four fields are as in Estimate
	Exact            bool          `json:"exact"`
	About            int           `json:"about,omitempty"`
	Time             time.Duration `json:"time_ns"`
	AboutTime        time.Duration `json:"about_time_ns,omitempty"`
	Runs             []*Estimate   `json:"runs"` // in the order of Dates
}

// Plan estimates a Run with these settings or, if there are dates, the as-of runs of these dates, at an assumed latency
// per request. It requests the lookups that the runs need, but only once for all runs. It requests no student data and
// writes nothing.
func Plan(ctx context.Context, deps Deps, s Settings, dates []string, latency time.Duration) (*Estimates, error) {
	each := make([]Settings, max(len(dates), 1))
	for i := range each {
		if each[i] = s; len(dates) > 0 {
			each[i].EffectiveDate = dates[i]
		}
	}
	deps.Progress.start(deps.Now(), deps.Client)
	runs, founds := make([]*exportRun, len(each)), make([]foundRun, len(each))
	for i := range each {
		if err := each[i].Check(); err != nil {
			return nil, err
		}
		var err error
		if runs[i], founds[i], err = prepareRun(ctx, deps, &each[i]); err != nil {
			return nil, err
		}
	}
	newest, err := deps.Catalog.LatestRun(ctx)
	if err != nil {
		newest = nil // An estimate does not need the snapshot. Commands that read it report the error.
	}
	var looked *fetch.Lookups
	all := &Estimates{Dates: dates, AlreadyPublished: []string{}, Exact: true}
	for i, r := range runs {
		found := &founds[i]
		if found.manifest != nil {
			all.Runs = append(all.Runs, &Estimate{
				RunID: found.id, AlreadyPublished: true, Kind: r.settings.kind(), SnapshotDate: found.manifest.SnapshotDate,
				Destination: deps.Catalog.String(), BaseURL: r.settings.BaseURL, Exact: true,
				FailedSchools: []snapshot.SchoolFailure{}, Datasets: []DatasetEstimate{},
			})
			all.AlreadyPublished = append(all.AlreadyPublished, found.manifest.SnapshotDate)
			continue
		}
		var err error
		if looked == nil {
			if looked, err = r.fetch.LookUp(ctx, neededLookups(r.settings)); err != nil {
				return nil, err
			}
		}
		e, err := r.estimate(found, looked, newest, latency)
		if err != nil {
			return nil, err
		}
		if e.MovesFrom, err = deps.Catalog.PreviousService(ctx, r.settings.BaseURL); err != nil {
			return nil, err
		}
		all.Runs = append(all.Runs, e)
		all.Files += e.Files
		all.Requests += e.Requests
		all.Exact = all.Exact && e.Exact
		all.About += e.About
		all.Time += e.Time
		all.AboutTime += e.AboutTime
	}
	return all, nil
}

// estimate counts the requests and files of a run that is not published yet. newest is the manifest of the newest
// snapshot, or nil if there is none.
func (r *exportRun) estimate(found *foundRun, looked *fetch.Lookups, newest *snapshot.Manifest, latency time.Duration) (*Estimate, error) {
	s, plan := r.settings, found.plan
	if plan == nil {
		var err error
		if plan, err = r.makePlan(found.id, looked); err != nil {
			return nil, err
		}
	}
	e := &Estimate{
		RunID: found.id, Resumes: found.plan != nil, Kind: s.kind(), SnapshotDate: plan.SnapshotDate,
		Destination: r.Catalog.String(), BaseURL: s.BaseURL, Schools: len(plan.Schools), Districts: len(looked.Districts),
		FailedSchools: append([]snapshot.SchoolFailure{}, plan.FailedSchools...), Buckets: len(plan.Buckets), Students: plan.Scope.Students, Exact: true,
		SchoolsPerFile: plan.SchoolsPerFile, Shards: s.Shards, IdleShards: max(0, s.Shards-len(plan.Buckets)),
	}
	e.Deadline = s.Deadline
	if r.replaces != nil {
		e.Replaces = &ReplacedRun{RunID: r.replaces.RunID, PublishedAt: r.replaces.PublishedAt}
	}
	needed := neededLookups(s)
	for _, declared := range schemas.Datasets() {
		chosen := slices.Contains(r.scope.Datasets, declared.Name)
		lookedUp := declared.Name == schemas.Schools || declared.Name == schemas.Districts && needed.Districts ||
			declared.Name == schemas.DistrictSchools && needed.DistrictSchools
		if !chosen && !lookedUp {
			continue
		}
		d := DatasetEstimate{Dataset: declared.Name, Selected: chosen}
		d.Requests, d.Exact = countRequests(declared, plan, looked)
		if feed, _ := fetch.CohortFeed(declared.Name); feed != "" && plan.Scope.Students != nil {
			_, classes, _ := schemas.FindTable(feed)
			more, _ := countRequests(classes, plan, looked)
			d.Requests, d.Exact = d.Requests+more, false
		}
		d.About = aboutRequests(declared, plan, newest)
		if chosen {
			d.Files = len(declared.Tables)
			if !declared.IsLookup() {
				d.Files *= len(plan.Buckets)
			}
		}
		e.Datasets = append(e.Datasets, d)
		e.Files += d.Files
		e.Requests += d.Requests
		e.About += max(d.About, d.Requests)
		e.Exact = e.Exact && d.Exact
	}
	if e.About == e.Requests {
		e.About = 0
	}
	duration := func(requests int) time.Duration {
		return time.Duration((requests+s.Concurrency-1)/s.Concurrency) * latency
	}
	e.Time, e.AboutTime = duration(e.Requests), duration(e.About)
	return e, nil
}

// aboutRequests estimates the calls of a dataset with a call per student, educator or record, from the rows of the
// newest snapshot. An educator with several classes counts once for each class. It returns 0 if there is no snapshot,
// or if the run is restricted to a cohort.
func aboutRequests(d *schemas.Dataset, plan *snapshot.Plan, newest *snapshot.Manifest) int {
	if newest == nil || plan.Scope.Students != nil {
		return 0
	}
	about := 0
	for _, name := range d.Feeds {
		table, _, _ := schemas.FindTable(name)
		rows := int(newest.Tables[name].Rows)
		if d.TakesPerspective() && table.Column("requested_perspective_bid") < 0 && len(plan.Schools) > 0 {
			perspectives := 0
			for i := range plan.Schools {
				perspectives += len(plan.Schools[i].Perspectives)
			}
			rows = rows * perspectives / len(plan.Schools)
		}
		about += rows
	}
	if newest.Schools.Total > 0 {
		about = about * len(plan.Schools) / int(newest.Schools.Total)
	}
	return about
}

// countRequests returns the number of calls that a dataset takes, or the minimum if answers come in pages or calls
// depend on other answers.
func countRequests(d *schemas.Dataset, plan *snapshot.Plan, looked *fetch.Lookups) (least int, exact bool) {
	switch {
	case d.Per == schemas.Once:
		return 1, true
	case d.Per == schemas.PerDistrict:
		return len(looked.Districts), true
	case d.Per != schemas.PerSchool:
		// The number of requests for the lists that feed the calls is known, but not how many calls these lists lead
		// to.
		for _, name := range d.Feeds {
			_, feed, _ := schemas.FindTable(name)
			calls, _ := countRequests(feed, plan, looked)
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
