package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
)

// simulatePrefix begins the names of the simulated service's flags. The simulate command also accepts the names without
// this prefix.
const simulatePrefix = "simulate-"

// simulatedDate is the name of the flag that sets the day of the simulated service.
const simulatedDate = simulatePrefix + "date"

// simulation holds the settings of the simulated service.
type simulation struct {
	world   simulator.Options
	date    time.Time
	seed    int64
	quirks  bool
	sizes   []string
	latency time.Duration
	faults  float64
	failing int
	denied  int
	// deniedAll is the number of schools for which every request is denied.
	deniedAll int
	breaks    []string
}

func (o *simulation) define(cmd *cobra.Command) {
	g := group{cmd.Flags(), simulationGroup}
	define(g, &o.seed, simulatePrefix+"seed", "N", "0", between[int64](0, math.MaxInt64), "seed of all names, identifiers and scores")
	define(g, &o.date, simulatedDate, "DATE", "", parseSimulatedDate,
		"day on which the service is read; results, students and schools change from day to day")
	g.shownDefault(simulatedDate, "the snapshot's date, or today")
	define(g, &o.world.Districts, simulatePrefix+"districts", "N", "3", between(1, 1000), "number of districts")
	define(g, &o.world.Schools, simulatePrefix+"schools", "N", "12", parseSchools, "number of schools")
	define(g, &o.world.Results, simulatePrefix+"results", "N", "15000", between(1, 100_000_000), "approximate number of test results in all")
	g.list(&o.sizes, simulatePrefix+"sizes", o.parseSizes, "results in each of the first schools; 2000x300 means 300 schools with 2000")
	g.shownDefault(simulatePrefix+"sizes", "0,1,999,1000,1001")
	define(g, &o.latency, simulatePrefix+"latency", "TIME", "0", parseWait, "delay of every answer")
	define(g, &o.faults, simulatePrefix+"faults", "SHARE", "0", parseShare, "share of requests that fail with a transient fault; all kinds of faults occur")
	g.toggle(&o.quirks, simulatePrefix+"quirks", "send odd values, names and members, such as the live service sends, and others")
	define(g, &o.failing, simulatePrefix+"failing", "N", "0", between(0, math.MaxInt), "schools whose test results always return 500")
	define(g, &o.denied, simulatePrefix+"denied", "N", "0", between(0, math.MaxInt), "further schools whose test results return 403")
	define(g, &o.deniedAll, simulatePrefix+"denied-all", "N", "0", between(0, math.MaxInt), "further schools for which every request returns 403")
	g.list(&o.breaks, simulatePrefix+"break", parseBreaks,
		"rules of the service to break: names of checks, or all; list_moves changes lists during the first reading")
	g.shownDefault(simulatePrefix+"break", "none")
}

// listMoves is a value of --simulate-break that selects a fault, not a broken rule: the second reading of a list is
// consistent.
const listMoves = "list_moves"

// parseBreaks returns the rules to break. The word "all" selects every rule, but not list_moves.
func parseBreaks(words []string) ([]string, error) {
	known := append(simulator.Rules(), listMoves)
	var breaks []string
	for _, word := range words {
		switch {
		case word == "all":
			breaks = append(breaks, simulator.Rules()...)
		case slices.Contains(known, word):
			breaks = append(breaks, word)
		default:
			return nil, fmt.Errorf("unknown rule %s: use all, or one or more of %s", quoted(word), strings.Join(known, ", "))
		}
	}
	return breaks, nil
}

// parseSimulatedDate parses a date in the years for which the service can be simulated.
func parseSimulatedDate(text string) (time.Time, error) {
	if _, err := parseDate(text); err != nil {
		return time.Time{}, err
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 2010 || day.Year() > 2099 {
		return time.Time{}, fmt.Errorf("%s is not between 2010-01-01 and 2099-12-31", quoted(text))
	}
	return day, nil
}

// parseSchools parses a number of schools. In simulator.Options, 0 means the default and -1 means zero.
func parseSchools(text string) (int, error) {
	n, err := between(0, 100_000)(text)
	if err == nil && n == 0 {
		n = -1
	}
	return n, err
}

// parseSizes parses numbers, and repeated numbers such as 2000x300, into the sizes of schools. It returns words
// unchanged.
func (o *simulation) parseSizes(words []string) ([]string, error) {
	o.world.SchoolSizes = nil
	for _, word := range words {
		left, right, repeated := strings.Cut(word, "x")
		if !repeated {
			right = "1"
		}
		size, err := between(0, 1_000_000)(left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted(word), err)
		}
		times, err := between(1, 100_000)(right)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted(word), err)
		}
		o.world.SchoolSizes = append(o.world.SchoolSizes, slices.Repeat([]int{size}, times)...)
	}
	return words, nil
}

// day returns the date in the settings, or the argument if no date is set.
func (o *simulation) day(fallback time.Time) time.Time {
	if o.date.IsZero() {
		return fallback
	}
	return o.date
}

