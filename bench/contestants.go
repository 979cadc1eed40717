package main

import (
	"path/filepath"
	"slices"
	"strconv"
)

// task describes the work of every contestant: exporting all test results of a service.
type task struct {
	url         string
	pages       string // folder of page files
	dest        string
	concurrency int
}

// contestant is a program whose export is measured.
type contestant struct {
	name    string
	title   string
	omits   string // the features that it lacks
	python  bool
	files   bool // reads page files instead of sending requests to the service
	named   bool // takes part only in scenarios that list it, because it writes different rows
	results int  // maximum of Options.Results in scenarios that do not list it; 0 means no limit
	command func(t task) []string
}

const plainScript = "sorting, deduplication, unknown members, type drift, retries, manifest, atomic publishing, reading back"

// programs holds the paths of the programs that contestants run.
type programs struct {
	build, base, self, python, scripts string
}

// contestants returns all contestants whose programs are given, growth-export first.
func contestants(p programs) []contestant {
	script := func(name string) func(task) []string {
		return func(t task) []string {
			return []string{
				p.python, "-B", filepath.Join(p.scripts, name), "--url", t.url, "--dest", t.dest,
				"--threads", strconv.Itoa(t.concurrency),
			}
		}
	}
	all := []contestant{
		{
			name: "growth-export", title: "this build", omits: "nothing",
			command: func(t task) []string { return exportCommand(p.build, t) },
		},
		{
			name: "base", title: "growth-export, an older build", omits: "nothing",
			command: func(t task) []string { return exportCommand(p.base, t) },
		},
		{
			name: "naive", title: "Go: encoding/json into structs, parquet-go GenericWriter", omits: plainScript,
			command: func(t task) []string {
				return []string{p.self, "naive", "-url", t.url, "-dest", t.dest, "-threads", strconv.Itoa(t.concurrency)}
			},
		},
		{
			name: "duckdb", title: "DuckDB: read_text and from_json into a table, three COPYs; one thread, page files",
			omits: "HTTP, " + plainScript, python: true, files: true,
			command: func(t task) []string {
				return []string{
					p.python, "-B", filepath.Join(p.scripts, "export_duckdb.py"),
					"--pages", filepath.Join(t.pages, "plain"), "--dest", t.dest, "--threads", "1",
				}
			},
		},
		{
			name: "polars", title: "Python: requests, polars read_json, pyarrow writer", omits: plainScript,
			python: true, command: script("export_polars.py"),
		},
		{
			name: "orjson", title: "Python: requests, orjson, pyarrow", omits: plainScript,
			python: true, command: script("export_orjson.py"),
		},
		{
			name: "dlt", title: "dlt: rest_api source to filesystem Parquet, tuned",
			omits:  "sorting, deduplication, drift report, publishing all tables together, reading back",
			python: true, results: 200_000, command: script("export_dlt.py"),
		},
	}
	for _, profile := range []string{"pseudonymous", "minimal"} {
		all = append(all, contestant{
			name: profile, title: "this build with `--privacy " + profile + "`", omits: "what the profile withholds", named: true,
			command: func(t task) []string { return append(exportCommand(p.build, t), "--privacy", profile) },
		})
	}
	return slices.DeleteFunc(all, func(c contestant) bool {
		return (c.name == "base" && p.base == "") || (c.python && p.python == "")
	})
}

// exportCommand returns the command line of an export by a build of growth-export. The snapshot date is fixed, like the
// dates of the results.
func exportCommand(build string, t task) []string {
	return []string{
		build, "run", "--base-url", t.url, "--dest", t.dest, "--datasets", "test_results",
		"--snapshot-date", snapshotDate, "--backdate", "--run-id", "bench",
		"--concurrency", strconv.Itoa(t.concurrency), "--progress", "none", "--log-level", "error",
	}
}

const snapshotDate = "2026-06-15"
