package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations that help and completion read.
const (
	groupAnnotation  = "group"  // on a flag: its heading in help
	wordsAnnotation  = "words"  // on a flag: the only values that it takes
	onlyAnnotation   = "only"   // on a flag: the command ignores its environment variable
	commonAnnotation = "common" // on a command: the flags that most people need, in the order of help
)

// setting is a flag of any type. Its value is parsed and checked in the same way whether it comes from a flag, an
// environment variable or a configuration file.
type setting[T any] struct {
	target *T
	text   string
	parse  func(text string) (T, error)
	arg    string
}

// Set parses a value. The error describes the value; the caller adds its source.
func (s *setting[T]) Set(text string) error {
	value, err := s.parse(text)
	if err != nil {
		return err
	}
	*s.target, s.text = value, text
	return nil
}

func (s *setting[T]) String() string { return s.text }

// Type returns the placeholder of the value in help.
func (s *setting[T]) Type() string { return s.arg }

// list is a flag that holds several strings. They are separated by commas, or are the lines of a file given as @file,
// which are not split at commas. Repeating the flag adds to the list.
type list struct {
	target *[]string
	words  []string
	// expand, if not nil, converts the given words into the contents of target.
	expand func(words []string) ([]string, error)
	// places, if not nil, receives the position at which each string first occurs in the list.
	places *map[string]string
	// blank is true if a line that holds only whitespace counts as a string.
	blank bool
	// students is true if the strings are bids or numbers of students. A file of them must not begin with a header,
	// which would be taken for a student.
	students bool
	// file, if not nil, receives the value of the flag, with its @, if the list comes from a file.
	file *string
}

func (l *list) Set(text string) error {
	var items []string
	path, isFile := strings.CutPrefix(text, "@")
	if isFile {
		path, err := expandHome(path)
		if err == nil {
			var lines []int
			items, lines, err = readNumberedLines(path, l.blank)
			for i, item := range items {
				l.notePlace(item, "line", lines[i])
			}
		}
		if err != nil {
			return err
		}
		if l.file != nil {
			*l.file = text
		}
		if l.students && len(items) > 0 && isHeader(items[0]) {
			return fmt.Errorf("file %s begins with a header: remove that line, so that every line is the bid or number of a student and nothing else", quoted(path))
		}
	} else {
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); namesFile(item, l.students) {
				return fmt.Errorf("%s is a file: write @%s to read the list from it", quoted(item), item)
			}
			if item != "" {
				items = append(items, item)
				l.notePlace(item, "item", len(items))
			}
		}
	}
	if len(items) == 0 && isFile {
		return fmt.Errorf("file %s contains no values", quoted(path))
	}
	return l.add(items)
}

// notePlace records the line or position at which an item first occurs in the list.
func (l *list) notePlace(item, what string, number int) {
	if l.places == nil {
		return
	}
	if *l.places == nil {
		*l.places = make(map[string]string)
	}
	if (*l.places)[item] == "" {
		(*l.places)[item] = fmt.Sprintf("%s %d", what, number)
	}
}

// add appends items without splitting them, and omits duplicates. An empty list or an item that is not UTF-8 is an
// error.
func (l *list) add(items []string) (err error) {
	if len(items) == 0 {
		return errors.New("the list is empty: omit the setting to use the default")
	}
	known := make(map[string]bool) // a map because a list of students may be long
	for _, word := range l.words {
		known[word] = true
	}
	for i, item := range items {
		if !utf8.ValidString(item) { // the service never sends such text, and it is not a valid Parquet string
			return fmt.Errorf("item %d of the list is not valid UTF-8", i+1)
		}
		if !known[item] {
			known[item] = true
			l.words = append(l.words, item)
		}
	}
	expanded := l.words
	if l.expand != nil {
		if expanded, err = l.expand(l.words); err != nil {
			return err
		}
	}
	*l.target = expanded
	return nil
}

func (l *list) String() string { return strings.Join(l.words, ",") }

// Type returns the placeholder of the value in help.
func (l *list) Type() string { return "LIST" }

// readLines returns the lines of a file, except those with only whitespace. It does not trim lines, because a bid may
// begin with any character.
func readLines(path string) ([]string, error) {
	items, _, err := readNumberedLines(path, false)
	return items, err
}

// readNumberedLines works like readLines, and also returns the numbers of the lines. If blank is true, it omits only
// empty lines.
func readNumberedLines(path string, blank bool) (items []string, numbers []int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the list: %w", err)
	}
	if isUTF16(data) {
		return nil, nil, fmt.Errorf("file %s is UTF-16 text: save it as UTF-8, which Excel calls CSV UTF-8", quoted(path))
	}
	if text := bytes.TrimRight(data, "\r"); bytes.ContainsRune(text, '\r') && !bytes.ContainsRune(text, '\n') {
		return nil, nil, fmt.Errorf("file %s ends its lines with carriage returns only: save it with Unix or Windows line endings", quoted(path))
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		number++
		if !utf8.ValidString(line) {
			return nil, nil, fmt.Errorf("line %d of file %s is not UTF-8 text: save the file as UTF-8, which Excel calls CSV UTF-8", number, quoted(path))
		}
		if strings.TrimSpace(line) != "" || blank && line != "" {
			items, numbers = append(items, line), append(numbers, number)
		}
	}
	return items, numbers, nil
}

