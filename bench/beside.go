package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// secondNight is a scenario in which the costs of the export, the comparison and the fold of one night are measured.
type secondNight struct {
	title            string
	first            time.Time
	schools, results int
}

// documentedSecondNights are the scenarios of docs/BENCHMARKS.md. The tables of the largest one have about ten million
// rows together.
var documentedSecondNights = []secondNight{
	{"quiet", time.Date(2025, time.December, 10, 0, 0, 0, 0, time.UTC), 200, 200_000},
	{"in a testing window", time.Date(2025, time.September, 10, 0, 0, 0, 0, time.UTC), 200, 200_000},
	{"in a testing window", time.Date(2025, time.September, 10, 0, 0, 0, 0, time.UTC), 200, 400_000},
	{"in a testing window", time.Date(2025, time.September, 10, 0, 0, 0, 0, time.UTC), 460, 1_400_000},
}

// besideExport measures, in turns, the export of a night without and with the comparison, and the fold of that night.
// It writes a table with a row for each scenario.
func (s *settings) besideExport(ctx context.Context, b *strings.Builder, stderr io.Writer) error {
	b.WriteString("### Beside the export\n\nCPU in microseconds per result, medians. Another process simulates the service. " +
		"All take `students` and `test_results`.\n\n" +
		"| night | results | gone or changed | export | with the comparison | adds | fold | of the export | wall of its CPU | " +
		"peaks: export, MB | with the comparison | fold | turns |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range documentedSecondNights {
		if err := s.measureSecondNight(ctx, &documentedSecondNights[i], b, stderr); err != nil {
			return err
		}
	}
	b.WriteString("\n")
	return nil
}

func (s *settings) measureSecondNight(ctx context.Context, n *secondNight, b *strings.Builder, stderr io.Writer) (err error) {
	before, after := s.dest("beside-before"), s.dest("beside")
	defer func() { err = errors.Join(err, os.RemoveAll(before), os.RemoveAll(after)) }()
	service, err := s.simulated(ctx, n.schools, n.results, 0)
	if err != nil {
		return err
	}
	export := func(day time.Time, dest, compare string) []string {
		return []string{
			s.build, "run", "--dest", dest, "--snapshot-date", day.Format(time.DateOnly), "--backdate", "--compare", compare,
			"--datasets", "students,test_results", "--concurrency", strconv.Itoa(s.concurrency), "--progress", "none", "--log-level", "error",
		}
	}
	fold := func(dest string) []string { return []string{s.build, "history", "--dest", dest} }
	if err := emptyFolder(before); err != nil {
		return err
	}
	err = service.serve(ctx, n.first, func(ctx context.Context, env []string) error {
		_, err := timed(ctx, export(n.first, before, "off"), env)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := timed(ctx, fold(before), s.env); err != nil {
		return err
	}
	second := n.first.AddDate(0, 0, 1)
	var exports, compared, folds []cost
	err = service.serve(ctx, second, func(ctx context.Context, env []string) error {
		measure := func(costs *[]cost, command []string) error {
			c, err := timed(ctx, command, env)
			*costs = append(*costs, c)
			return err
		}
		restore := func() error { return errors.Join(emptyFolder(after), linkFiles(before, after)) }
		for range s.turns {
			if err := restore(); err != nil {
				return err
			}
			if err := measure(&exports, export(second, after, "off")); err != nil {
				return err
			}
			if err := restore(); err != nil {
				return err
			}
			if err := measure(&compared, export(second, after, "on")); err != nil {
				return err
			}
			if err := measure(&folds, fold(after)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.write(b, after, exports, compared, folds, stderr)
}

func (n *secondNight) write(b *strings.Builder, dest string, exports, compared, folds []cost, stderr io.Writer) error {
	e, err := newestSnapshot(dest)
	if err != nil {
		return err
	}
	results, differ := e.Tables["test_results"].Rows, e.Comparison.Tables["test_results"]
	each := func(costs []cost) float64 {
		return over(costs, func(c cost) float64 { return float64(c.cpu.Nanoseconds()) / 1000 / float64(results) }).median
	}
	export, with, fold := each(exports), each(compared), each(folds)
	row := fmt.Sprintf("| %s | %d | %d | %.2f | %.2f | %.0f %% | %.2f | %.0f %% | %.0f %% | %.0f | %.0f | %.0f | %d |\n", n.title, results,
		differ.Changed+differ.Removed, export, with, 100*(with/export-1), fold, 100*fold/export,
		100*over(folds, func(c cost) float64 { return c.wall.Seconds() / c.cpu.Seconds() }).median,
		over(exports, cost.peakMB).greatest, over(compared, cost.peakMB).greatest, over(folds, cost.peakMB).greatest, len(folds))
	b.WriteString(row)
	fmt.Fprint(stderr, "  ", row)
	return nil
}
