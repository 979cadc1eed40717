package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
)

// runOptions are the settings of run.
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
	strictChecks  bool
	replace       bool
	ifMissing     bool
	acceptBaseURL bool
	runID         string
	restart       bool
}

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:         "run",
		Annotations: map[string]string{oftenAnnotation: "base-url simulate dest datasets schools max-failed-schools max-shrink concurrency rate config"},
		Short:       "Takes a snapshot: plans, fetches, checks and publishes",
		Args:        noArguments,
		Example: "  growth-export run --simulate --dest demo\n" +
			"  growth-export run --base-url https://host --dest /data/growth",
		RunE: resolved(a, o, a.run),
	}
	o.define(cmd)
	return cmd
}

func (o *runOptions) define(cmd *cobra.Command) {
	o.service.define(cmd)
	o.defineWriting(o.destination.define(cmd))
	o.selection.define(cmd)
	o.enrollment.define(cmd)
	publishing := group{cmd.Flags(), publishingGroup}
	o.limits.define(publishing, "0", "20%")
	publishing.toggle(&o.strictChecks, "strict-checks", "hold the snapshot back if a check of the service's own rules fails")
	publishing.toggle(&o.replace, "replace", "allow replacing a snapshot of another scope or of a past date")
	publishing.toggle(&o.ifMissing, "if-missing", "do nothing if this date is already published with the same scope")
	defineAcceptBaseURL(publishing, &o.acceptBaseURL)
	define(publishing, &o.runID, "run-id", "ID", "", parseRunID, "id of the run, to begin or to resume it; by default the same command resumes")
	publishing.shownDefault("run-id", "derived from date and settings")
	publishing.toggle(&o.restart, "restart", "drop what an unfinished or held run of this id has staged, and start it over")
	o.sharding.define(cmd)
	o.simulation.define(cmd)
	g := o.general.define(cmd)
	o.defineProgress(g)
	o.finishing.define(g)
}

// run takes a snapshot.
func (a *app) run(ctx context.Context, o *runOptions, from sources) error {
	deps, settings, disconnect, err := a.connect(ctx, o, from)
	if err != nil {
		return a.abandon(ctx, o.onFinish, err)
	}
	defer disconnect()
	if o.place.folder == "" {
		a.warnOfConditions(ctx, deps.Store, deps.Logger)
	}
	stop := a.watch(&o.general, deps.Meter)
	defer stop()
	if len(o.effectiveDates) > 1 {
		return a.runDates(ctx, o, deps, settings, stop)
	}
	summary, err := await(ctx, func() (*pipeline.Summary, error) { return pipeline.Run(ctx, deps, settings) })
	stop()
	return a.conclude(ctx, &o.general, o.onFinish, summary, err)
}

// connect checks everything that can be checked without asking the service,
// and makes what a run or its plan works with. The simulated service, if that
// is asked, serves until disconnect is called.
func (a *app) connect(ctx context.Context, o *runOptions, from sources) (
	deps pipeline.Deps, settings pipeline.Settings, disconnect func(), err error,
) {
	fail := func(err error) (pipeline.Deps, pipeline.Settings, func(), error) {
		return pipeline.Deps{}, pipeline.Settings{}, nil, err
	}
	if settings, err = a.settings(o, from); err != nil {
		return fail(err)
	}
	if o.scratch == "" {
		if _, err := parseScratch(os.TempDir()); err != nil {
			return fail(usagef("--scratch: it is the system's temporary folder, but %w", err))
		}
	}
	simulated, err := o.chooseService(from)
	if err != nil {
		return fail(err)
	}
	settings.BaseURL = o.serviceName(from)
	credentials := simulatedCredentials()
	if !simulated {
		if credentials, err = a.credentials(); err != nil {
			return fail(err)
		}
	}
	logger := a.newLogger(&o.general)
	o.log, o.s3.Log = logger, logger
	store, err := a.openStore(ctx, &o.destination, from)
	if err != nil {
		return fail(err)
	}
	baseURL, disconnect := o.baseURL, func() {}
	if simulated {
		// The embedded service outlives an interrupt: requests that wait for it
		// are ended by their own client.
		if baseURL, disconnect, err = o.embed(context.WithoutCancel(ctx), o.simulatedDay(a.now())); err != nil {
			return fail(err)
		}
	}
	meter := &pipeline.Meter{}
	a.who.works(meter)
	options := o.clientOptions(baseURL, credentials, logger)
	options.Observer = a.observe(baseURL, meter)
	client, err := extract.New(options)
	if err != nil {
		disconnect()
		return fail(usagef("%w", err))
	}
	a.sample(baseURL, client)
	deps = pipeline.Deps{Client: client, Store: store, Logger: logger, Meter: meter, Watcher: a.watcher(), Now: a.now}
	return deps, settings, disconnect, nil
}

