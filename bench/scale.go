package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// The numbers of schools and results of the nation in docs/SCALE.md.
const (
	nationSchools = 13_000
	nationResults = 40_000_000
)

// nation is a simulated service with part of a nation, and the costs of exporting it.
type nation struct {
	settings

	part    int // the measured fraction of the nation: 10 means a tenth
	latency time.Duration
	shards  int
	atOnce  int // shards that run at the same time
	rate    int // requests per second of all shards together
	service simulated
	steps   []step
}

// step is a command, or several commands that run at the same time.
type step struct {
	title    string
	commands [][]string
	cost     cost // CPU of all processes, and peak of the largest process
}

// exported holds counts from the manifest of a snapshot.
type exported struct {
	Requests struct {
		Total int64 `json:"total"`
	} `json:"requests"`
	Tables map[string]struct {
		Rows  int64 `json:"rows"`
		Files []struct {
			Bytes int64 `json:"bytes"`
		} `json:"files"`
	} `json:"tables"`
	Comparison struct {
		Tables map[string]struct {
			Changed int64 `json:"changed"`
			Removed int64 `json:"removed"`
		} `json:"tables"`
	} `json:"comparison"`
}

// measureScale exports two nights of a large service, the first one also with several processes. It prints the cost of
// each step, both as measured and as calculated for the nation.
func measureScale(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	n := nation{settings: settings{env: env}}
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n.define(flags)
	flags.IntVar(&n.part, "part", 10, "the fraction of the nation to measure: 10 is a tenth")
	flags.DurationVar(&n.latency, "latency", 300*time.Millisecond, "delay of each answer")
	flags.IntVar(&n.shards, "shards", 32, "shards of the first night")
	flags.IntVar(&n.atOnce, "shards-at-once", 8, "shards that run at the same time")
	flags.IntVar(&n.rate, "rate", 100, "requests per second of all shards together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if n.part < 1 || n.shards < 1 || n.atOnce < 1 {
		return errors.New("-part, -shards and -shards-at-once must be at least 1")
	}
	if err := n.resolve(); err != nil {
		return err
	}
	var err error
	if n.service, err = n.simulated(ctx, nationSchools/n.part, nationResults/n.part, n.latency); err != nil {
		return err
	}
	return n.report(ctx, "scale", stdout, func(b *strings.Builder) error {
		one, sharded := n.dest("scale"), n.dest("scale-sharded")
		first, second, err := n.nights(ctx, one, sharded, stderr)
		if err == nil {
			n.write(b, first, second)
		}
		return errors.Join(err, os.RemoveAll(one), os.RemoveAll(sharded))
	})
}

// nights runs all steps and returns the counts of the two snapshots.
func (n *nation) nights(ctx context.Context, one, sharded string, stderr io.Writer) (first, second *exported, err error) {
	if err := errors.Join(emptyFolder(one), emptyFolder(sharded)); err != nil {
		return nil, nil, err
	}
	export := func(dest string, day time.Time, more ...string) []string {
		return append([]string{"run", "--dest", dest, "--snapshot-date", day.Format(time.DateOnly), "--backdate"}, more...)
	}
	days := []time.Time{firstNight.AddDate(0, 0, 14), firstNight.AddDate(0, 0, 15)}
	fold := []string{"history", "--dest", one}
	err = n.service.serve(ctx, days[0], func(ctx context.Context, env []string) error {
		n.env = env
		if err := n.measureStep(ctx, stderr, "first night", export(one, days[0], "--concurrency", "16", "--delta-lake")); err != nil {
			return err
		}
		shards := make([][]string, n.shards)
		for i := range shards {
			shards[i] = export(sharded, days[0], "--run-id", "night", "--shard", fmt.Sprintf("%d/%d", i, n.shards),
				"--rate-total", strconv.Itoa(n.rate), "--shards-at-once", strconv.Itoa(n.atOnce))
		}
		title := fmt.Sprintf("first night, %d shards, %d at a time", n.shards, n.atOnce)
		if err := n.measureStep(ctx, stderr, title, shards...); err != nil {
			return err
		}
		return n.measureStep(ctx, stderr, "publish the shards", []string{"publish", "--dest", sharded, "--run-id", "night"})
	})
	if err != nil {
		return nil, nil, err
	}
	if first, err = equalRows(one, sharded); err != nil {
		return nil, nil, err
	}
	if err := n.measureStep(ctx, stderr, "history of the first night", fold); err != nil {
		return nil, nil, err
	}
	err = n.service.serve(ctx, days[1], func(ctx context.Context, env []string) error {
		n.env = env
		return n.measureStep(ctx, stderr, "second night, compared with the first", export(one, days[1], "--concurrency", "16", "--delta-lake"))
	})
	if err != nil {
		return nil, nil, err
	}
	if err := n.measureStep(ctx, stderr, "history of the second night", fold); err != nil {
		return nil, nil, err
	}
	if err := n.measureStep(ctx, stderr, "verify the second night", []string{"verify", "--dest", one}); err != nil {
		return nil, nil, err
	}
	second, err = newestSnapshot(one)
	return first, second, err
}

