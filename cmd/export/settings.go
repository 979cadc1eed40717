package main

import (
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// The headings in help.
const (
	serviceGroup     = "Service"
	destinationGroup = "Destination"
	selectionGroup   = "What is exported"
	publishingGroup  = "Publishing"
	severalGroup     = "Several processes"
	simulationGroup  = "Simulated service"
	generalGroup     = "Configuration and output"
)

// general holds the settings that most commands share.
type general struct {
	config    string
	output    string
	logFormat string
	logLevel  string
	progress  string
}

func (o *general) define(cmd *cobra.Command) group {
	g := group{cmd.Flags(), generalGroup}
	define(g, &o.config, "config", "FILE", "", parsePath, "YAML file of settings, named like the flags")
	choose(g, &o.output, "output", "FORMAT", outputText, []string{outputText, outputJSON}, "output format: text or json")
	choose(g, &o.logFormat, "log-format", "FORMAT", "text", []string{"text", "json"}, "log format on stderr: text or json")
	choose(g, &o.logLevel, "log-level", "LEVEL", "info", []string{"debug", "info", "warn", "error"},
		"minimum log level: debug, info, warn or error")
	return g
}

// service holds the settings of requests to the service.
type service struct {
	baseURL        *url.URL
	allowHTTP      bool
	simulate       bool
	concurrency    int
	rate           float64
	retries        int
	requestTimeout time.Duration
	giveUpAfter    time.Duration
	maxBody        int64
}

func (o *service) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), serviceGroup}
	define(g, &o.baseURL, "base-url", "URL", "", parseBaseURL, "root of the service: https://host or https://host/path")
	g.toggle(&o.allowHTTP, "allow-http", "allow an http base URL of another machine: credentials and data are sent unencrypted")
	g.toggle(&o.simulate, "simulate", "use a simulated service, which needs no credentials")
	define(g, &o.concurrency, "concurrency", "N", "8", between(1, 1024), "maximum concurrent requests")
	define(g, &o.rate, "rate", "N", "unlimited", parseRate, "maximum requests per second")
	define(g, &o.retries, "retries", "N", "8", between(0, 1000), "number of retries")
	define(g, &o.requestTimeout, "request-timeout", "TIME", "60s", parseDuration, "timeout of one attempt, including the body")
	define(g, &o.giveUpAfter, "give-up-after", "TIME", "30m", parseDuration, "how long to wait for a failing service; also bounds token and lookup requests")
	define(g, &o.maxBody, "max-body", "SIZE", "32MiB", parseSize, "maximum size of one response body, decompressed")
}

// selection holds the settings that select the data to export.
type selection struct {
	datasets           []string
	schools, districts []string
	students           []string
	perspectives       string
	snapshotDate       string
	backdate           bool
	schoolsPerFile     int
	maxSchoolRecords   int64
	partitionBy        string
	privacy            string
}

func (o *selection) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), selectionGroup}
	g.list(&o.datasets, "datasets", expandDatasets, `dataset names, "default" or "all"`)
	g.shownDefault("datasets", `"default"`)
	o.datasets, _ = expandDatasets([]string{"default"}) // a known word
	g.listExactly(&o.schools, "schools", "only these bids, or @FILE, one per line")
	g.shownDefault("schools", "all")
	g.listExactly(&o.districts, "districts", "only schools of these districts: bids as with --schools")
	g.shownDefault("districts", "all")
	g.listStudents(&o.students, nil, "students", "only rows about these students: bids as with --schools; @FILE hides them from process lists")
	g.shownDefault("students", "all")
	choose(g, &o.perspectives, "perspectives", "WHICH", pipeline.AllPerspectives,
		[]string{pipeline.AllPerspectives, pipeline.OwnPerspective},
		"read enrollment through every district that lists the school (all), or only its own (own)")
	define(g, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "date of the snapshot")
	g.shownDefault("snapshot-date", "today in UTC")
	g.toggle(&o.backdate, "backdate", "allow storing today's data under a date before yesterday")
	define(g, &o.maxSchoolRecords, "max-school-records", "N", "2000000", between[int64](1, math.MaxInt64),
		"fail a school with more records in one dataset, or eight times as many child rows")
	define(g, &o.schoolsPerFile, "schools-per-file", "N", strconv.Itoa(pipeline.DefaultSchoolsPerFile), between(1, math.MaxInt),
		"number of schools per file; by default fewer in a run of many shards, but at least 8")
	definePartitionBy(g, &o.partitionBy)
	definePrivacy(g, &o.privacy)
}

// definePrivacy adds the setting that selects the privacy profile.
func definePrivacy(g group, target *string) {
	choose(g, target, "privacy", "PROFILE", string(schemas.Full), []string{string(schemas.Full), string(schemas.Pseudonymous), string(schemas.Minimal)},
		"what rows say about people: full, pseudonymous or minimal; all but full need a key, see "+privacyKeyVariable)
}

// definePartitionBy adds the setting of the partitioning, which must be the same for all runs at a destination.
func definePartitionBy(g group, target *string) {
	choose(g, target, "partition-by", "WHAT", snapshot.NotPartitioned,
		[]string{snapshot.NotPartitioned, snapshot.ByDistrict}, "none, or district: a folder for each district in the date's folder")
}

// defineAcceptBaseURL adds the setting with which the user accepts that the destination's service has moved.
func defineAcceptBaseURL(g group, target *bool) {
	g.toggle(target, "accept-base-url", "accept that the service of this destination has moved to this base URL")
}

// defineReplace adds the setting that allows a run to replace a snapshot of another scope or of a past date.
func defineReplace(g group, target *bool) {
	g.toggle(target, "replace", "allow replacing a snapshot of another scope or of a past date")
}

// limits holds the limits beyond which a run is held back.
type limits struct {
	review.Limits

	flags []*pflag.Flag
}

// define adds the limits to the group. If defaults is false, limits that are not set come from the plan.
func (o *limits) define(g group, defaults bool) {
	defineLimit(o, g, defaults, &o.MaxFailedSchools, "max-failed-schools", "N", "0", between(0, math.MaxInt),
		"do not publish if more than N schools failed")
	for _, limit := range []struct {
		target          *review.Share
		name, def, text string
	}{
		{&o.MaxShrink, "max-shrink", "20%", "do not publish if a table, or the number of schools with rows in it, shrank by more; or off"},
		{&o.MaxRemoved, "max-removed", "10%", "do not publish if more of a district's test results are gone for no known reason; or off"},
		{&o.MaxChanged, "max-changed", "75%", "do not publish if more of a district's rows in a table changed; or off"},
		{&o.MaxEmptied, "max-emptied", "50%", "do not publish if more of a district's values in a column are gone; or off"},
	} {
		defineLimit(o, g, defaults, limit.target, limit.name, "PERCENT", limit.def, review.ParseShare, limit.text)
	}
}

// defineLimit adds the flag of one limit, and records the flag for override.
func defineLimit[T any](
	o *limits, g group, defaults bool, target *T, name, arg, def string, parse func(string) (T, error), doc string,
) {
	if !defaults {
		def = ""
	}
	define(g, target, name, arg, def, parse, doc)
	o.flags = append(o.flags, g.flags.Lookup(name))
	if !defaults {
		g.shownDefault(name, "the plan's")
	}
}

// override replaces those limits of a plan that the user has set.
func (o *limits) override(plan *review.Limits) {
	o.Limits = *plan
	for _, flag := range o.flags {
		if text := flag.Value.String(); text != "" {
			_ = flag.Value.Set(text) // this text was valid before
		}
	}
	*plan = o.Limits
}
