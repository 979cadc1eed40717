package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report calls measure, which writes tables. It prints the tables and the measuring conditions to stdout. If there is a
// document, it also writes them into a section of the document.
func (s *settings) report(ctx context.Context, section string, stdout io.Writer, measure func(*strings.Builder) error) error {
	start, before := time.Now(), loadAverage()
	var tables strings.Builder
	if err := measure(&tables); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Load average %s before, %s after. Took %s.\n", start.UTC().Format("2 January 2006, 15:04 UTC"), before,
		loadAverage(), time.Since(start).Round(time.Second))
	s.writeVersions(ctx, &b)
	if load, err := strconv.ParseFloat(before, 64); err == nil && load > float64(runtime.NumCPU()) {
		b.WriteString("**The machine was busy: only the ratios say anything.**\n")
	}
	b.WriteString("\n" + tables.String())
	if _, err := io.WriteString(stdout, b.String()); err != nil {
		return err
	}
	if s.document == "" {
		return nil
	}
	content, err := os.ReadFile(s.document)
	if err != nil {
		return err
	}
	updated, err := replaceSection(string(content), section, b.String())
	if err != nil {
		return fmt.Errorf("%s: %w", s.document, err)
	}
	return os.WriteFile(s.document, []byte(updated), 0o644)
}

// replaceSection returns the document with the text between the markers of a section replaced. It returns an error if a
// marker is missing.
func replaceSection(document, section, content string) (string, error) {
	begin, end := "<!-- "+section+": begin -->\n", "<!-- "+section+": end -->\n"
	head, rest, found := strings.Cut(document, begin)
	_, tail, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return "", fmt.Errorf("no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return head + begin + "\n" + content + "\n" + end + tail, nil
}

// writeVersions writes a description of the machine and the versions of the programs, on which the figures depend.
func (s *settings) writeVersions(ctx context.Context, b *strings.Builder) {
	fmt.Fprintf(b, "%s, %d cores, %.0f GiB of memory, %s/%s, %s.\n", proc("cpuinfo", "model name"), runtime.NumCPU(),
		memoryGiB(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(b, "growth-export: %s.\n", version(ctx, s.build, "version"))
	if s.base != "" {
		fmt.Fprintf(b, "base: %s.\n", version(ctx, s.base, "version"))
	}
	if s.python == "" {
		return
	}
	fmt.Fprintf(b, "%s", version(ctx, s.python, "--version"))
	pinned, err := os.ReadFile(filepath.Join(s.scripts, "requirements.txt"))
	if err != nil {
		return // without the file, the versions are unknown
	}
	for line := range strings.Lines(string(pinned)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), "==")
		if slices.Contains([]string{"duckdb", "polars", "pyarrow", "orjson", "dlt"}, name) {
			fmt.Fprintf(b, ", %s %s", name, number)
		}
	}
	b.WriteString(".\n")
}

// version returns the first line that a program prints about its version, or "unknown version" if it fails.
func version(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return "unknown version"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(strings.TrimSpace(line), "growth-export ")
}

// loadAverage returns the load average of the last minute, or "unknown" if the system does not report it.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(content), " ")
	return load
}

// proc returns the value of a key in a file below /proc, or "unknown" and the key if there is no such value.
func proc(file, key string) string {
	content, err := os.ReadFile(filepath.Join("/proc", file))
	if err != nil {
		return "unknown " + key
	}
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown " + key
}

// memoryGiB returns the size of the machine's memory, or NaN if it is unknown.
func memoryGiB() float64 {
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(proc("meminfo", "MemTotal"), " kB"), 64)
	if err != nil {
		return math.NaN()
	}
	return kilobytes / (1 << 20)
}
