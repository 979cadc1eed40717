package main

import (
	"path/filepath"
	"strconv"
)

// task is what every contestant does: export all test results of a service.
type task struct {
	url         string
	pages       string // folder of page files
	dest        string
	concurrency int
	gzip        bool
}

// contestant is a way to export.
type contestant struct {
	name    string
	title   string
	omits   string // what it leaves out
	python  bool
	turns   int  // at most; 0 means as many as asked for
	results int  // of the largest world that it exports; 0 means any
	files   bool // reads page files instead of the service
	command func(t task) []string
}

const plainScript = "sorting, deduplication, unknown members, type drift, retries, manifest, atomic publishing, reading back"

// programs are the paths of what contestants run.
type programs struct {
	build, base, self, python, scripts string
}

// contestants returns all contestants whose programs are there, ours first.
func contestants(p programs) []contestant {
	all := []contestant{
		{name: "growth-export", title: "growth-export", command: func(t task) []string { return exportCommand(p.build, t) }},
		{name: "base", title: "growth-export, the build given as BASE", command: func(t task) []string { return exportCommand(p.base, t) }},
		{
			name: "naive", title: "Go: encoding/json and parquet-go structs", omits: plainScript,
			command: func(t task) []string {
				return []string{p.self, "naive", "-url", t.url, "-dest", t.dest, "-threads", strconv.Itoa(t.concurrency)}
			},
		},
		{
			name: "duckdb", title: "DuckDB: read_text, from_json, three COPYs; 1 thread; page files", python: true, files: true,
			omits: "HTTP, " + plainScript,
			command: func(t task) []string {
				return []string{
					p.python, "-B", filepath.Join(p.scripts, "export_duckdb.py"),
					"--pages", filepath.Join(t.pages, "plain"), "--dest", t.dest, "--threads", "1",
				}
			},
		},
	}
	kept := all[:0]
	for _, c := range all {
		if (c.name == "base" && p.base == "") || (c.python && p.python == "") {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// exportCommand returns the command line of a build of growth-export. The date is fixed, and so are the results' dates.
func exportCommand(build string, t task) []string {
	return []string{
		build, "run", "--base-url", t.url, "--dest", t.dest, "--datasets", "test_results",
		"--snapshot-date", snapshotDate, "--backdate", "--run-id", "bench",
		"--concurrency", strconv.Itoa(t.concurrency), "--progress", "none", "--log-level", "error",
	}
}

const snapshotDate = "2026-06-15"
