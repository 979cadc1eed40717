package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// exportRun is one command's work on one run.
type exportRun struct {
	Deps
	settings    *Settings
	scope       snapshot.Scope
	cohort      *cohort
	suppression suppression
	// incomplete contains schools whose earlier changes the destination does not hold, so a delta run leaves them out.
	incomplete     map[string]bool
	mark           string             // the fingerprint of the settings
	now            time.Time          // when the command began, which is also the time of a new plan
	date           string             // the snapshot date, if this command begins the run
	replaces       *snapshot.Manifest // the published run of the date that this one replaces, or nil
	pinned         map[string]string  // the optional parameters that a new plan will pin
	plan           *snapshot.Plan
	restarts       bool           // whether the existing run is to be removed first
	looked         *fetch.Lookups // nil unless this process has fetched the lookups and not yet staged them
	fetch          *fetch.Fetcher
	stagedStudents map[int]*stagedStudents // the students staged by an earlier process, by bucket
	resumes        bool                    // whether the plan existed before this command
	logged         schoolLog
	notSaved       sync.Once // limits the warning that calls cannot be saved to one per run
	forecast       *forecast // nil without a deadline
	summary        *Summary
}

// prepareRun finds the run and checks, before any request, that it may begin or continue.
func prepareRun(ctx context.Context, deps Deps, s *Settings) (*exportRun, foundRun, error) {
	r := &exportRun{Deps: deps, settings: s, scope: scopeOf(s), cohort: newCohort(s)}
	r.now = deps.Now().UTC()
	today := r.now.Format(time.DateOnly)
	r.date = cmp.Or(s.EffectiveDate, s.SnapshotDate, today)
	kind := s.kind()
	var err error
	if r.mark, err = fingerprint(s, kind, r.scope); err != nil {
		return nil, foundRun{}, err
	}
	if r.suppression, err = readSuppression(ctx, deps.Catalog, s.PrivacyKey, r.now); err != nil {
		return nil, foundRun{}, err
	}
	found, err := r.chooseRun(ctx)
	if err != nil {
		return nil, found, err
	}
	accept := s.AcceptBaseURL || found.plan != nil && found.plan.AcceptBaseURL
	if err := deps.Catalog.CheckDestination(ctx, s.BaseURL, s.PartitionBy, accept); err != nil {
		return nil, found, usageIfRefused(err)
	}
	if s.Restart && found.plan != nil && found.manifest == nil {
		r.restarts, found.plan = true, nil
	}
	if found.plan != nil {
		found, err = r.checkResumable(ctx, found)
	} else if err = r.cohort.chooseKey(ctx, deps.Catalog, s.PrivacyKey); err == nil {
		r.scope.Students = r.cohort.students()
		found, err = r.checkNew(ctx, found, r.date == today)
	}
	if err != nil {
		return nil, found, err
	}
	return r, found, r.newFetcher()
}

// newFetcher sets r.fetch to a fetcher for the run.
func (r *exportRun) newFetcher() (err error) {
	s := r.settings
	o := fetch.Options{
		Privacy: s.Privacy, PrivacyKey: s.PrivacyKey, Concurrency: s.Concurrency, MaxSchoolRecords: s.MaxSchoolRecords,
		Scratch: s.Scratch, MaxHeldBytes: s.maxHeldBytes, Suppressed: r.suppression.students,
	}
	if r.cohort != nil {
		o.Students = r.cohort.bids
	}
	r.fetch, err = fetch.New(r.Client, o)
	return err
}

// checkResumable returns an error if the settings of a run that has begun differ from the settings of this command, or
// if a run published since then prevents it from continuing. With --if-missing, it returns the published run that this
// run would repeat, if there is one.
func (r *exportRun) checkResumable(ctx context.Context, found foundRun) (foundRun, error) {
	plan := found.plan
	if err := r.checkPlan(plan); err != nil || found.manifest != nil {
		return found, err
	}
	if r.settings.IfMissing {
		current, err := r.findEqual(ctx, plan.SnapshotDate)
		if err != nil {
			return found, err
		}
		if current != nil {
			return foundRun{id: current.RunID, manifest: current}, nil
		}
	}
	today := plan.SnapshotDate == plan.PlannedAt.UTC().Format(time.DateOnly)
	return found, r.checkReplace(ctx, found.id, plan.SnapshotDate, today, r.settings.Replace || plan.Replace)
}

// usageIfRefused converts a *RefusedError into a usage error. It returns other errors unchanged.
func usageIfRefused(err error) error {
	if _, refused := errors.AsType[*snapshot.RefusedError](err); refused {
		return Usagef("%w", err)
	}
	return err
}