// measureStep runs the commands of a step, at most atOnce of them at a time, and records the step's cost.
func (n *nation) measureStep(ctx context.Context, stderr io.Writer, title string, commands ...[]string) error {
	costs := make([]cost, len(commands))
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(n.atOnce)
	for i, command := range commands {
		group.Go(func() (err error) {
			costs[i], err = timed(ctx, append([]string{n.build}, command...), n.env)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s := step{title: title, commands: commands}
	for _, c := range costs {
		s.cost.cpu += c.cpu
		s.cost.peak = max(s.cost.peak, c.peak)
	}
	s.cost.wall = time.Since(start)
	n.steps = append(n.steps, s)
	fmt.Fprintf(stderr, "%s: %s, %.0f s of CPU, %.0f MB\n", title, s.cost.wall.Round(time.Second), s.cost.cpu.Seconds(), s.cost.peakMB())
	return nil
}

// equalRows checks that the newest snapshots of two destinations have the same number of rows in each table, and
// returns the counts of the first snapshot. The files are not compared, because shards write smaller files.
func equalRows(one, other string) (*exported, error) {
	a, err := newestSnapshot(one)
	if err != nil {
		return nil, err
	}
	b, err := newestSnapshot(other)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(a.Tables)) {
		if a.Tables[name].Rows != b.Tables[name].Rows {
			return nil, fmt.Errorf("table %s: the shards wrote %d rows, but the single process wrote %d", name, b.Tables[name].Rows, a.Tables[name].Rows)
		}
	}
	return a, nil
}

// newestSnapshot reads the manifest of the newest snapshot.
func newestSnapshot(dest string) (*exported, error) {
	pointers, err := filepath.Glob(filepath.Join(dest, "_snapshots", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(pointers) == 0 {
		return nil, fmt.Errorf("%s has no snapshot", dest)
	}
	e := new(exported)
	return e, readManifest(dest, slices.Max(pointers), e)
}

// readManifest reads the manifest to which a pointer of a destination refers.
func readManifest(dest, pointer string, to any) error {
	var named struct {
		Manifest string `json:"manifest"`
	}
	if err := readJSON(pointer, &named); err != nil {
		return err
	}
	return readJSON(filepath.Join(dest, filepath.FromSlash(named.Manifest)), to)
}

func readJSON(path string, to any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, to)
}

// write writes the tables and the commands.
func (n *nation) write(b *strings.Builder, first, second *exported) {
	fmt.Fprintf(b, "A simulated service with %d schools and %d results, 1/%d of the nation, delays each answer by %s. "+
		"The values for the nation are %d times the measured ones.\n\n", nationSchools/n.part, nationResults/n.part, n.part, n.latency, n.part)
	b.WriteString("| step | wall | CPU | peak of a process, MB | nation, wall | nation, CPU |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range n.steps {
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %s | %s |\n", s.title, rounded(s.cost.wall), rounded(s.cost.cpu), s.cost.peakMB(),
			rounded(s.cost.wall*time.Duration(n.part)), rounded(s.cost.cpu*time.Duration(n.part)))
	}
	b.WriteString("\n| snapshot | requests | rows | files | MB | nation, requests | nation, rows | nation, GB |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, e := range []*exported{first, second} {
		var rows, bytes int64
		files := 0
		for _, table := range e.Tables {
			rows, files = rows+table.Rows, files+len(table.Files)
			for _, file := range table.Files {
				bytes += file.Bytes
			}
		}
		times := int64(n.part)
		fmt.Fprintf(b, "| %s | %d | %d | %d | %.0f | %d | %d | %.1f |\n", []string{"first", "second"}[i], e.Requests.Total, rows, files,
			float64(bytes)/1e6, e.Requests.Total*times, rows*times, float64(bytes*times)/1e9)
	}
	b.WriteString("\nThe commands:\n\n```sh\n")
	for _, s := range n.steps {
		arguments := strings.Join(s.commands[0], " ")
		if len(s.commands) > 1 {
			arguments += fmt.Sprintf("   # and so on, to %d/%d", len(s.commands)-1, len(s.commands))
		}
		b.WriteString("growth-export " + strings.ReplaceAll(arguments, filepath.Join(n.work, "exports")+"/", "") + "\n")
	}
	b.WriteString("```\n")
}

// rounded returns a duration as text, rounded to tenths of a second below ten seconds, to seconds below ten minutes,
// and to minutes otherwise.
func rounded(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(time.Second / 10).String()
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
