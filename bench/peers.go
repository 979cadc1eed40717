package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/bench/pages"
)

// scenario is a service and the contestants that export it.
type scenario struct {
	title       string
	world       pages.Options
	concurrency int
	turns       int
	atMost      map[string]int // maximum turns of some contestants
	gzip        bool
	latency     time.Duration
	contestants []string // names; if empty, see admits
	made        bool     // pages are generated for each request, not kept in files
}

// outcome holds the measurements of a contestant, by turn.
type outcome struct {
	contestant

	turns int
	costs []cost
}

// documentedPeers returns the scenarios of docs/BENCHMARKS.md.
func documentedPeers(s *settings) []scenario {
	world := func(results int) pages.Options { return pages.Options{Results: results, SchoolSize: schoolSize} }
	few := map[string]int{"polars": 3, "orjson": 3, "dlt": 1}
	fewer := map[string]int{"naive": 3, "polars": 3}
	all := []scenario{
		{title: "200,000 results", world: world(200_000), atMost: few},
		{
			title: "20,000 results", world: world(20_000), atMost: few,
			contestants: []string{"growth-export", "base", "naive", "duckdb", "polars", "orjson"},
		},
		{
			title: "800,000 results", world: world(800_000), atMost: fewer,
			contestants: []string{"growth-export", "naive", "duckdb"},
		},
		{
			title: "200,000 results, compressed by the service", world: world(200_000), gzip: true, atMost: fewer,
			contestants: []string{"growth-export", "base", "naive", "polars"},
		},
		{
			title: "200,000 results, every answer delayed by 20 ms", world: world(200_000), latency: 20 * time.Millisecond,
			atMost: fewer, contestants: []string{"growth-export", "base", "naive"},
		},
	}
	for i := range all {
		all[i].concurrency, all[i].turns = s.concurrency, s.turns
	}
	return all
}

// schoolSize is the number of results of an ordinary school.
const schoolSize = 2000

// comparePeers runs the contestants of each scenario in turns, compares their rows, and prints tables.
func comparePeers(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	one := scenario{world: pages.Options{SchoolSize: schoolSize}}
	var names string
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&one.world.Results, "results", 0, "results in ordinary schools; without -results and -huge, the scenarios of docs/BENCHMARKS.md are run")
	flags.IntVar(&one.world.Huge, "huge", 0, "results in an additional, huge school; 0 means no such school")
	flags.BoolVar(&one.gzip, "gzip", false, "the service compresses its answers")
	flags.DurationVar(&one.latency, "latency", 0, "delay of every answer")
	flags.StringVar(&names, "contestants", "", "comma-separated names; by default, the contestants that each scenario includes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	scenarios := documentedPeers(&s)
	if one.world.Results+one.world.Huge > 0 {
		one.title = one.world.Title()
		one.concurrency, one.turns = s.concurrency, s.turns
		one.atMost = map[string]int{"dlt": 1}
		scenarios = []scenario{one}
	}
	if names != "" {
		for i := range scenarios {
			scenarios[i].contestants, scenarios[i].atMost = strings.Split(names, ","), nil
		}
	}
	return s.report(ctx, "peers", stdout, func(b *strings.Builder) error {
		var met []contestant
		for _, sc := range scenarios {
			outcomes, err := s.play(ctx, sc, stderr)
			if err != nil {
				return err
			}
			if err := s.compareRows(ctx, outcomes, stderr); err != nil {
				return err
			}
			writePeers(b, sc, outcomes)
			for i := range outcomes {
				if !slices.ContainsFunc(met, func(c contestant) bool { return c.name == outcomes[i].name }) {
					met = append(met, outcomes[i].contestant)
				}
			}
		}
		writeContestants(b, met)
		return nil
	})
}

