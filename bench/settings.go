package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"example.org/growthexport/bench/pages"
)

// settings holds the values of the flags that the measuring commands share.
type settings struct {
	programs

	env         []string
	served      pages.Totals // totals of the service of the current scenario
	work        string       // folder for pages and exports
	document    string       // Markdown file to write the section into
	turns       int
	concurrency int
}

// define adds the shared flags to a set.
func (s *settings) define(flags *flag.FlagSet) {
	flags.StringVar(&s.build, "build", "../bin/growth-export", "path of the growth-export to measure")
	flags.StringVar(&s.base, "base", "", "another build to compare with")
	flags.StringVar(&s.python, "python", "", "Python interpreter with the packages of python/requirements.txt")
	flags.StringVar(&s.scripts, "scripts", "python", "folder of the scripts")
	flags.StringVar(&s.work, "work", "../.tools/bench", "folder for pages and exported files")
	flags.StringVar(&s.document, "document", "", "Markdown file to update; without it, the section is only printed")
	flags.IntVar(&s.turns, "turns", 5, "number of turns of every contestant")
	flags.IntVar(&s.concurrency, "concurrency", 8, "concurrent requests, or threads")
}

// resolve makes paths absolute, checks that programs exist and that turns are valid, and creates the work folder.
func (s *settings) resolve() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.self = self
	for _, path := range []*string{&s.build, &s.base, &s.scripts, &s.work, &s.document} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	// Links are not resolved, because a virtual environment finds its packages by the path of its interpreter.
	if s.python != "" {
		if s.python, err = filepath.Abs(s.python); err != nil {
			return err
		}
	}
	for _, path := range []string{s.build, s.base, s.python} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("find the program to measure: %w", err)
		}
	}
	if s.turns < 1 {
		return fmt.Errorf("-turns %d: must be at least 1", s.turns)
	}
	return os.MkdirAll(s.work, 0o750)
}
