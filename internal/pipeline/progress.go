package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
)

// Progress counts the requests, schools and files of a run. The run updates it, and so does the client, whose observer
// it is. It may be read at any time, and its zero value is ready to use.
type Progress struct {
	phase          atomic.Value // string
	runID          atomic.Value // string
	currentDataset atomic.Value // string
	started        atomic.Int64 // nanoseconds since 1970
	client         atomic.Pointer[extract.Client]
	names          atomic.Pointer[map[string]string] // the names of schools by bid

	schoolsTotal, schoolsDone atomic.Int64
	failed, denied, rows      atomic.Int64
	filesTotal, filesDone     atomic.Int64
	end                       atomic.Pointer[time.Time]

	// activity holds the activity that is not in a checkpoint yet. taken counts the requests that takeCounts has
	// returned. returned counts the requests that could not be stored, which the next call of takeCounts returns again.
	mu              sync.Mutex
	activity        activity.Recorder
	taken, returned snapshot.Requests
}

// counts holds the requests and the activity of part of a run.
type counts struct {
	requests snapshot.Requests
	activity activity.Log
}

// takeCounts returns the counts since its last call, and the counts that were passed to returnCounts.
func (m *Progress) takeCounts() counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.requests()
	fresh := requestsSince(total, m.taken)
	fresh.Add(m.returned)
	m.taken, m.returned = total, snapshot.Requests{}
	return counts{requests: fresh, activity: *m.activity.Take()}
}

// requests returns the counts of the requests of this process.
func (m *Progress) requests() snapshot.Requests {
	stats := m.client.Load().Stats()
	return snapshot.Requests{
		Total: stats.Requests, Retries: stats.Retries, TokenRefreshes: stats.TokenRefreshes, ByStatus: stats.ByStatus,
	}
}

// returnCounts makes the next call of takeCounts return c again, because c could not be stored.
func (m *Progress) returnCounts(c counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.returned.Add(c.requests)
	m.activity.Return(&c.activity)
}

// requestsSince returns total without the requests in counted.
func requestsSince(total, counted snapshot.Requests) snapshot.Requests {
	diff := snapshot.Requests{
		Total: total.Total - counted.Total, Retries: total.Retries - counted.Retries,
		TokenRefreshes: total.TokenRefreshes - counted.TokenRefreshes,
		ByStatus:       make(map[string]int64),
	}
	for status, n := range total.ByStatus {
		if n -= counted.ByStatus[status]; n != 0 {
			diff.ByStatus[status] = n
		}
	}
	return diff
}

var _ extract.Observer = (*Progress)(nil)

// Requested records a request.
func (m *Progress) Requested(_ context.Context, e extract.Event) {
	limit := int64(0)
	if client := m.client.Load(); client != nil {
		limit = client.Limit()
	}
	m.activity.Requested(activity.Request{
		Operation: e.Operation, Ended: e.Began.Add(e.Took), Took: e.Took,
		Bytes: int64(e.Bytes), InFlight: e.InFlight, Limit: limit,
	})
}

// Retried records a retry.
func (m *Progress) Retried(_ context.Context, operation, cause string) {
	m.activity.Retried(time.Now(), operation, cause)
}

// Reading is the state of a Progress at a point in time.
type Reading struct {
	Phase   string // plan, fetch, publish or done
	Elapsed time.Duration
	// SchoolsDone and SchoolsTotal count (school, dataset) pairs. A pair is done when its last page has arrived, or
	// when it was denied or has failed.
	SchoolsDone, SchoolsTotal int64
	Failed, Denied, Rows      int64
	Requests, Retries         int64
	FilesDone, FilesTotal     int64         // files that are published, and files to publish; 0 before publishing begins
	Dataset                   string        // the dataset of the last pair that was done
	Retrying                  []Retry       // calls that are being retried, longest first
	Paused                    string        // why all requests are paused; empty if they are not
	GivesUpIn                 time.Duration // the maximum remaining pause
	EstimatedEnd              time.Time     // when fetching will end, for a run with a deadline; zero while unknown
}

