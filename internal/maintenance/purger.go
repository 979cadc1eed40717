package maintenance

import (
	"context"
	"slices"
	"time"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
)

// purger is the state of one purge.
type purger struct {
	catalog snapshot.Catalog
	opts    PurgeOptions
	report  *PurgeReport
	fresh   *PurgeReport // the report of a purge that does not resume an earlier purge
	index   *erase.DistrictIndex

	runs  map[string]*snapshot.Manifest // the published runs, by id
	all   map[string]*snapshot.Manifest // the published and replaced runs, by id
	found map[string]foundRun
	// history describes the rows to purge in the history. It is nil if there is no history.
	history *history.Erasure
	plans   map[string]*snapshot.Plan // by folder
	// unfinished maps the folders of the runs that findUnfinished found to the ids of the runs. If an id is unknown, it is
	// the name of the folder.
	unfinished map[string]string
	listed     bool      // reports whether the store can list all staged files
	recorded   bool      // reports whether the report was written when the purge began
	alive      erase.Set // folders of runs with a heartbeat
	// leftovers are published runs that still have staged files or checkpoints, because one of their processes was killed,
	// or was still running when another process published the run. They include the ids of killed folds with staged files.
	leftovers  []string
	locks      bool                    // reports whether the destination has locks
	held       map[string]func() error // by run, the function that releases its lock
	undeclared erase.Set               // tables that this release does not declare
	seen       erase.Set               // requested bids that were found in a row
	pseudonyms erase.Set               // listed texts that were found in rows that contain pseudonyms
	own        erase.Set               // listed bids and numbers with rows in tables that give numbers
	ofOthers   erase.Set               // listed texts that are the number of a student with another bid
	occurs     erase.Occurs            // listed bids and numbers of students, by column
	byNumber   int64                   // rows to be purged that have no bid and were found only by a number
	numbers    erase.Set               // the numbers by which these rows were found
	carriers   map[string]int          // by number by which rows are found, how many students with a bid have it
	students   *erase.Students         // nil unless students are purged
	suppressed *snapshot.Suppression   // the suppression list with the students; nil without a privacy key, and in a dry run
	// deepest is the highest level of a row that was found in a run; see erase.Students.
	deepest int
	// moved counts schools that have changed districts and whose history could not be rebuilt.
	moved     int
	otherKeys erase.Set // fingerprints of keys, other than the given key, under which runs or the history were exported
	clear     bool      // reports whether runs or the history contain bids themselves, not pseudonyms
	// notSearched describes files at the destination that the purge cannot search, for NotReached.
	notSearched []string
}

// newPurger returns a purger with a new report, or with the report of a killed purge that it resumes.
func newPurger(ctx context.Context, catalog snapshot.Catalog, opts PurgeOptions) (*purger, error) {
	p := &purger{
		catalog: catalog, opts: opts, listed: true, locks: true, held: make(map[string]func() error),
		undeclared: make(erase.Set), seen: make(erase.Set), pseudonyms: make(erase.Set), own: make(erase.Set), ofOthers: make(erase.Set), otherKeys: make(erase.Set),
		occurs: erase.NewOccurs(), carriers: make(map[string]int),
	}
	asked, earlier, err := p.ask(ctx)
	if err != nil {
		return nil, err
	}
	var ended []EndedSchool
	var nearly []NearlyEnded
	if asked.EndedFor != "" && len(asked.Schools) == 0 {
		if ended, nearly, err = endedSchools(ctx, catalog, opts.EndedForDays, earlier); err != nil {
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
	p.fresh = &PurgeReport{
		FormatVersion: snapshot.FormatVersion, ID: begunAt.Format(snapshot.PurgeTimeFormat) + "-" + asked.id(),
		State: state, DryRun: opts.DryRun, ToolVersion: opts.ToolVersion, Asked: asked, Ended: ended, NearlyEnded: nearly, BegunAt: begunAt,
		Schools: []string{}, Unknown: []string{}, Runs: []PurgedRun{}, RowsRemoved: map[string]int64{}, DroppedRuns: []string{},
	}
	p.report = p.fresh
	for _, other := range earlier {
		if other.State != purgeDone {
			unsure := asked.Students != nil && other.Asked.Students.Digest == ""
			if unsure && p.report.resumed && p.report.planned == nil {
				continue // another report is certain to belong to this list
			}
			other.DryRun, other.resumed = opts.DryRun, true
			if unsure {
				other.planned = other.changed()
			}
			p.report = other
			continue
		}
		p.report.Earlier = other
		// Schools and districts that the earlier purge erased may occur only in its request. They must not count as unknown.
		for _, bid := range slices.Concat(asked.Schools, asked.Districts) {
			p.seen[bid] = p.seen[bid] || !slices.Contains(other.Unknown, bid)
		}
	}
	p.report.NotReached = p.notReached()
	p.index = erase.NewDistrictIndex(p.report.Schools)
	return p, nil
}

// targetOf returns the target that decides which rows of a run are purged.
func (p *purger) targetOf(run string) *erase.Target {
	if p.students != nil {
		return &erase.Target{Students: p.students}
	}
	t := &erase.Target{Schools: erase.SetOf(p.report.Asked.Schools...), Districts: erase.SetOf(p.report.Asked.Districts...)}
	if len(t.Districts) > 0 {
		t.Schools = p.index.SchoolsOf(run, t.Districts)
	}
	return t
}

// notReached lists the places that the purge does not reach, for the report.
func (p *purger) notReached() []string {
	places := unreachable()
	if p.report.Asked.Students == nil {
		places = append(places, "folders named after a district, plans, earlier versions of Delta logs, and the manifests and "+
			"reports of runs restricted to certain schools, which list schools and districts but hold no student data")
	} else {
		again := "the next run exports them again"
		if s := p.report.Suppressed; s != nil {
			again = "a run without the privacy key with the fingerprint " + s.Key + ", or at another destination, exports them again"
		}
		places = append(places, "the service itself: while it lists these students, "+again)
	}
	for _, fingerprint := range p.otherKeys.Sorted() {
		places = append(places, "runs and histories taken under the privacy key with the fingerprint "+fingerprint+
			": purge with that key too, unless you already have")
	}
	if !p.listed {
		places = append(places, "multipart uploads, for the history or for runs without a plan, that killed or overlapping processes have started: "+
			"this store lists uploads by exact key only, so they remain until the store expires stale uploads")
	}
	if !p.locks {
		places = append(places, "files that a process running during the purge has staged since the last search: "+
			"this destination has no locks to exclude other processes")
	}
	for _, table := range p.undeclared.Sorted() {
		places = append(places, "rows of table "+table+", which this version of growth-export does not know, unless one of their columns "+
			"assigns them to a school or district")
	}
	return append(places, p.notSearched...)
}

// unreachable lists the places that no command reaches, for reports.
func unreachable() []string {
	return []string{
		"versions of removed objects in a store with versioning, soft delete or object lock, and its replicas",
		"snapshots of the file system, backups, and disk blocks that are not overwritten",
		"copies that readers have made: database tables, files, caches, query results",
		"scratch folders of killed runs, on the machines where they ran",
	}
}