// checkNew checks that a run that has not begun may begin, and pins its parameters. If the run would add nothing to the
// published run of that date, checkNew returns the published run instead, but only with --if-missing or for an as-of
// run without --replace.
func (r *exportRun) checkNew(ctx context.Context, found foundRun, today bool) (foundRun, error) {
	s := r.settings
	if s.IfMissing || s.kind() == snapshot.AsOf && !s.Replace {
		current, err := r.findEqual(ctx, r.date)
		if err != nil {
			return found, err
		}
		if current != nil {
			return foundRun{id: current.RunID, manifest: current}, nil
		}
	}
	yesterday := r.now.AddDate(0, 0, -1).Format(time.DateOnly)
	if s.kind() != snapshot.AsOf && r.date < yesterday && !s.Backdate {
		return found, Usagef("%s %s is before yesterday, and the service only reports today's state:"+
			" use %s %s for the enrollment as of that date, or %s to store today's data under it",
			snapshotDate, r.date, effectiveDate, r.date, wording.Setting("backdate"))
	}
	if err := r.checkReplace(ctx, found.id, r.date, today, s.Replace); err != nil {
		return found, err
	}
	var err error
	r.pinned, err = r.filters(ctx)
	return found, err
}

// checkReplace records which published run this run replaces. It returns a usage error if this run may not replace the
// published one.
func (r *exportRun) checkReplace(ctx context.Context, id, date string, today, replace bool) error {
	var err error
	r.replaces, err = r.Catalog.CheckReplace(ctx, snapshot.Candidate{
		Run: id, Kind: r.settings.kind(), Date: date, BaseURL: r.settings.BaseURL, Scope: r.scope, Today: today, Replace: replace,
	})
	if r.replaces != nil && r.replaces.PublishedAt.IsZero() {
		r.replaces = nil // its manifest is damaged, so nothing is known about the run
	}
	return usageIfRefused(err)
}

// findEqual returns the published run of the date that this run would repeat, or nil if there is none.
func (r *exportRun) findEqual(ctx context.Context, date string) (*snapshot.Manifest, error) {
	kind := r.settings.kind()
	current, err := r.Catalog.FindEqual(ctx, kind, date, r.settings.BaseURL, r.scope)
	if errors.Is(err, sink.ErrDamaged) || errors.Is(err, sink.ErrNotFound) {
		return nil, nil // CheckReplace reports this error.
	}
	if err != nil {
		return nil, fmt.Errorf("look for a published %s run of %s: %w", kind, date, err)
	}
	return current, nil
}

// logReplaced logs that the run replaces a published run, and warns if the history could then no longer be extended.
func (r *exportRun) logReplaced(ctx context.Context, id string) {
	if r.replaces == nil {
		return
	}
	r.Logger.InfoContext(ctx, "this run replaces a published one", "run", id, "keep_it_with", wording.Setting("if-missing").String(),
		"replaces", r.replaces.RunID, "published", Ago(r.now, r.replaces.PublishedAt))
	if r.settings.kind() != snapshot.Full {
		return
	}
	if gone := history.StoppedBy(ctx, r.Catalog, r.replaces); len(gone) > 0 {
		r.Logger.WarnContext(ctx, "once this run is published, the history can no longer be extended: it holds the replaced run and later ones, and a rebuild would need snapshots that have been pruned",
			"run", id, "replaces", r.replaces.RunID, "pruned", wording.First(gone, history.MaxDates))
	}
}

