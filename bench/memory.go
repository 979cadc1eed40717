package main

import (
	"context"
	"flag"
	"io"
	"strings"

	"example.org/growthexport/bench/pages"
)

// documentedMemory returns the scenarios of docs/BENCHMARKS.md.
func documentedMemory(turns int) []scenario {
	world := func(results, huge int) pages.Options {
		return pages.Options{Results: results, SchoolSize: schoolSize, Huge: huge}
	}
	return []scenario{
		{title: "200,000 results", world: world(200_000, 0), concurrency: 16, turns: turns},
		{title: "800,000 results", world: world(800_000, 0), concurrency: 16, turns: turns},
		{title: "3,200,000 results", world: world(3_200_000, 0), concurrency: 16, turns: 1},
		{title: "200,000 results", world: world(200_000, 0), concurrency: 64, turns: turns},
		{title: "400,000 results, half of them in one school", world: world(200_000, 200_000), concurrency: 8, turns: turns},
		{title: "2,020,000 results, 2,000,000 of them in one school", world: world(20_000, 2_000_000), concurrency: 8, turns: 1},
	}
}

// measureMemory exports services of several sizes with this build and, if -base is set, with the other build. It prints
// the peak memory of both.
func measureMemory(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	one := scenario{world: pages.Options{SchoolSize: schoolSize}}
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&one.world.Results, "results", 0, "results to export; 0 means the scenarios of docs/BENCHMARKS.md")
	flags.IntVar(&one.world.Huge, "huge", 0, "results of an additional, huge school; 0 means no such school")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	scenarios := documentedMemory(min(s.turns, 3))
	if one.world.Results+one.world.Huge > 0 {
		one.title = one.world.Title()
		one.concurrency, one.turns = s.concurrency, s.turns
		scenarios = []scenario{one}
	}
	return s.report(ctx, "memory", stdout, func(b *strings.Builder) error {
		outcomes := make([][]outcome, len(scenarios))
		for i, sc := range scenarios {
			sc.made, sc.contestants = true, []string{"growth-export", "base"}
			var err error
			if outcomes[i], err = s.play(ctx, sc, stderr); err != nil {
				return err
			}
		}
		writeMemory(b, scenarios, outcomes)
		return nil
	})
}
