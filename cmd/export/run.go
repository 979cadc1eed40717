package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// runOptions holds the settings of run.
type runOptions struct {
	general
	destination
	service
	selection
	enrollment
	limits
	sharding
	simulation
	finishing
	compare       string
	replace       bool
	ifMissing     bool
	acceptBaseURL bool
	runID         string
	restart       bool
	deadline      *timeOfDay
	deltaLake     bool
	history       bool
}

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{}
	cmd := newCommand(a, o, a.run, "base-url simulate dest datasets schools max-failed-schools max-shrink concurrency rate config", &cobra.Command{
		Use:   "run",
		Short: "Takes a snapshot: plans, fetches, checks and publishes",
		Example: "  growth-export run --simulate --dest demo\n" +
			"  growth-export run --base-url https://host --dest /data/growth",
	})
	o.define(cmd)
	return cmd
}

func (o *runOptions) define(cmd *cobra.Command) {
	o.service.define(cmd)
	at := o.destination.define(cmd)
	at.toggle(&o.groupReadable, "group-readable",
		"readable by the group: files 0640 and folders 0750, not 0600 and 0700; the first run at a destination decides for all")
	o.defineWriting(at)
	o.selection.define(cmd)
	o.enrollment.define(cmd)
	publishing := group{cmd.Flags(), publishingGroup}
	o.limits.define(publishing, true)
	choose(publishing, &o.compare, "compare", "WHEN", "on", []string{"on", "off"}, "while exporting a full snapshot, compare it with the one before: on or off")
	publishing.toggle(&o.StrictChecks, "strict-checks", "do not publish if a check of the service's own rules fails")
	defineReplace(publishing, &o.replace)
	publishing.toggle(&o.ifMissing, "if-missing", "do nothing if this date is already published with the same scope")
	defineAcceptBaseURL(publishing, &o.acceptBaseURL)
	define(publishing, &o.runID, "run-id", "ID", "", parseRunID, "id of the run to start or resume; by default, the same command resumes")
	publishing.shownDefault("run-id", "derived from date and settings")
	define(publishing, &o.deadline, "deadline", "HH:MM[Z]", "", optional(parseTimeOfDay),
		"local time (UTC with Z) at which to stop fetching: then the run is published if --max-failed-schools allows; otherwise it fails"+
			" and can be resumed. Test results are fetched first")
	defineDeltaLake(publishing, &o.deltaLake)
	defineHistory(publishing, &o.history)
	publishing.toggle(&o.restart, "restart", "drop what an unfinished or held run with this id has staged, and start over")
	o.sharding.define(cmd)
	o.simulation.define(cmd)
	g := o.general.define(cmd)
	o.defineProgress(g)
	o.finishing.define(g)
}

// run takes one snapshot, or one for each effective date, and writes the summaries.
func (a *app) run(ctx context.Context, o *runOptions, from sources) error {
	deps, settings, disconnect, err := a.connect(ctx, o, from, a.openForRun)
	if err != nil {
		return a.endBeforeRun(ctx, o.onFinish, err)
	}
	defer disconnect()
	stop := a.showProgress(&o.general, o.log, deps.Progress)
	defer stop()
	if err := o.findTerms(ctx, deps, &settings); err != nil {
		stop()
		return a.endRun(ctx, &o.general, o.onFinish, nil, err)
	}
	if len(o.effectiveDates) > 1 {
		return a.runDates(ctx, o, deps, settings, stop)
	}
	options := a.sessionOptions(&o.destination)
	options.History, options.DeltaLake = o.history, o.deltaLake
	summary, err := await(ctx, func() (*pipeline.Summary, error) {
		s, err := work.Open(ctx, deps.Catalog, options)
		if err != nil {
			return nil, err
		}
		return s.Run(ctx, deps, settings)
	})
	stop()
	return a.endRun(ctx, &o.general, o.onFinish, summary, err)
}

// opener opens a destination.
type opener func(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error)

// connect checks everything that can be checked without a request to the service, and returns the dependencies and
// settings of a run or a plan. disconnect stops the simulated service, if there is one, and is nil if err is not nil.
func (a *app) connect(ctx context.Context, o *runOptions, from sources, open opener) (
	deps pipeline.Deps, settings pipeline.Settings, disconnect func(), err error,
) {
	settings, credentials, simulated, err := a.checkOffline(o, from)
	if err != nil {
		return deps, settings, nil, err
	}
	logger := a.newLogger(&o.general)
	o.log = logger
	if file := a.readableKeyFile(); file != "" {
		logger.WarnContext(ctx, "every user can read the privacy key file, and so could match pseudonyms to students", "file", file, "remedy", "chmod 600")
	}
	catalog, err := open(ctx, &o.destination, from)
	if err != nil {
		return deps, settings, nil, err
	}
	baseURL, disconnect := o.baseURL, func() {}
	if simulated {
		settings.ServiceDate = o.day(o.simulatedDay(a.now())).UTC().Format(time.DateOnly)
		// The embedded service outlives an interrupt, because the client ends its own requests.
		if baseURL, disconnect, err = o.embed(context.WithoutCancel(ctx), o.simulatedDay(a.now())); err != nil {
			return deps, settings, nil, err
		}
	}
	progress := &pipeline.Progress{}
	a.who.setProgress(progress)
	options := o.clientOptions(baseURL, credentials, logger)
	options.RatePerSecond = o.rateOf(o.rate, settings.Shards)
	options.Observer = a.observer(baseURL, progress)
	options.HideErrorCodes = settings.Privacy.NeedsKey()
	client, err := extract.New(options)
	if err != nil {
		disconnect()
		return deps, settings, nil, usagef("%w", err)
	}
	a.sample(baseURL, client)
	deps = pipeline.Deps{Client: client, Catalog: catalog, Logger: logger, Progress: progress, Tracer: a.tracer(), Now: a.now}
	return deps, settings, disconnect, nil
}

