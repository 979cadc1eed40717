package main

import (
	"math"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
)

// The headings of the help.
const (
	serviceGroup     = "Service"
	destinationGroup = "Destination"
	selectionGroup   = "What is exported"
	publishingGroup  = "Publishing"
	severalGroup     = "Several processes"
	simulationGroup  = "Simulated service"
	generalGroup     = "Configuration and output"
)

// general are the settings of every command that works at length.
type general struct {
	config    string
	output    string
	logFormat string
	logLevel  string
	progress  string
}

func (o *general) define(cmd *cobra.Command) group {
	g := group{cmd.Flags(), generalGroup}
	define(g, &o.config, "config", "FILE", "", parsePath, "YAML file of settings, with the names of the flags")
	choose(g, &o.output, "output", "FORMAT", outputText, []string{outputText, outputJSON}, "what stands on stdout: text or json")
	choose(g, &o.logFormat, "log-format", "FORMAT", "text", []string{"text", "json"}, "log lines on stderr: text or json")
	choose(g, &o.logLevel, "log-level", "LEVEL", "info", []string{"debug", "info", "warn", "error"},
		"least level of log lines: debug, info, warn or error")
	return g
}

func (o *general) defineProgress(g group) {
	choose(g, &o.progress, "progress", "FORM", "auto", []string{progressAuto, progressBar, progressPlain, progressNone},
		"progress on stderr: bar, plain lines, none, or auto for a bar on a terminal and else lines")
}

// service is how the service is asked.
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
	g.toggle(&o.allowHTTP, "allow-http", "accept a base URL of http to another machine: credentials and data travel unencrypted")
	g.toggle(&o.simulate, "simulate", "ask a simulated service, which needs no credentials")
	define(g, &o.concurrency, "concurrency", "N", "8", between(1, 1024), "most requests in flight")
	define(g, &o.rate, "rate", "N", "unlimited", parseRate, "most requests per second")
	define(g, &o.retries, "retries", "N", "8", between(0, 1000), "further attempts after the first that failed")
	define(g, &o.requestTimeout, "request-timeout", "TIME", "60s", parseDuration, "for one attempt, body included")
	define(g, &o.giveUpAfter, "give-up-after", "TIME", "30m", parseDuration, "how long to wait for a service that fails; bounds the token and the lookups too")
	define(g, &o.maxBody, "max-body", "SIZE", "32MiB", parseSize, "largest body of one answer, decompressed")
}

// selection is what a run exports.
type selection struct {
	datasets           []string
	schools, districts []string
	perspectives       string
	snapshotDate       string
	backdate           bool
	schoolsPerFile     int
	maxSchoolRecords   int64
	partitionBy        string
}

func (o *selection) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), selectionGroup}
	g.list(&o.datasets, "datasets", expandDatasets, "names (see schema), default, or all")
	g.shownDefault("datasets", "default")
	o.datasets, _ = expandDatasets([]string{"default"}) // the words are known
	g.list(&o.schools, "schools", nil, "only these bids: a comma list, or @FILE with one on each line")
	g.shownDefault("schools", "all")
	g.list(&o.districts, "districts", nil, "only the schools of these districts: bids as with --schools")
	g.shownDefault("districts", "all")
	choose(g, &o.perspectives, "perspectives", "WHICH", pipeline.AllPerspectives,
		[]string{pipeline.AllPerspectives, pipeline.OwnPerspective},
		"enrollment as every district sees it that names the school (all), or the school's own alone (own)")
	define(g, &o.snapshotDate, "snapshot-date", "DATE", "", parseDate, "date of the snapshot")
	g.shownDefault("snapshot-date", "today in UTC")
	g.toggle(&o.backdate, "backdate", "allow a new run to store today's data under a date before yesterday")
	define(g, &o.maxSchoolRecords, "max-school-records", "N", "2000000", between[int64](1, math.MaxInt64),
		"a school with more records in one dataset, or eight times as many child rows, fails")
	define(g, &o.schoolsPerFile, "schools-per-file", "N", "256", between(1, math.MaxInt), "schools in a file")
	definePartitionBy(g, &o.partitionBy)
}

// definePartitionBy adds the setting in which a destination has a say.
func definePartitionBy(g group, target *string) {
	choose(g, target, "partition-by", "WHAT", sink.NotPartitioned,
		[]string{sink.NotPartitioned, sink.ByDistrict}, "district: a folder for each below that of the date")
}

// defineAcceptBaseURL adds the setting that moves a destination.
func defineAcceptBaseURL(g group, target *bool) {
	g.toggle(target, "accept-base-url", "allow a destination that belongs to another service to move to this one")
}

// defineReplace adds the setting that allows a run to replace any snapshot.
func defineReplace(g group, target *bool) {
	g.toggle(target, "replace", "allow replacing a snapshot with another scope or a past date")
}

// limits are what a run is judged by; nil for what the plan says.
type limits struct {
	maxFailedSchools *int
	maxShrink        *pipeline.Shrink
}

// define adds the limits to the group; the defaults of a run are given, those
// of publish are the plan's.
func (o *limits) define(g group, defaultFailed, defaultShrink string) {
	define(g, &o.maxFailedSchools, "max-failed-schools", "N", defaultFailed, optional(between(0, math.MaxInt)),
		"hold it back if more schools failed")
	define(g, &o.maxShrink, "max-shrink", "PERCENT", defaultShrink, optional(pipeline.ParseShrink),
		"hold it back if a table or dataset lost more since the last one; or off")
	if defaultFailed == "" {
		g.shownDefault("max-failed-schools", "the plan's")
		g.shownDefault("max-shrink", "the plan's")
	}
}