// Ago returns the time from then to now in minutes, hours or days, such as "6 hours ago".
func Ago(now, then time.Time) string {
	d := max(0, now.Sub(then))
	switch {
	case d < time.Minute:
		return "less than a minute ago"
	case d < time.Hour:
		return wording.Many(int64(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return wording.Many(int64(d/time.Hour), "hour") + " ago"
	default:
		return wording.Many(int64(d/(24*time.Hour)), "day") + " ago"
	}
}

// sinceMargin is the time by which the period of a delta run begins before the last run was planned (specification,
// Limits: recommended modified-since margin).
const sinceMargin = 10 * time.Minute

// sinceAuto is the setting with which a user selects SinceAuto.
var sinceAuto = modifiedSince.String() + " " + SinceAuto

// errNoRunSince says that there is no run from which a delta run since SinceAuto can continue.
var errNoRunSince = errors.New(sinceAuto + ": no full run of this service and privacy profile is published here that has all of these datasets and perspectives," +
	" covers all schools and has no failed school in these datasets: take a full snapshot first, or give a date")

// filters returns the optional parameters that the plan pins. It returns a usage error if there is no run from which a
// delta run since SinceAuto can continue.
func (r *exportRun) filters(ctx context.Context) (map[string]string, error) {
	s := r.settings
	pinned := map[string]string{schemas.EffectiveDate: cmp.Or(s.ServiceDate, r.now.Format(time.DateOnly))}
	if s.EffectiveDate != "" {
		pinned[schemas.EffectiveDate] = s.EffectiveDate
	}
	if s.IncludeRemoved {
		pinned[schemas.IncludeRemoved] = "true"
	}
	switch s.ModifiedSince {
	case "":
	case SinceAuto:
		chain, err := r.Catalog.LatestChain(ctx, s.BaseURL, r.scope, r.now, sinceMargin)
		if err != nil {
			return nil, fmt.Errorf("look for the run that %s continues from: %w", sinceAuto, err)
		}
		if chain == nil {
			return nil, Usagef("%w", errNoRunSince)
		}
		r.incomplete = chain.Denied
		pinned[schemas.ModifiedSince] = chain.Last.PlannedAt.UTC().Add(-sinceMargin).Format("2006-01-02T15:04:05Z")
	default:
		pinned[schemas.ModifiedSince] = s.ModifiedSince
	}
	return pinned, nil
}

// checkPlan returns a usage error if an existing plan does not match this command's settings.
func (r *exportRun) checkPlan(plan *snapshot.Plan) error {
	s := r.settings
	sameStudents := r.cohort.useKeyOf(plan, s.PrivacyKey)
	r.scope.Students = r.cohort.students()
	var differs []string
	if plan.Fingerprint != r.mark || !sameStudents {
		differs = differences(plan, s, r.scope)
	}
	suppressed := !plan.Suppressed.Same(r.suppression.described)
	if suppressed {
		differs = append(differs, fmt.Sprintf("suppressed students: %s instead of %s", plan.Suppressed, r.suppression.described))
	}
	if date := cmp.Or(s.EffectiveDate, s.SnapshotDate); date != "" && date != plan.SnapshotDate {
		differs = append(differs, fmt.Sprintf("date %s instead of %s", plan.SnapshotDate, date))
	}
	if len(differs) == 0 {
		return nil
	}
	if len(differs) == 1 && suppressed {
		return r.suppressionDiffers(plan)
	}
	return Usagef("run %s was planned with other settings (%s): use those, or another %s",
		plan.RunID, strings.Join(differs, ", "), wording.Setting("run-id"))
}

// suppressionDiffers returns a usage error that says why the plan of a run and this command leave out different
// students.
func (r *exportRun) suppressionDiffers(plan *snapshot.Plan) error {
	key := ""
	if r.settings.PrivacyKey != nil {
		key = r.settings.PrivacyKey.Fingerprint()
	}
	if theirs := plan.Suppressed; theirs != nil && theirs.Key != key {
		now := "no privacy key is set"
		if key != "" {
			now = "the privacy key that is set has the fingerprint " + key
		}
		return Usagef("run %s leaves out the students on the suppression list of the privacy key with the fingerprint %s, but %s: set that key and run the same command again",
			plan.RunID, theirs.Key, now)
	}
	when := "before the suppression list changed"
	if plan.Suppressed == nil {
		when = "without this privacy key, or " + when
	}
	remedy := fmt.Sprintf("use %s to export it again with the current list, or another %s", wording.Setting("replace"), wording.Setting("run-id"))
	if r.settings.RunID != "" {
		remedy = fmt.Sprintf("use another %s", wording.Setting("run-id"))
	}
	return Usagef("run %s was planned %s (suppressed students: %s instead of %s): %s", plan.RunID, when, plan.Suppressed, r.suppression.described, remedy)
}

// differences describes the settings that determine the run id and that differ from the settings in the plan.
func differences(plan *snapshot.Plan, s *Settings, scope snapshot.Scope) []string {
	var found []string
	value := func(name, theirs, ours string) {
		if theirs != ours {
			found = append(found, fmt.Sprintf("%s %s instead of %s", name, theirs, ours))
		}
	}
	value("base URL", plan.BaseURL, s.BaseURL)
	value("kind", string(plan.Kind), string(s.kind()))
	found = append(found, plan.Scope.Differences(scope)...)
	value(wording.Setting("schools-per-file").String(), strconv.Itoa(plan.SchoolsPerFile),
		strconv.Itoa(s.bucketSize(len(plan.Schools), plan.Shards)))
	value("tool version", plan.ToolVersion, s.ToolVersion)
	return found
}
