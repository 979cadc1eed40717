package sink

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// publishLock is the lock that publishers of a destination hold.
const publishLock = "publish"

// PublishOptions are the options of Publish.
type PublishOptions struct {
	// Now tells the time.
	Now func() time.Time
	// Replace and AcceptBaseURL allow what --replace and --accept-base-url allow,
	// besides what the plan allows.
	Replace, AcceptBaseURL bool
	// Accepted are the reasons to hold the run back that were overruled by hand.
	Accepted []string
}

// UnfinishedError says that a run is published, and that a step after that could
// not be done. The next command that calls FinishPublishing does it.
type UnfinishedError struct{ Err error }

func (e *UnfinishedError) Error() string {
	return "the run is published, but a step after that failed: " + e.Err.Error()
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// intent is intent.json: publishing has begun. It holds all that is needed to
// finish it, so that whoever finds it writes the same manifest.
type intent struct {
	FormatVersion int `json:"format_version"`
	// PlannedAt orders the runs of a date.
	PlannedAt time.Time `json:"planned_at"`
	// AllowedDate and Replace are what the rules of replacing ask of the plan.
	AllowedDate bool `json:"allowed_date"`
	Replace     bool `json:"replace"`
	// Replaces are the runs that this one takes the date from.
	Replaces []string `json:"replaces"`
	// Staged is what the store needs to commit the file at a path.
	Staged   map[string]json.RawMessage `json:"staged"`
	Manifest Manifest                   `json:"manifest"`
}

// Publish makes a staged run visible, and is done once it returns a manifest:
// called again, after it was killed or not, it goes on where it stopped. A
// *RefusedError says that the run may not replace what stands; nothing is
// visible then. An *UnfinishedError comes with the manifest: the run is the snapshot of
// its date, and a step after that failed. ErrConflict says that another run, planned later, took the date
// while this one published; the manifest tells that this one is replaced.
// ErrStagedLost says that nothing is visible and the run has to be run again.
func Publish(ctx context.Context, store Store, g *Gathered, opts PublishOptions) (_ *Manifest, err error) {
	unlock, err := lockPublishing(ctx, store)
	if err != nil {
		return nil, err
	}
	defer func() {
		unlocked := unlock()
		if err == nil {
			unlocked = unfinished(unlocked)
		}
		err = errors.Join(err, unlocked)
	}()

	run := g.Plan.RunID
	begun, version, err := readDocument[intent](ctx, store, IntentPath(run))
	switch {
	case err == nil:
		return rollForward(ctx, store, begun, version)
	case errors.Is(err, ErrDamaged):
		// The journals say the same, and what was done is done.
	case !errors.Is(err, ErrNotFound):
		return nil, err
	default:
		manifest, err := ReadManifest(ctx, store, run)
		if err == nil {
			// Another process may have gone on staging the run.
			err = unfinished((&publishing{store: store, run: run}).cleanUp(ctx))
		}
		if !errors.Is(err, ErrNotFound) {
			return manifest, err
		}
	}
	if len(g.Missing) > 0 {
		return nil, &MissingError{Run: run, Missing: g.Missing}
	}
	begun, version, err = begin(ctx, store, g, opts, version)
	if err != nil {
		return nil, fmt.Errorf("publish run %s: %w", run, err)
	}
	if begun == nil {
		return ReadManifest(ctx, store, run)
	}
	return rollForward(ctx, store, begun, version)
}

// begin judges whether the run may replace what stands, stages the ledger and
// writes the intent, over the damaged one of that version if there is one. If
// another process was faster it is its intent that counts, or none if that is
// through with it already.
func begin(
	ctx context.Context, store Store, g *Gathered, opts PublishOptions, damaged string,
) (*intent, string, error) {
	plan := g.Plan
	run := plan.RunID
	manifest, files := g.manifest()
	begun := &intent{
		FormatVersion: FormatVersion,
		PlannedAt:     plan.PlannedAt.UTC(),
		AllowedDate:   plan.PlannedAt.UTC().Format(time.DateOnly) == plan.SnapshotDate,
		Replace:       plan.Replace || opts.Replace,
		Replaces:      []string{},
		Staged:        make(map[string]json.RawMessage),
	}
	replaced, err := CheckReplace(ctx, store, Candidate{
		Run: run, Kind: plan.Kind, Date: plan.SnapshotDate, BaseURL: plan.BaseURL, Scope: plan.Scope,
		Today: begun.AllowedDate, Replace: begun.Replace,
	})
	if err != nil {
		return nil, "", err
	}
	if replaced != nil {
		begun.Replaces = append(begun.Replaces, replaced.RunID)
		manifest.Replaces = begun.Replaces
	}
	err = settleDestination(ctx, store, plan.BaseURL, plan.Scope.PartitionBy, plan.AcceptBaseURL || opts.AcceptBaseURL)
	if err != nil {
		return nil, "", err
	}
	if err := store.CheckCommit(ctx, run, slices.Collect(maps.Keys(files))); err != nil {
		return nil, "", err
	}
	ledger, err := stageLedger(ctx, store, run, g.Ledger)
	if errors.Is(err, ErrStagedLost) {
		if swept, readErr := PublishingBegun(ctx, store, run); swept && readErr == nil {
			return follow(ctx, store, run)
		}
	}
	if err != nil {
		return nil, "", err
	}
	files[ledger.Path] = ledger
	for path, file := range files {
		if file.Staged != nil {
			begun.Staged[path] = file.Staged
		}
	}
	manifest.Ledger = ledger
	manifest.Ledger.Staged = nil
	manifest.Accepted = opts.Accepted
	manifest.PublishedAt = opts.Now().UTC().Truncate(time.Second)
	begun.Manifest = *manifest

	when := Condition{Absent: damaged == "", Version: damaged}
	err = writeDocument(ctx, store, IntentPath(run), begun, when)
	if err != nil && !errors.Is(err, ErrConflict) {
		// The intent may have been written anyway, and then needs the ledger.
		if _, _, readErr := store.Read(ctx, IntentPath(run)); errors.Is(readErr, ErrNotFound) {
			err = errors.Join(err, store.Abort(ctx, run, ledger))
		}
		return nil, "", err
	}
	standing, version, err := follow(ctx, store, run)
	if err != nil {
		return nil, "", err
	}
	if standing == nil || !sameStaged(File{Staged: standing.Staged[ledger.Path]}, File{Staged: ledger.Staged}) {
		if err := store.Abort(ctx, run, ledger); err != nil {
			return nil, "", err
		}
	}
	return standing, version, nil
}

// follow reads the intent that counts, none if its publishing is over.
func follow(ctx context.Context, store Store, run string) (*intent, string, error) {
	standing, version, err := readDocument[intent](ctx, store, IntentPath(run))
	if errors.Is(err, ErrNotFound) {
		return nil, "", nil
	}
	return standing, version, err
}

// publishingRuns are the runs, as they stand in paths, that are being published.
func publishingRuns(ctx context.Context, store Store) ([]string, error) {
	entries, err := ListAll(ctx, store, runsPrefix)
	return runsWith(entries, intentName), err
}

// compare orders runs by when they were planned.
func (i *intent) compare(plannedAt time.Time, run string) int {
	return cmp.Or(i.PlannedAt.Compare(plannedAt), cmp.Compare(i.Manifest.RunID, run))
}

// files returns the files of the run, the ledger last, as Commit needs them.
func (i *intent) files() []File {
	files := append(i.Manifest.files(), i.Manifest.Ledger)
	for n := range files {
		files[n].Staged = i.Staged[files[n].Path]
	}
	return files
}

// ReadManifest reads the manifest of a run: ErrNotFound if it is not published,
// ErrDamaged.
func ReadManifest(ctx context.Context, store Store, run string) (*Manifest, error) {
	manifest, _, err := readManifest(ctx, store, run)
	return manifest, err
}

func readManifest(ctx context.Context, store Store, run string) (*Manifest, string, error) {
	path := ManifestPath(run)
	manifest, version, err := readDocument[Manifest](ctx, store, path)
	if err != nil {
		return nil, version, err
	}
	if manifest.RunID != run {
		return nil, version, fmt.Errorf("read %s: %w: it is the manifest of another run", path, ErrDamaged)
	}
	return manifest, version, nil
}
