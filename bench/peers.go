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

// scenario is a service and who exports it.
type scenario struct {
	world       pages.Options
	gzip        bool
	latency     time.Duration
	contestants []string // names; empty means all
}

// outcome is what a contestant took in each of its turns.
type outcome struct {
	contestant

	costs []cost
}

// comparePeers runs all contestants in turns, checks that they wrote the same rows, and prints a table.
func comparePeers(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	one := scenario{world: pages.Options{SchoolSize: 2000}}
	var names string
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&one.world.Results, "results", 200_000, "results to export")
	flags.BoolVar(&one.gzip, "gzip", false, "the service compresses its answers")
	flags.DurationVar(&one.latency, "latency", 0, "delay of every answer")
	flags.StringVar(&names, "contestants", "", "comma-separated names; empty means all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	if names != "" {
		one.contestants = strings.Split(names, ",")
	}
	outcomes, err := s.play(ctx, one, stderr)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, peersTable(one, outcomes))
	return err
}

// play runs the contestants of a scenario in turns.
func (s *settings) play(ctx context.Context, sc scenario, stderr io.Writer) (outcomes []outcome, err error) {
	for _, c := range contestants(s.programs) {
		if sc.admits(&c) {
			outcomes = append(outcomes, outcome{contestant: c})
		}
	}
	if len(outcomes) == 0 {
		return nil, fmt.Errorf("no contestants among %v", sc.contestants)
	}
	folder := filepath.Join(s.work, "pages", sc.world.String())
	service, err := startService(ctx, s.self, sc.world, folder, sc.gzip, sc.latency, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.stop()) }()

	for turn := range s.turns {
		for i := range outcomes {
			o := &outcomes[i]
			if o.turns > 0 && turn >= o.turns {
				continue
			}
			t := task{
				url: service.URL, pages: folder, dest: s.dest(o.name), concurrency: s.concurrency, gzip: sc.gzip,
			}
			c, err := measure(ctx, o.command(t), s.env, t.dest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
			o.costs = append(o.costs, c)
			fmt.Fprintf(stderr, "turn %d  %-14s %6.2f us a result, %6.2f s, %4d MB\n",
				turn+1, o.name, sc.perResult(c), c.wall.Seconds(), c.peak/1e6)
		}
	}
	return outcomes, s.compareRows(ctx, outcomes, service.Totals, stderr)
}

// admits reports whether a contestant takes part.
func (sc *scenario) admits(c *contestant) bool {
	switch {
	case len(sc.contestants) > 0:
		return slices.Contains(sc.contestants, c.name)
	case c.results > 0 && sc.world.Results > c.results:
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

// compareRows checks that all contestants wrote the same rows, and as many as the service has.
func (s *settings) compareRows(ctx context.Context, outcomes []outcome, served pages.Totals, stderr io.Writer) error {
	if s.python == "" {
		fmt.Fprintln(stderr, "rows are not compared: this needs -python")
		return nil
	}
	encoded, err := json.Marshal(served)
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
	fmt.Fprintf(stderr, "all %d wrote the same rows: %d counts and sums\n", len(outcomes), len(first))
	return nil
}

// failure adds what a process printed to its error.
func failure(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}
