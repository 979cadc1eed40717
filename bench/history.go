package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nights is a scenario: snapshots of consecutive days of the simulated service.
type nights struct {
	results, count int
	alone          bool // only growth-export keeps their history
	folder         string
	dates          []string
}

// firstNight is in the fall testing window.
var firstNight = time.Date(2025, time.September, 1, 0, 0, 0, 0, time.UTC)

// historian is a program that keeps a history. It runs once a night.
type historian struct {
	name, title, omits string
	python             bool
	command            func(date string) []string
	// size returns the size of the history in bytes.
	size func() (int64, error)
}

// kept holds the measurements of a historian in one turn: a cost for each night, and the size of the history after the
// last night.
type kept struct {
	nights []cost
	bytes  int64
}

// compareHistories runs the historians of each scenario in turns on the same snapshots, checks that they kept the same
// versions of test results, and prints tables. Unless -results is set, it also runs the scenarios of besideExport.
func compareHistories(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := settings{env: env}
	one := nights{}
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&one.results, "results", 0, "number of results in a snapshot; 0 means the scenarios of docs/BENCHMARKS.md")
	flags.IntVar(&one.count, "nights", 30, "number of snapshots, at least 2")
	flags.BoolVar(&one.alone, "alone", false, "run only growth-export, in one turn")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	scenarios := []nights{{results: 50_000, count: 30}, {results: 20_000, count: 365, alone: true}}
	if one.results > 0 {
		scenarios = []nights{one}
	}
	return s.report(ctx, "history", stdout, func(b *strings.Builder) error {
		for i := range scenarios {
			if err := s.playNights(ctx, &scenarios[i], b, stderr); err != nil {
				return err
			}
		}
		if one.results == 0 {
			if err := s.besideExport(ctx, b, stderr); err != nil {
				return err
			}
		}
		all := s.historians(&scenarios[0])
		contestants := make([]contestant, len(all))
		for i, h := range all {
			contestants[i] = contestant{name: h.name, title: h.title, omits: h.omits}
		}
		writeContestants(b, contestants)
		return nil
	})
}

// playNights runs the historians of a scenario in turns and writes a table of the results.
func (s *settings) playNights(ctx context.Context, n *nights, b *strings.Builder, stderr io.Writer) error {
	if n.count < 2 {
		return fmt.Errorf("-nights %d: must be at least 2", n.count)
	}
	n.folder = filepath.Join(s.work, fmt.Sprintf("nights-%d", n.results))
	for i := range n.count {
		n.dates = append(n.dates, firstNight.AddDate(0, 0, i).Format(time.DateOnly))
	}
	if err := s.exportNights(ctx, n, stderr); err != nil {
		return err
	}
	all, turns := s.historians(n), s.turns
	if n.alone {
		all, turns = all[:1], 1
	}
	outcomes := make([][]kept, len(all))
	for turn := range turns {
		for i := range all {
			k, err := s.keep(ctx, n, &all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			outcomes[i] = append(outcomes[i], k)
			fmt.Fprintf(stderr, "  turn %d  %-14s %6.0f ms of CPU a night, %6.1f MB\n", turn+1, all[i].name,
				over(k.nights[1:], millis).median, float64(k.bytes)/1e6)
		}
	}
	if err := s.compareKept(ctx, all, stderr); err != nil {
		return err
	}
	return n.write(b, all, outcomes, s.dest("history-"+all[0].name))
}

func millis(c cost) float64 { return float64(c.cpu.Microseconds()) / 1000 }

// exportNights takes the snapshots that do not exist yet.
func (s *settings) exportNights(ctx context.Context, n *nights, stderr io.Writer) error {
	fmt.Fprintf(stderr, "%d nights of %d results\n", len(n.dates), n.results)
	for _, date := range n.dates {
		if _, err := os.Stat(filepath.Join(n.folder, "_snapshots", date+".json")); err == nil {
			continue
		}
		command := []string{
			s.build, "run", "--simulate", "--simulate-date", date, "--simulate-schools", strconv.Itoa(max(12, n.results/1000)),
			"--simulate-results", strconv.Itoa(n.results), "--datasets", "students,test_results", "--dest", n.folder,
			"--snapshot-date", date, "--backdate", "--progress", "none", "--log-level", "error",
		}
		if _, err := timed(ctx, command, s.env); err != nil {
			return err
		}
	}
	return nil
}

// historians returns all historians whose programs are given, growth-export first.
func (s *settings) historians(n *nights) []historian {
	script := func(name, dest string) func(string) []string {
		return func(date string) []string {
			return []string{s.python, "-B", filepath.Join(s.scripts, name), n.folder, date, dest}
		}
	}
	ours, duckDB, dlt := s.dest("history-growth-export"), s.dest("history-duckdb"), s.dest("history-dlt")
	all := []historian{
		{
			name: "growth-export", title: "growth-export history, into Parquet files", omits: "nothing",
			command: func(string) []string { return []string{s.build, "history", "--dest", ours} },
			size:    func() (int64, error) { return parquetBytes(filepath.Join(ours, "history")) },
		},
		{
			name: "duckdb", title: "DuckDB: anti-joins of all columns, into Parquet files", python: true,
			omits:   "schools that were not read, reasons, the order of lists, sorting, manifest, atomic publishing",
			command: script("fold_duckdb.py", duckDB),
			size:    func() (int64, error) { return parquetBytes(duckDB) },
		},
		{
			name: "dlt", title: "dlt: merge strategy scd2, into DuckDB", python: true,
			omits:   "schools that were not read, reasons, the order of lists; compares hashes",
			command: script("fold_dlt.py", dlt),
			size: func() (int64, error) {
				info, err := os.Stat(filepath.Join(dlt, "history.duckdb"))
				if err != nil {
					return 0, err
				}
				return info.Size(), nil
			},
		},
	}
	return slices.DeleteFunc(all, func(h historian) bool { return h.python && s.python == "" })
}

// keep runs a historian for each night, one after the other, so that each night is the newest when it is folded. It
// returns the measurements.
func (s *settings) keep(ctx context.Context, n *nights, h *historian) (kept, error) {
	dest := s.dest("history-" + h.name)
	if err := emptyFolder(dest); err != nil {
		return kept{}, err
	}
	if !h.python {
		if err := linkFiles(n.folder, dest, "_snapshots", "_latest"); err != nil { // one pointer is linked each night
			return kept{}, err
		}
	}
	var k kept
	for _, date := range n.dates {
		if !h.python {
			if err := linkFile(n.folder, dest, filepath.Join("_snapshots", date+".json")); err != nil {
				return k, err
			}
		}
		c, err := timed(ctx, h.command(date), s.env)
		if err != nil {
			return k, err
		}
		k.nights = append(k.nights, c)
	}
	var err error
	k.bytes, err = h.size()
	return k, err
}

// linkFiles links the files of a destination into another destination, except files whose paths begin with an element
// of omit.
func linkFiles(from, to string, omit ...string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || slices.ContainsFunc(omit, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return err
		}
		return linkFile(from, to, name)
	})
}

