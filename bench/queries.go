package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"example.org/growthexport/bench/pages"
)

// queried is the output of queries.py.
type queried struct {
	Queries []struct {
		Reader string               `json:"reader"`
		Title  string               `json:"title"`
		Millis map[string][]float64 `json:"ms"` // CPU time, by build
	} `json:"queries"`
	Bytes map[string]int64 `json:"bytes"`
}

// compareQueries exports the same results with this build and, if -base is set, with the other build. It then times
// queries on the files of both.
func compareQueries(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	world := pages.Options{SchoolSize: schoolSize}
	flags := flag.NewFlagSet("queries", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&world.Results, "results", 800_000, "number of results in a snapshot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	if s.python == "" {
		return errors.New("queries need -python")
	}
	return s.report(ctx, "queries", stdout, func(b *strings.Builder) error {
		names, err := s.exportForQueries(ctx, world, stderr)
		if err != nil {
			return err
		}
		command := []string{"-B", filepath.Join(s.scripts, "queries.py"), "--turns", strconv.Itoa(s.turns)}
		for _, name := range names {
			command = append(command, name+"="+s.dest("query-"+name))
		}
		out, err := exec.CommandContext(ctx, s.python, command...).Output()
		if err != nil {
			return fmt.Errorf("query the files: %w", failure(err))
		}
		var q queried
		if err := json.Unmarshal(out, &q); err != nil {
			return fmt.Errorf("query the files: %w", err)
		}
		fmt.Fprintf(b, "%d results in a snapshot. ", world.Results)
		q.write(b, names)
		return nil
	})
}

// exportForQueries exports a world with each build, and returns the names of the builds.
func (s *settings) exportForQueries(ctx context.Context, world pages.Options, stderr io.Writer) (names []string, err error) {
	service, err := startService(ctx, s.self, world, "", false, 0, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	for _, c := range contestants(s.programs) {
		if c.name != "growth-export" && c.name != "base" {
			continue
		}
		t := task{url: service.URL, dest: s.dest("query-" + c.name), concurrency: s.concurrency}
		if _, err := measure(ctx, c.command(t), s.env, t.dest); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		names = append(names, c.name)
	}
	return names, nil
}