// checkOffline checks everything that can be checked without a request and without access to the destination. It
// returns the settings, the credentials, and whether the service is simulated.
func (a *app) checkOffline(o *runOptions, from sources) (
	settings pipeline.Settings, credentials extract.Credentials, simulated bool, err error,
) {
	if settings, err = a.pipelineSettings(o, from); err != nil {
		return settings, credentials, false, err
	}
	if o.scratch == "" {
		if _, err := parseScratch(os.TempDir()); err != nil {
			return settings, credentials, false, usagef("--scratch defaults to the system's temporary folder, but %w", err)
		}
	}
	if simulated, err = o.chooseService(from); err != nil {
		return settings, credentials, false, err
	}
	settings.BaseURL = o.serviceName(from)
	credentials = simulatedCredentials()
	if !simulated {
		credentials, err = a.credentials()
	}
	return settings, credentials, simulated, err
}

// pipelineSettings returns the settings of the pipeline, except for the service, or a usage error if the shard, a date
// or the privacy key is not valid.
func (a *app) pipelineSettings(o *runOptions, from sources) (pipeline.Settings, error) {
	part, err := o.chooseShard(a, from)
	if err != nil {
		return pipeline.Settings{}, err
	}
	if part.of > 1 && o.restart {
		return pipeline.Settings{}, usagef("%s: a shard cannot start the run over, which would drop what the other shards have staged: "+
			"use growth-export publish --run-id %s --abandon, then run the shards again", from["restart"].name, o.runID)
	}
	if part.of > 1 && o.runID == "" {
		return pipeline.Settings{}, usagef("--run-id is missing: all %d shards of a run need the same id", part.of)
	}
	if err := o.checkPast(a.now(), from); err != nil {
		return pipeline.Settings{}, err
	}
	profile := schemas.Profile(o.privacy)
	key, err := a.keyOf(profile)
	if err != nil {
		return pipeline.Settings{}, err
	}
	s := pipeline.Settings{
		ToolVersion: thisBuild().Version,
		Datasets:    o.datasets, Schools: o.schools, Districts: o.districts, Students: o.students,
		Perspectives: o.perspectives, PartitionBy: o.partitionBy, SnapshotDate: o.snapshotDate,
		ModifiedSince: o.modifiedSince, IncludeRemoved: o.includeRemoved,
		Privacy: profile, PrivacyKey: key,
		RunID: o.runID, Limits: o.Limits, Compare: o.compare == "on", Replace: o.replace, Restart: o.restart,
		Backdate: o.backdate, IfMissing: o.ifMissing, AcceptBaseURL: o.acceptBaseURL,
		Shard: part.index, Shards: part.of,
		Concurrency: o.concurrency, MaxSchoolRecords: o.maxSchoolRecords, Scratch: o.scratch,
	}
	if from.given("schools-per-file") {
		s.SchoolsPerFile = o.schoolsPerFile
	}
	if len(o.effectiveDates) > 0 {
		s.EffectiveDate = o.effectiveDates[0]
	}
	if o.deadline != nil {
		s.Deadline = o.deadline.next(a.now())
	}
	return s, nil
}

// checkPast returns a usage error if a date is in the future, because the service would return nothing or today's data
// for it.
func (o *runOptions) checkPast(now time.Time, from sources) error {
	now = now.UTC()
	today := now.Format(time.DateOnly)
	future := func(flag, value, clock string) error {
		return usagef("%s: %s is in the future, %s in UTC", from[flag].name, value, clock)
	}
	if o.snapshotDate > today {
		return future("snapshot-date", o.snapshotDate, "today is "+today)
	}
	for _, date := range o.effectiveDates {
		if date != termDates && date > today {
			return future("effective-date", date, "today is "+today)
		}
	}
	switch since, isTime := snapshot.ParseTime(o.modifiedSince); {
	case !isTime || !since.After(now):
		return nil
	case len(o.modifiedSince) == len(time.DateOnly):
		return future("modified-since", o.modifiedSince, "today is "+today)
	default:
		return future("modified-since", o.modifiedSince, "it is "+now.Format(time.DateTime))
	}
}