// namesFile reports whether a string that should be a bid is the path of a file. Text without an extension is only
// looked up if anyName is true.
func namesFile(text string, anyName bool) bool {
	if filepath.Ext(text) == "" && !anyName {
		return false
	}
	info, err := os.Stat(text)
	return err == nil && info.Mode().IsRegular()
}

// isUTF16 reports whether data is probably text in UTF-16: it begins with a byte order mark, or at least half of its
// bytes are zero.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		len(data) > 0 && 2*bytes.Count(data, []byte{0}) >= len(data)
}

// isHeader reports whether the first line of a list of students is the name of a column instead of a student's bid or
// number.
func isHeader(line string) bool {
	name, _, _ := strings.Cut(line, ",")
	name, _, _ = strings.Cut(name, ";")
	name, _, _ = strings.Cut(name, "\t")
	switch strings.NewReplacer(" ", "", "_", "", "-", "", `"`, "").Replace(strings.ToLower(name)) {
	case "student", "students", "bid", "bids", "studentbid", "studentbids", "requestedstudentbid", "number", "numbers",
		"studentnumber", "studentnumbers", "id", "ids", "studentid", "studentids", "stateid", "statestudentid", "districtstudentid":
		return true
	}
	return false
}

// group adds flags below one heading of the help.
type group struct {
	flags *pflag.FlagSet
	title string
}

// define adds a flag. Its default, def, is parsed like a value of the flag. If def is empty, target does not change.
func define[T any](g group, target *T, name, arg, def string, parse func(string) (T, error), doc string) {
	s := &setting[T]{target: target, parse: parse, arg: arg}
	if def != "" {
		if err := s.Set(def); err != nil {
			panic(fmt.Sprintf("default of --%s: %v", name, err)) // a mistake in this program
		}
	}
	g.add(s, name, doc)
}

// choose adds a flag that takes one of several words.
func choose(g group, target *string, name, arg, def string, words []string, doc string) {
	define(g, target, name, arg, def, oneOf(words...), doc)
	g.flags.Lookup(name).Annotations[wordsAnnotation] = words
}

// onlyFlags marks flags whose environment variables and entries in the configuration file the command ignores.
func (g group) onlyFlags(names ...string) {
	for _, name := range names {
		g.flags.Lookup(name).Annotations[onlyAnnotation] = []string{}
	}
}

// toggle adds a flag that is off unless it is given.
func (g group) toggle(target *bool, name, doc string) {
	s := &setting[bool]{target: target, text: "false", parse: parseBool}
	g.add(s, name, doc).NoOptDefVal = "true"
	g.shownDefault(name, "off")
}

// list adds a flag that holds several strings; expand may be nil.
func (g group) list(target *[]string, name string, expand func([]string) ([]string, error), doc string) {
	g.add(&list{target: target, expand: expand}, name, doc)
}

// listExactly works like list, but a line of a file that holds only whitespace also counts as a bid, because bids are
// compared exactly.
func (g group) listExactly(target *[]string, name, doc string) {
	g.add(&list{target: target, blank: true}, name, doc)
}

// listStudents works like list for bids or numbers of students. If places is not nil, it receives the position of each
// string in the list, such as "line 3".
func (g group) listStudents(target *[]string, places *map[string]string, name, doc string) {
	g.add(&list{target: target, places: places, students: true}, name, doc)
}

func (g group) add(value pflag.Value, name, doc string) *pflag.Flag {
	f := g.flags.VarPF(value, name, "", doc)
	f.Annotations = map[string][]string{groupAnnotation: {g.title}}
	if f.DefValue == "" {
		f.DefValue = "none"
	}
	return f
}

// shownDefault sets the default that help shows for a flag.
func (g group) shownDefault(name, text string) { g.flags.Lookup(name).DefValue = text }

// flagsOf returns the flags of a command, except --help, in the order of their definition.
func flagsOf(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			flags = append(flags, f)
		}
	})
	return flags
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	for _, f := range flagsOf(cmd) {
		names = append(names, f.Name)
	}
	return names
}

func parseBool(text string) (bool, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false: write true or false", quoted(text))
	}
	return value, nil
}

// oneOf returns a parser that accepts only the given words.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%s is not one of: %s", quoted(text), strings.Join(words, ", "))
		}
		return text, nil
	}
}