// Retry is a call that is being retried.
type Retry struct {
	Dataset string `json:"dataset"` // or "token"
	// SchoolBid and SchoolName are empty unless the call is for a school.
	SchoolBid  string        `json:"school,omitempty"`
	SchoolName string        `json:"name,omitempty"`
	Attempt    int           `json:"attempt"` // the current or next attempt, from 2
	Cause      string        `json:"cause"`   // why the previous attempt failed
	For        time.Duration `json:"-"`       // time since the first attempt failed
}

// Read returns the current state.
func (m *Progress) Read(now time.Time) Reading {
	p := Reading{
		SchoolsDone: m.schoolsDone.Load(), SchoolsTotal: m.schoolsTotal.Load(),
		Failed: m.failed.Load(), Denied: m.denied.Load(), Rows: m.rows.Load(),
		FilesDone: m.filesDone.Load(), FilesTotal: m.filesTotal.Load(),
	}
	if client := m.client.Load(); client != nil {
		stats := client.Stats()
		p.Requests, p.Retries = stats.Requests, stats.Retries
		m.readHealth(&p, client.Health(), now)
	}
	p.Phase, _ = m.phase.Load().(string)
	p.Dataset, _ = m.currentDataset.Load().(string)
	if end := m.end.Load(); end != nil {
		p.EstimatedEnd = *end
	}
	if started := m.started.Load(); started != 0 {
		p.Elapsed = now.Sub(time.Unix(0, started))
	}
	return p
}

// RunID returns the id of the current run, or "" if it is not known yet.
func (m *Progress) RunID() string {
	id, _ := m.runID.Load().(string)
	return id
}

// readHealth adds the client's retries and pauses to p.
func (m *Progress) readHealth(p *Reading, health extract.Health, now time.Time) {
	var names map[string]string
	if known := m.names.Load(); known != nil {
		names = *known
	}
	for _, r := range health.Retrying {
		p.Retrying = append(p.Retrying, Retry{
			Dataset: r.Operation, SchoolBid: r.School, SchoolName: names[r.School],
			Attempt: r.Attempt, Cause: r.Cause, For: now.Sub(r.Since),
		})
	}
	if p.Paused = health.Paused; p.Paused != "" {
		p.GivesUpIn = health.PausedUntil.Sub(now)
	}
}

// setSchoolNames records the names of the schools of a plan.
func (m *Progress) setSchoolNames(plan *snapshot.Plan) {
	names := plan.SchoolNames()
	m.names.Store(&names)
}

// start prepares the progress for a run.
func (m *Progress) start(now time.Time, client *extract.Client) {
	// If a command has several runs, the elapsed time begins with the first.
	m.started.CompareAndSwap(0, now.UnixNano())
	m.client.Store(client)
}

// setEnd records the estimated time at which all schools will have been fetched.
func (m *Progress) setEnd(end time.Time) { m.end.Store(&end) }

// setPhase records the phase of the run.
func (m *Progress) setPhase(phase string) { m.phase.Store(phase) }

// publishing records the number of files that are about to become visible, and returns a catalog that counts them as
// they become visible.
func (m *Progress) publishing(files int64, catalog snapshot.Catalog) snapshot.Catalog {
	m.filesDone.Store(0)
	m.filesTotal.Store(files)
	return catalog.Counting(func() { m.filesDone.Add(1) })
}

// addSchool counts a finished dataset of a school.
func (m *Progress) addSchool(l *snapshot.LedgerRow, took time.Duration) {
	m.schoolsDone.Add(1)
	m.activity.School(activity.SchoolTime{
		School: l.SchoolBid, Dataset: l.Dataset, Seconds: took.Seconds(),
		Requests: l.Requests, Retries: l.Retries,
	})
	m.currentDataset.Store(l.Dataset)
	switch l.Status {
	case snapshot.StatusFailed:
		m.failed.Add(1)
	case snapshot.StatusDenied:
		m.denied.Add(1)
	case snapshot.StatusOK:
	}
}
