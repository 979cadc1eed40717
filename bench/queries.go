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
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/bench/pages"
)

// queried is what queries.py prints.
type queried struct {
	Queries []struct {
		Reader string               `json:"reader"`
		Title  string               `json:"title"`
		Millis map[string][]float64 `json:"ms"` // of CPU, by build
	} `json:"queries"`
	Bytes map[string]int64 `json:"bytes"`
}

// compareQueries exports the same results with both builds, and times queries on their files.
func compareQueries(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	world := pages.Options{SchoolSize: 2000}
	flags := flag.NewFlagSet("queries", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&world.Results, "results", 800_000, "results in a snapshot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	if s.python == "" {
		return errors.New("queries need -python")
	}
	section, err := s.queryFiles(ctx, world, stderr)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, section)
	return err
}

// queryFiles returns a table of the CPU time of queries on the files of each build.
func (s *settings) queryFiles(ctx context.Context, world pages.Options, stderr io.Writer) (string, error) {
	names, err := s.exportForQueries(ctx, world, stderr)
	if err != nil {
		return "", err
	}
	command := []string{"-B", filepath.Join(s.scripts, "queries.py"), "--turns", strconv.Itoa(s.turns)}
	for _, name := range names {
		command = append(command, name+"="+s.dest("query-"+name))
	}
	out, err := exec.CommandContext(ctx, s.python, command...).Output()
	if err != nil {
		return "", fmt.Errorf("query the files: %w", failure(err))
	}
	var q queried
	if err := json.Unmarshal(out, &q); err != nil {
		return "", fmt.Errorf("query the files: %w", err)
	}
	return q.table(names), nil
}

// exportForQueries exports a world with each build, and returns the builds' names.
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

// table returns the medians, and how the first build compares with each other one.
func (q *queried) table(names []string) string {
	var b strings.Builder
	b.WriteString("| reader | query")
	for _, name := range names {
		b.WriteString(" | " + name)
	}
	if len(names) > 1 {
		b.WriteString(" | base is slower by")
	}
	b.WriteString(" |\n|---|---" + strings.Repeat("|---", len(names)))
	if len(names) > 1 {
		b.WriteString("|---")
	}
	b.WriteString("|\n")
	for _, query := range q.Queries {
		fmt.Fprintf(&b, "| %s | %s", query.Reader, query.Title)
		medians := make([]float64, len(names))
		for i, name := range names {
			s := spreadOf(slices.Clone(query.Millis[name]))
			medians[i] = s.median
			fmt.Fprintf(&b, " | %s", s)
		}
		if len(names) > 1 {
			fmt.Fprintf(&b, " | %.2fx", medians[1]/medians[0])
		}
		b.WriteString(" |\n")
	}
	b.WriteString("| | size of all files, MB")
	for _, name := range names {
		fmt.Fprintf(&b, " | %.2f", float64(q.Bytes[name])/1e6)
	}
	if len(names) > 1 {
		fmt.Fprintf(&b, " | %.3fx", float64(q.Bytes[names[1]])/float64(q.Bytes[names[0]]))
	}
	b.WriteString(" |\n")
	return b.String()
}
