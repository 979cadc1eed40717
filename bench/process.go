package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cost holds the measurements of one run of a contestant.
type cost struct {
	cpu   time.Duration // user and system time of the process and of the children that it has waited for
	wall  time.Duration
	peak  int64 // bytes resident in the largest process
	bytes int64 // size of the Parquet files; 0 if not measured
}

func (c cost) peakMB() float64 {
	return float64(c.peak) / 1e6
}

// measure empties dest, runs a command, and returns its cost, which includes the size of the Parquet files below dest.
//
// Linux includes the peak of the parent in the peak of a new process. This program must therefore stay small, so
// another process generates and serves the pages.
func measure(ctx context.Context, command, env []string, dest string) (cost, error) {
	if err := emptyFolder(dest); err != nil {
		return cost{}, err
	}
	c, err := timed(ctx, command, env)
	if err == nil {
		c.bytes, err = parquetBytes(dest)
	}
	return c, err
}

func emptyFolder(path string) error {
	return errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o750))
}

// timed runs a command and returns its cost, without the size of the files that it writes.
func timed(ctx context.Context, command, env []string) (cost, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output.Bytes())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("resource usage is not available on this system")
	}
	return cost{
		cpu:  time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		wall: wall, peak: usage.Maxrss << 10,
	}, nil
}

// parquetBytes returns the size of all Parquet files below a folder. It skips folders whose names begin with an
// underscore, which hold records of runs, such as ledgers.
func parquetBytes(folder string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), "_") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".parquet" {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		return nil
	})
	return sum, err
}

// spread is the median and range of a figure over the turns of a benchmark.
type spread struct {
	median, least, greatest float64
}

// over returns the spread of a figure over several costs.
func over(costs []cost, figure func(cost) float64) spread {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = figure(c)
	}
	return spreadOf(values)
}

// spreadOf returns the spread of values, which it sorts.
func spreadOf(values []float64) spread {
	slices.Sort(values)
	middle := len(values) / 2
	s := spread{median: values[middle], least: values[0], greatest: values[len(values)-1]}
	if len(values)%2 == 0 {
		s.median = (values[middle-1] + values[middle]) / 2
	}
	return s
}