// play runs the contestants of a scenario in turns, and returns their measurements.
func (s *settings) play(ctx context.Context, sc scenario, stderr io.Writer) (outcomes []outcome, err error) {
	for _, c := range contestants(s.programs) {
		if sc.admits(&c) {
			turns := sc.turns
			if most, limited := sc.atMost[c.name]; limited {
				turns = min(turns, most)
			}
			outcomes = append(outcomes, outcome{contestant: c, turns: turns})
		}
	}
	if len(outcomes) == 0 {
		return nil, fmt.Errorf("none of the contestants %v is available: check the names, and set -python or -base if they need it", sc.contestants)
	}
	folder := ""
	if !sc.made {
		folder = filepath.Join(s.work, "pages", sc.world.String())
	}
	service, err := startService(ctx, s.self, sc.world, folder, sc.gzip, sc.latency, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	s.served = service.Totals

	fmt.Fprintln(stderr, sc.title)
	for turn := range sc.turns {
		for i := range outcomes {
			o := &outcomes[i]
			if turn >= o.turns {
				continue
			}
			t := task{url: service.URL, pages: folder, dest: s.dest(o.name), concurrency: sc.concurrency}
			c, err := measure(ctx, o.command(t), s.env, t.dest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
			o.costs = append(o.costs, c)
			fmt.Fprintf(stderr, "  turn %d  %-14s %6.2f us of CPU a result, %6.2f s, %4.0f MB\n",
				turn+1, o.name, sc.perResult(c), c.wall.Seconds(), c.peakMB())
		}
	}
	return outcomes, nil
}

// admits reports whether a contestant takes part in the scenario.
func (sc *scenario) admits(c *contestant) bool {
	switch {
	case len(sc.contestants) > 0:
		return slices.Contains(sc.contestants, c.name)
	case c.named, c.results > 0 && sc.world.Results > c.results:
		return false
	case c.files && (sc.gzip || sc.latency > 0):
		return false
	default:
		return true
	}
}

func (sc *scenario) perResult(c cost) float64 {
	return float64(c.cpu.Microseconds()) / float64(sc.world.Results+sc.world.Huge)
}

func (s *settings) dest(name string) string {
	return filepath.Join(s.work, "exports", name)
}

// compareRows checks that the numbers of rows and the sums of columns that all contestants wrote are equal and match
// the totals of the service. Without -python, it does not check anything.
func (s *settings) compareRows(ctx context.Context, outcomes []outcome, stderr io.Writer) error {
	if s.python == "" {
		fmt.Fprintln(stderr, "rows are not compared: this needs -python")
		return nil
	}
	encoded, err := json.Marshal(s.served)
	if err != nil {
		return err
	}
	var want map[string]json.Number
	if err := json.Unmarshal(encoded, &want); err != nil {
		return err
	}
	var first map[string]json.Number
	for i := range outcomes {
		name := outcomes[i].name
		out, err := exec.CommandContext(ctx, s.python, "-B", filepath.Join(s.scripts, "check.py"), "--dest", s.dest(name)).Output()
		if err != nil {
			return fmt.Errorf("check the rows of %s: %w", name, failure(err))
		}
		var totals map[string]json.Number
		if err := json.Unmarshal(out, &totals); err != nil {
			return fmt.Errorf("check the rows of %s: %w", name, err)
		}
		for column, sum := range want {
			if totals[column] != sum {
				return fmt.Errorf("%s wrote %s = %q, but the service has %s", name, column, totals[column], sum)
			}
		}
		if first == nil {
			first = totals
		}
		for _, column := range slices.Sorted(maps.Keys(first)) {
			if totals[column] != first[column] {
				return fmt.Errorf("%s wrote %s = %q, but %s wrote %q", name, column, totals[column], outcomes[0].name, first[column])
			}
		}
	}
	fmt.Fprintf(stderr, "  all %d contestants wrote the same rows: %d counts and sums are equal\n", len(outcomes), len(first))
	return nil
}

// failure returns the error of a process together with its output to standard error.
func failure(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}