// settings are what the pipeline is told.
func (a *app) settings(o *runOptions, from sources) (pipeline.Settings, error) {
	part, err := o.chooseShard(a, from)
	if err != nil {
		return pipeline.Settings{}, err
	}
	if part.of > 1 && o.restart {
		return pipeline.Settings{}, usagef("%s: a shard cannot start the run over, which would drop what the others have staged: "+
			"use growth-export publish --run-id %s --abandon, then run the shards again", from["restart"].name, o.runID)
	}
	if part.of > 1 && o.runID == "" {
		return pipeline.Settings{}, usagef("--run-id is missing: the %d shards of a run need one id, the same for all of them", part.of)
	}
	if err := o.checkPast(a.now(), from); err != nil {
		return pipeline.Settings{}, err
	}
	s := pipeline.Settings{
		ToolVersion: thisBuild().Version,
		Datasets:    o.datasets, Schools: o.schools, Districts: o.districts,
		Perspectives: o.perspectives, PartitionBy: o.partitionBy, SnapshotDate: o.snapshotDate,
		ModifiedSince: o.modifiedSince, IncludeRemoved: o.includeRemoved,
		RunID: o.runID, SchoolsPerFile: o.schoolsPerFile,
		MaxFailedSchools: *o.maxFailedSchools, MaxShrink: *o.maxShrink, StrictChecks: o.strictChecks, Replace: o.replace, Restart: o.restart,
		Backdate: o.backdate, IfMissing: o.ifMissing, AcceptBaseURL: o.acceptBaseURL,
		Shard: part.index, Shards: part.of,
		Concurrency: o.concurrency, MaxSchoolRecords: o.maxSchoolRecords, Scratch: o.scratch,
	}
	if len(o.effectiveDates) > 0 {
		s.EffectiveDate = o.effectiveDates[0]
	}
	return s, nil
}

// clientOptions are those of a client that asks the service at a URL.
func (o *service) clientOptions(baseURL *url.URL, c extract.Credentials, logger *slog.Logger) extract.Options {
	return extract.Options{
		BaseURL: baseURL, Credentials: c,
		Concurrency: o.concurrency, RatePerSecond: o.rate, Retries: o.retries,
		RequestTimeout: o.requestTimeout, GiveUpAfter: o.giveUpAfter, MaxBody: o.maxBody,
		UserAgent: "growth-export/" + thisBuild().Version, Logger: logger,
	}
}

// chooseService reports whether the simulated service is to be asked. It refuses
// to send secrets unencrypted to another machine.
func (o *service) chooseService(from sources) (simulated bool, err error) {
	if !o.simulate {
		delete(from, "simulate") // said to be off, which is the default
	}
	which, err := from.choose("base-url", "simulate")
	if err == nil && which == "" {
		err = usagef("no service configured: set --base-url (or %s, or base-url in the --config file), or try --simulate",
			envName("base-url"))
	}
	if err == nil && which == "base-url" && o.baseURL.Scheme == "http" && !isLoopback(o.baseURL) && !o.allowHTTP {
		err = usagef("%s: http would send credentials and student data to %s unencrypted: write https, or add --allow-http if that is meant",
			from["base-url"].name, o.baseURL.Host)
	}
	return which == "simulate", err
}

// serviceName returns what plans and manifests name as the service: its base
// URL, or the word simulate; empty if none is chosen.
func (o *service) serviceName(from sources) string {
	simulated, err := o.chooseService(from)
	switch {
	case err != nil:
		return ""
	case simulated:
		return "simulate"
	default:
		return o.baseURL.String()
	}
}

// isLoopback reports whether a URL leads to this machine.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// grace is how long a command that was interrupted may take to end in order.
const grace = 1500 * time.Millisecond

// await waits for work, but not for long once ctx is done: then the process is
// about to end, and work with it.
func await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, context.Cause(ctx)
	}
}

// conclude writes the summary to stdout, chooses the exit code, and tells the
// command onFinish of both. The summary may be nil with an error, and is not
// with none.
func (a *app) conclude(ctx context.Context, o *general, onFinish string, summary *pipeline.Summary, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		err = interrupted(summary)
	}
	if resumable(summary, err) {
		err = fmt.Errorf("%w; %s resumes run %s", err, sameCommand(summary), summary.RunID)
	}
	code := exitCode(err)
	if err == nil {
		code = outcomeCode(summary)
	}
	a.summarize(ctx, summary)
	end := newJSONSummary(summary, code, err)
	var unwritten error
	switch {
	case o.output == outputJSON:
		unwritten = writeJSON(a.stdout, end)
	case err == nil:
		unwritten = writeSummary(a.stdout, summary)
	case summary != nil:
		unwritten = writeText(a.stdout, reportLine(summary))
	}
	a.finish(ctx, onFinish, end)
	if err != nil {
		return err
	}
	if unwritten != nil {
		// What was done is done: the exit code speaks of the snapshot.
		a.complain(unwritten)
	}
	a.code = code
	return nil
}

// abandon tells the command onFinish of a run that could not begin.
func (a *app) abandon(ctx context.Context, onFinish string, err error) error {
	if ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		err = errInterrupted
	}
	a.finish(ctx, onFinish, newJSONSummary(nil, exitCode(err), err))
	return err
}

// resumable tells whether a run that failed can be taken up again, and its
// error does not say so itself.
func resumable(summary *pipeline.Summary, err error) bool {
	if _, stuck := errors.AsType[*sink.StuckError](err); stuck {
		return false
	}
	planned := summary != nil && summary.RunID != "" && summary.SnapshotDate != ""
	return planned && exitCode(err) == exitFailed &&
		!errors.Is(err, extract.ErrGaveUp) && !errors.Is(err, pipeline.ErrIncomplete)
}

// interrupted says how to go on.
func interrupted(summary *pipeline.Summary) error {
	if summary == nil || summary.RunID == "" {
		return fmt.Errorf("%w: the same command goes on from where it stopped", errInterrupted)
	}
	return fmt.Errorf("%w: run %s is not published; %s resumes it (on another day with --run-id %s)",
		errInterrupted, summary.RunID, sameCommand(summary), summary.RunID)
}

// sameCommand is what resumes a run.
func sameCommand(summary *pipeline.Summary) string {
	if summary.Restarted {
		return "the same command without --restart"
	}
	return "the same command"
}
