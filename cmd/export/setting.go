package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Annotations of flags that help and completion read.
const (
	groupAnnotation   = "group"   // the heading below which help shows the flag
	defaultAnnotation = "default" // what help shows as the default, if not the value's text
	oftenAnnotation   = "often"   // of a command: the flags that most people need, in the order of help
	wordsAnnotation   = "words"   // all values that the flag takes, if those are a few words
)

// setting is a flag of any type. Environment variables and configuration files
// set it as flags do, so that a value is read, and refused, in one way.
type setting[T any] struct {
	target *T
	text   string
	parse  func(text string) (T, error)
	arg    string
}

// Set reads a value. The error speaks of the value alone: whoever calls knows
// where it came from.
func (s *setting[T]) Set(text string) error {
	value, err := s.parse(text)
	if err != nil {
		return err
	}
	*s.target, s.text = value, text
	return nil
}

func (s *setting[T]) String() string { return s.text }

// Type is the placeholder of the value in help.
func (s *setting[T]) Type() string { return s.arg }

// list is a flag that holds several texts: a comma list, or @file with one on
// each line, which is not split further. Repeating the flag adds to the list.
type list struct {
	target *[]string
	words  []string
	// expand turns the words given into what the target gets; nil for no change.
	expand func(words []string) ([]string, error)
}

func (l *list) Set(text string) error {
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		path, err := expandHome(path)
		if err != nil {
			return err
		}
		lines, err := readLines(path)
		if err != nil {
			return err
		}
		if len(lines) == 0 {
			return errors.New("file " + quoted(path) + " holds nothing")
		}
		return l.add(lines)
	}
	var items []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, part)
		}
	}
	if len(items) == 0 {
		return errors.New("the list is empty: leave it out for the default")
	}
	return l.add(items)
}

// add appends words that are taken whole, each once.
func (l *list) add(words []string) error {
	for _, word := range words {
		if !slices.Contains(l.words, word) {
			l.words = append(l.words, word)
		}
	}
	if l.expand == nil {
		*l.target = l.words
		return nil
	}
	expanded, err := l.expand(l.words)
	if err != nil {
		return err
	}
	*l.target = expanded
	return nil
}

func (l *list) String() string { return strings.Join(l.words, ",") }

// Type is the placeholder of the value in help.
func (l *list) Type() string { return "LIST" }

// readLines returns the lines of a file unchanged, with their commas and
// blanks. Empty lines, and lines that begin with #, are skipped.
func readLines(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	var items []string
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line != "" && !strings.HasPrefix(line, "#") {
			items = append(items, line)
		}
	}
	return items, nil
}

// group adds flags below one heading of the help.
type group struct {
	flags *pflag.FlagSet
	title string
}

// define adds a flag whose default is the text that it would be given as;
// none if that is empty.
func define[T any](g group, target *T, name, arg, def string, parse func(string) (T, error), doc string) {
	s := &setting[T]{target: target, parse: parse, arg: arg}
	if def != "" {
		if err := s.Set(def); err != nil {
			panic(fmt.Sprintf("default of --%s: %v", name, err)) // a mistake of the programmer's
		}
	}
	g.add(s, name, doc)
}

// choose adds a flag that takes one of some words.
func choose(g group, target *string, name, arg, def string, words []string, doc string) {
	define(g, target, name, arg, def, oneOf(words...), doc)
	g.flags.Lookup(name).Annotations[wordsAnnotation] = words
}

// toggle adds a flag that is off unless it is named.
func (g group) toggle(target *bool, name, doc string) {
	s := &setting[bool]{target: target, text: "false", parse: parseBool}
	g.add(s, name, doc).NoOptDefVal = "true"
}

// list adds a flag that holds several texts; expand may be nil.
func (g group) list(target *[]string, name string, expand func([]string) ([]string, error), doc string) {
	g.add(&list{target: target, expand: expand}, name, doc)
}

func (g group) add(value pflag.Value, name, doc string) *pflag.Flag {
	f := g.flags.VarPF(value, name, "", doc)
	f.Annotations = map[string][]string{groupAnnotation: {g.title}}
	return f
}

// shownDefault overrides what help shows as the default of a flag.
func (g group) shownDefault(name, text string) {
	g.flags.Lookup(name).Annotations[defaultAnnotation] = []string{text}
}

func parseBool(text string) (bool, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false", quoted(text))
	}
	return value, nil
}
