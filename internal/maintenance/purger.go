package maintenance

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// purger is the state of one purge.
type purger struct {
	catalog snapshot.Catalog
	opts    PurgeOptions
	report  *PurgeReport
	index   *districtIndex

	runs  map[string]*snapshot.Manifest // published
	all   map[string]*snapshot.Manifest // published or replaced
	found map[string]foundRun
	// history is what was found in the history; nil if there is none.
	history *purgedHistory
	plans   map[string]*snapshot.Plan // by folder
	// unfinished are the folders of runs that have something staged, or whose plan may be of a purged school; with the
	// run's id, if it is known.
	unfinished map[string]string
	listed     bool // the store lists all that is staged
	alive      set  // folders of runs with a sign of life
	// leftovers are published runs that still have staged files: one of their processes was killed, or was not done
	// when another published the run.
	leftovers  []string
	locks      bool                    // the destination has locks
	held       map[string]func() error // runs, until the purge ends
	undeclared set                     // tables that this release does not declare
	seen       set                     // bids that were asked for and found in a row
	students   listedStudents
	otherKeys  set // fingerprints of keys, other than the given one, that runs were taken under
}

// newPurger begins a report, or continues the report of a killed purge.
func newPurger(ctx context.Context, catalog snapshot.Catalog, opts PurgeOptions) (*purger, error) {
	p := &purger{
		catalog: catalog, opts: opts, listed: true, locks: true, held: make(map[string]func() error),
		undeclared: make(set), seen: make(set), otherKeys: make(set),
	}
	asked, earlier, err := p.ask(ctx)
	if err != nil {
		return nil, err
	}
	var ended []EndedSchool
	if asked.EndedFor != "" && len(asked.Schools) == 0 {
		if ended, err = endedSchools(ctx, catalog, opts.EndedForDays); err != nil {
			return nil, err
		}
		for i := range ended {
			asked.Schools = append(asked.Schools, ended[i].Bid)
		}
	}
	begunAt := opts.Now().UTC().Truncate(time.Second)
	state := purgeBegun
	if opts.DryRun {
		state = purgePlanned
	}
	p.report = &PurgeReport{
		FormatVersion: snapshot.FormatVersion, ID: begunAt.Format("20060102T150405Z") + "-" + asked.id(),
		State: state, DryRun: opts.DryRun, ToolVersion: opts.ToolVersion, Asked: asked, Ended: ended, BegunAt: begunAt,
		Schools: []string{}, Unknown: []string{}, Runs: []PurgedRun{}, RowsRemoved: map[string]int64{}, DroppedRuns: []string{},
	}
	for _, other := range earlier {
		if other.State == purgeBegun {
			other.DryRun, other.resumed = opts.DryRun, true
			p.report = other
			continue
		}
		p.report.Earlier = other
		// Nothing else may name what was purged.
		for _, bid := range slices.Concat(asked.Schools, asked.Districts) {
			p.seen[bid] = p.seen[bid] || !slices.Contains(other.Unknown, bid)
		}
	}
	p.report.NotReached = p.notReached()
	p.index = newDistrictIndex(p.report.Schools)
	return p, nil
}

// bidsOf returns the bids whose rows are purged from a run.
func (p *purger) bidsOf(run string) bids {
	b := bids{schools: make(set), districts: make(set), students: p.students.texts}
	for _, school := range p.report.Asked.Schools {
		b.schools[school] = true
	}
	for _, district := range p.report.Asked.Districts {
		b.districts[district] = true
	}
	if len(b.districts) > 0 {
		b.schools = p.index.schoolsOf(run, b.districts)
	}
	return b
}

// notReached returns what the purge does not reach.
func (p *purger) notReached() []string {
	places := []string{
		"versions of removed objects in a bucket with versioning or object lock, and its replicas",
		"snapshots of the file system, backups, and disk blocks that are not overwritten",
		"copies that readers have made: database tables, files, caches, query results",
		"scratch folders of killed runs, on the machines where they ran",
	}
	if p.report.Asked.Students == nil {
		places = append(places, "folders named after a district, plans, earlier versions of Delta logs, and the manifests of runs "+
			"restricted to certain schools, which name schools and districts and hold nothing of students")
	} else {
		places = append(places, "the service itself: while it lists these students, the next run exports them again")
		if v := p.report.Verification; v != nil && len(v.RowsMentioning) > 0 {
			places = append(places, "columns of other people's rows that name one of these students: only _extra of school_class_details is cleared")
		}
	}
	for _, fingerprint := range p.otherKeys.sorted() {
		places = append(places, "runs and histories taken under the privacy key with the fingerprint "+fingerprint+
			": purge again with that key")
	}
	if !p.listed {
		places = append(places, "multipart uploads that killed processes started and no checkpoint names: "+
			"this store lists uploads by exact key only, so they are left to its own expiry of stale uploads")
	}
	if !p.locks {
		places = append(places, "what a process that was at work during the purge has staged since the last look: "+
			"this destination has no locks that keep others out")
	}
	for _, table := range p.undeclared.sorted() {
		places = append(places, "rows of table "+table+", which this growth-export does not know, that none of its own columns "+
			"gives to a school or district")
	}
	return places
}

// hasLocks reports whether the destination has locks, while the purge holds the publish lock.
func (p *purger) hasLocks(ctx context.Context) (bool, error) {
	unlock, err := p.catalog.Lock(ctx, snapshot.PublishLock, sink.Exclusive, 0)
	if errors.Is(err, sink.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, unlock()
}