// serve serves the simulated service until ctx ends or stop is called. The service is simulated for the date in the
// settings, or for day if no date is set.
func (o *simulation) serve(ctx context.Context, addr string, day time.Time) (baseURL string, stop func(), err error) {
	o.world.Seed, o.world.AsOf, o.world.Break = uint64(o.seed), o.day(day).UTC(), o.breaks
	o.world.Schools = max(o.world.Schools, len(o.world.SchoolSizes))
	if o.quirks {
		o.world.Quirks = odd.New()
	}
	world := simulator.NewWorld(o.world)
	var faults []simulator.Fault
	for i := range min(o.failing+o.denied+o.deniedAll, world.Listed()) {
		fault := simulator.Fault{Operation: "test_results", School: world.SchoolBid(i), Kind: simulator.FaultStatus, Status: http.StatusForbidden}
		switch {
		case i < o.failing:
			fault.Status = http.StatusInternalServerError
		case i >= o.failing+o.denied:
			fault.Operation = ""
		}
		faults = append(faults, fault)
	}
	if slices.Contains(o.breaks, listMoves) {
		faults = append(faults, simulator.Fault{Operation: "test_results", ToTry: 1, Kind: simulator.FaultListMoves})
	}
	if o.faults > 0 {
		faults = append(faults, simulator.TransientFaults(o.faults, 0)...)
	}
	return simulator.Start(ctx, simulator.New(world, simulator.ServerOptions{Latency: o.latency, Faults: faults}), addr)
}

// simulatedDay returns the day for which the service is simulated by default: the date of the snapshot if it is set, or
// today.
func (o *selection) simulatedDay(now time.Time) time.Time {
	if day, err := time.Parse(time.DateOnly, o.snapshotDate); err == nil {
		return day
	}
	return now
}

// embed serves the simulated service to this process until ctx ends or stop is called.
func (o *simulation) embed(ctx context.Context, now time.Time) (baseURL *url.URL, stop func(), err error) {
	address, stop, err := o.serve(ctx, "", now)
	if err != nil {
		return nil, nil, err
	}
	if baseURL, err = url.Parse(address); err != nil {
		stop()
		return nil, nil, fmt.Errorf("read the address of the simulated service: %w", err)
	}
	return baseURL, stop, nil
}

// simulatedCredentials returns the credentials of the simulated service.
func simulatedCredentials() extract.Credentials {
	return extract.Credentials{APIKey: simulator.DefaultKey, APISecret: simulator.DefaultSecret}
}

func (a *app) simulateCommand() *cobra.Command {
	o := &simulation{}
	var addr, config string
	var cmd *cobra.Command
	work := func(ctx context.Context, o *simulation, _ sources) error {
		if cmd.Flags().NArg() > 0 {
			return simulator.WriteNorms(a.stdout)
		}
		return a.serveSimulation(ctx, o, addr)
	}
	common := "addr simulate-schools simulate-results simulate-faults config"
	cmd = newCommand(a, o, work, common, &cobra.Command{
		Use:   "simulate [norms]",
		Short: "Serves a simulated service, with faults on demand",
		Long: "Serves a simulated service on a loopback port until it is interrupted, and prints\n" +
			"the variables that other commands need to use it: write them to a file, and read this\n" +
			"file in another terminal, as below. The prefix simulate- of the flags is optional here:\n" +
			"--seed 7 is --simulate-seed 7. simulate norms prints a made-up table of growth norms\n" +
			"that fits the simulated scores, for sql --norms.",
		Example: "  growth-export simulate --schools 40 --faults 0.15 > service.env\n" +
			"  . ./service.env && growth-export run --dest demo      (in another terminal)\n" +
			"  growth-export simulate norms > norms.csv",
		ValidArgs: []cobra.Completion{"norms"},
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && !slices.Equal(args, []string{"norms"}) {
			return usagef("simulate takes no argument except norms, which prints made-up growth norms; see growth-export simulate --help")
		}
		return nil
	}
	define(group{cmd.Flags(), serviceGroup}, &addr, "addr", "HOST:PORT", "127.0.0.1:0", parseLoopback,
		"loopback address to serve on; port 0 picks a free port")
	o.define(cmd)
	define(group{cmd.Flags(), generalGroup}, &config, "config", "FILE", "", parsePath, "YAML file of settings, named like the flags")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "date", "seed", "districts", "schools", "results", "sizes", "latency", "faults", "quirks", "failing", "denied", "denied-all", "break":
			name = simulatePrefix + name
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

func (a *app) serveSimulation(ctx context.Context, o *simulation, addr string) error {
	baseURL, stop, err := o.serve(ctx, addr, a.now())
	if err != nil {
		return usagef("--addr: %w; port 0 picks a free port", err)
	}
	defer stop()
	c := simulatedCredentials()
	fmt.Fprintf(a.stdout, "export %s=%s\nexport %s=%s\nexport %s=%s\n",
		envName("base-url"), baseURL, apiKeyVariable, c.APIKey, apiSecretVariable, c.APISecret)
	how := "paste the three lines above"
	if !isTerminal(a.stdout) {
		how = "read the variables on stdout from the file to which they were written (. ./FILE)"
	}
	fmt.Fprintf(a.stderr, "growth-export: serving until interrupted; the credentials work only for this service\n"+
		"To use it, %s in another terminal, then run growth-export doctor, plan or run there.\n", how)
	<-ctx.Done()
	return nil
}

// parseLoopback parses an address that only this machine can reach.
func parseLoopback(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	ip := net.ParseIP(host)
	n, portErr := strconv.Atoi(port)
	switch {
	case err != nil || portErr != nil || n < 0 || n > 65535:
		return "", fmt.Errorf("%s is not an address such as 127.0.0.1:8080", quoted(text))
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return "", fmt.Errorf("%s is not a loopback address: use 127.0.0.1:PORT", quoted(text))
	}
	return text, nil
}