func linkFile(from, to, name string) error {
	target := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	return os.Link(filepath.Join(from, name), target)
}

// compareKept checks that all histories have the same versions of test results. Without -python, it does not check
// anything.
func (s *settings) compareKept(ctx context.Context, all []historian, stderr io.Writer) error {
	if s.python == "" {
		fmt.Fprintln(stderr, "histories are not compared: this needs -python")
		return nil
	}
	first := ""
	for i := range all {
		name := all[i].name
		script := filepath.Join(s.scripts, "check_history.py")
		out, err := exec.CommandContext(ctx, s.python, "-B", script, "--dest", s.dest("history-"+name)).Output()
		switch {
		case err != nil:
			return fmt.Errorf("check the history of %s: %w", name, failure(err))
		case first == "":
			first = string(out)
		case string(out) != first:
			return fmt.Errorf("the history of %s has %s, but the history of %s has %s", name, out, all[0].name, first)
		}
	}
	fmt.Fprintf(stderr, "  all %d kept the same versions of test results: %s", len(all), first)
	return nil
}

// write writes a table of the historians. CPU ratios are relative to the first historian, whose history is in dest.
func (n *nights) write(b *strings.Builder, all []historian, turns [][]kept, dest string) error {
	one, err := snapshotBytes(n.folder, n.dates[len(n.dates)-1])
	if err != nil {
		return err
	}
	if one == 0 {
		return errors.New("the last snapshot has no files")
	}
	fmt.Fprintf(b, "### %d nights of %d results\n\n%s to %s. The last snapshot has %.1f MB.\n\n", len(n.dates), n.results, n.dates[0],
		n.dates[len(n.dates)-1], float64(one)/1e6)
	b.WriteString("| contestant | CPU, ms a night | CPU, ratio | first night | wall, s a night | peak, MB | size, MB | in snapshots | turns |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	ours := 0.0
	for i := range all {
		var first, later, whole []cost
		for _, k := range turns[i] {
			first, later = append(first, k.nights[0]), append(later, k.nights[1:]...)
			whole = append(whole, cost{bytes: k.bytes})
		}
		cpu := over(later, millis)
		if i == 0 {
			ours = cpu.median
		}
		size := over(whole, func(c cost) float64 { return float64(c.bytes) }).median
		fmt.Fprintf(b, "| %s | %s | %.2f | %.0f | %.2f | %.0f | %.1f | %.2f | %d |\n", all[i].name, cpu.whole(), cpu.median/ours,
			over(first, millis).median, over(later, func(c cost) float64 { return c.wall.Seconds() }).median,
			over(later, cost.peakMB).greatest, size/1e6, size/float64(one), len(turns[i]))
	}
	b.WriteString("\n")
	if n.alone {
		return writeYear(b, dest, one)
	}
	return nil
}

// snapshotBytes returns the size of the files of a snapshot.
func snapshotBytes(folder, date string) (sum int64, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "snapshot_date="+date, "*.parquet"))
	for _, file := range files {
		info, failed := os.Stat(file)
		if failed != nil {
			return 0, failed
		}
		sum += info.Size()
	}
	return sum, err
}
