package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot/snapshottest"
)

const testPrivacyKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// repository is the root of the repository.
const repository = "../.."

// page is a document: prose and the code in it.
type page struct {
	path, text string
	// lines are the lines of code blocks, with continuations joined.
	lines []string
	// spans are the strings between backticks.
	spans []string
}

// pages returns the README, docs, the pages of the examples, and the data dictionary.
func pages(t *testing.T) []page {
	t.Helper()
	var found []page
	for _, pattern := range []string{"README.md", "docs/*.md", "examples/*/*.md", "schemas/generated/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			found = append(found, readPage(path, string(text)))
		}
	}
	require.GreaterOrEqual(t, len(found), 2)
	return found
}

func readPage(path, text string) page {
	d := page{path: path, text: text}
	inBlock, begun := false, ""
	var prose strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock
		case !inBlock:
			prose.WriteString(line + "\n")
		case strings.HasSuffix(line, `\`):
			begun += strings.TrimSuffix(line, `\`)
		default:
			d.lines, begun = append(d.lines, begun+line), ""
		}
	}
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(prose.String(), -1) {
		d.spans = append(d.spans, strings.Join(strings.Fields(span[1]), " "))
	}
	return d
}

// calls returns the words of each shell command in a document, without variables
// set before its name.
func (d *page) calls() [][]string {
	var calls [][]string
	for _, code := range slices.Concat(d.lines, d.spans) {
		code, _, _ = strings.Cut(code, " #")
		for _, call := range regexp.MustCompile(`&&|\|\||[;|()]`).Split(code, -1) {
			words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(call), "$ "))
			for len(words) > 0 && (words[0] == "export" || regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0])) {
				words = words[1:]
			}
			if len(words) > 0 {
				calls = append(calls, words)
			}
		}
	}
	return calls
}

// TestDocsLinks checks that every link within the repository leads to a file and,
// if it has an anchor, to a heading.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, d := range pages(t) {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "mailto:") {
				continue
			}
			followed++
			path, anchor, _ := strings.Cut(link[1], "#")
			target := d.path
			if path != "" {
				target = filepath.Join(filepath.Dir(d.path), filepath.FromSlash(path))
				_, err := os.Stat(target)
				require.NoError(t, err, "%s links to %s", d.path, link[1])
			}
			if anchor == "" {
				continue
			}
			text, err := os.ReadFile(target)
			require.NoError(t, err)
			require.Contains(t, headings(string(text)), anchor, "%s links to %s", d.path, link[1])
		}
	}
	require.Greater(t, followed, 10)
}

// headings returns the anchors of a page's headings.
func headings(text string) []string {
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}

// TestDocsNames checks that the commands, flags, make targets, files, tests and
// environment variables named in the documentation exist.
func TestDocsNames(t *testing.T) {
	t.Parallel()
	known := readKnownNames(t)
	checked := make(map[string]int)
	for _, d := range pages(t) {
		for _, words := range d.calls() {
			name := strings.TrimPrefix(words[0], "bin/")
			if name == "growth-export" && len(words) > 1 {
				words = words[1:]
				name = words[0]
				require.True(t, known.flags[name] != nil || strings.HasPrefix(name, "-") || strings.ToUpper(name) == name,
					"%s shows growth-export %s", d.path, name)
			}
			switch flags := known.flags[name]; {
			case name == "make":
				checked["make"] += known.checkMake(t, &d, words[1:])
			case flags != nil:
				for _, word := range words[1:] {
					if flag, is := strings.CutPrefix(word, "--"); is {
						flag, _, _ = strings.Cut(flag, "=")
						require.Contains(t, flags, strings.Trim(flag, ".,"), "%s shows %v", d.path, words)
						checked["flag"]++
					}
				}
			}
		}
		for _, span := range d.spans {
			checked["name"] += known.checkName(t, &d, span)
		}
		for _, variable := range regexp.MustCompile(`GROWTH_EXPORT_[A-Z0-9_]+`).FindAllString(d.text, -1) {
			require.Contains(t, known.variables, variable, d.path)
			checked["variable"]++
		}
	}
	for _, kind := range []string{"make", "flag", "name", "variable"} {
		require.Greater(t, checked[kind], 3, kind)
	}
}

// knownNames are the names that a document may use.
type knownNames struct {
	flags     map[string][]string // of each command
	variables []string
	makefile  string
	tests     string // the source code of all tests
}

func readKnownNames(t *testing.T) *knownNames {
	t.Helper()
	a, _, _ := testApp(nil)
	root := a.rootCommand(nil)
	known := &knownNames{flags: make(map[string][]string)}
	for _, cmd := range root.Commands() {
		names := []string{"help"}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if normalize := cmd.Flags().GetNormalizeFunc(); normalize != nil {
			// simulate also accepts its flags without their prefix.
			for _, name := range slices.Clone(names) {
				if short := strings.TrimPrefix(name, simulatePrefix); normalize(nil, short) == pflag.NormalizedName(name) {
					names = append(names, short)
				}
			}
		}
		known.flags[cmd.Name()] = names
	}
	for _, name := range allFlags(root) {
		known.variables = append(known.variables, envName(name))
	}
	for _, variable := range secretVariables() {
		known.variables = append(known.variables, variable, variable+fileSuffix)
	}
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	require.NoError(t, err)
	known.makefile = string(makefile)
	var tests strings.Builder
	for _, top := range []string{"cmd", "internal", "schemas", "examples"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(repository, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			tests.Write(text)
			return err
		}))
	}
	known.tests = tests.String()
	return known
}

// checkMake checks the targets and variables of a make command.
func (known *knownNames) checkMake(t *testing.T, d *page, words []string) (checked int) {
	t.Helper()
	for _, word := range words {
		variable, _, sets := strings.Cut(word, "=")
		pattern := `(?m)^` + regexp.QuoteMeta(word) + `:.*## `
		if sets {
			pattern = `(?m)^` + regexp.QuoteMeta(variable) + ` *\?=`
		}
		require.True(t, regexp.MustCompile(pattern).MatchString(known.makefile), "%s shows make %s", d.path, word)
		checked++
	}
	return checked
}

// checkName checks a span that names a file of the repository, a test or a flag.
func (known *knownNames) checkName(t *testing.T, d *page, span string) (checked int) {
	t.Helper()
	flag, isFlag := strings.CutPrefix(span, "--")
	switch {
	case regexp.MustCompile(`^Test[A-Za-z]+$`).MatchString(span) && !strings.HasSuffix(d.path, "data-dictionary.md"): // the dictionary's columns may have such names
		require.True(t, strings.Contains(known.tests, "func "+span+"("), "%s names %s", d.path, span)
	case regexp.MustCompile(`^(cmd|docs|examples|internal|schemas|tools)/[^ <]*$`).MatchString(span):
		found, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(span)))
		require.NoError(t, err)
		require.NotEmpty(t, found, "%s names %s", d.path, span)
	case isFlag:
		flag = strings.Fields(flag)[0]
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Values(known.flags)), func(flags []string) bool {
			return slices.Contains(flags, flag)
		}), "%s names %s", d.path, span)
	default:
		return 0
	}
	return 1
}

// TestFormatNamesAllFiles checks that docs/FORMAT.md names every file of a destination with published, staged and purged
// runs, a history and Delta logs, and that the destination has a file for every name.
func TestFormatNamesAllFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "docs", "FORMAT.md"))
	require.NoError(t, err)
	names := make(map[string]*regexp.Regexp)
	used := map[string]bool{"alive.json": true, "held.json": true, "change.json": true, "*.calls": true, "_destination.json": true} // short-lived or rare
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ").FindAllStringSubmatch(string(text), -1) {
		for _, span := range regexp.MustCompile("`([^`]*[/.][^`]*)`").FindAllStringSubmatch(row[1], -1) {
			pattern := regexp.QuoteMeta(span[1])
			for _, r := range [][2]string{
				{`<\w+>`, `[^/=_][^/=]*`}, {`\\\[(.*?)\\\]`, `($1)?`}, {`\\\*`, `[^/]*`}, {`/$`, `/.*`},
			} {
				pattern = regexp.MustCompile(r[0]).ReplaceAllString(pattern, r[1])
			}
			names[span[1]] = regexp.MustCompile("^" + pattern + "$")
			used[span[1]] = used[path.Base(span[1])]
		}
	}
	require.Greater(t, len(names), 15)

	dest := filepath.Join(t.TempDir(), "out")
	command := func(args ...string) {
		cmd, stderr := commandProcess(t, append(args, "--dest", dest)...)
		cmd.Env = append(cmd.Env, privacyKeyVariable+"="+testPrivacyKey)
		require.NoError(t, cmd.Run(), stderr)
	}
	run := func(args ...string) {
		command(append(args, "--simulate", "--simulate-schools", "3", "--simulate-results", "60", "--progress", "none")...)
	}
	for _, args := range [][]string{
		{"--snapshot-date", "2026-01-07", "--backdate", "--partition-by", "district", "--history", "--delta-lake", "--run-id", "first"},
		{"--effective-date", "2026-01-07", "--partition-by", "district"},
		{"--modified-since", "2026-01-07", "--partition-by", "district", "--delta-lake"},
		{"--snapshot-date", "2026-01-08", "--backdate", "--partition-by", "district", "--history", "--delta-lake"},
	} {
		run(append([]string{"run"}, args...)...)
	}
	plan, err := os.ReadFile(filepath.Join(dest, "_runs", "first", "plan.json"))
	require.NoError(t, err)
	command("purge", "--schools", regexp.MustCompile(`"bid": "(.*?)"`).FindStringSubmatch(string(plan))[1])
	command("purge", "--student-numbers", "nobody", "--allow-unknown")
	run("run", "--snapshot-date", "2026-01-09", "--backdate", "--partition-by", "district", "--run-id", "shards", "--shard", "0/2",
		"--max-removed", "off", "--max-shrink", "off")
	for file := range snapshottest.Tree(t, dest) {
		found := false
		for name, pattern := range names {
			if pattern.MatchString(file) {
				used[name], found = true, true
			}
		}
		require.True(t, found, "docs/FORMAT.md does not name %s", file)
	}
	for name := range names {
		require.True(t, used[name], "docs/FORMAT.md names %s, which was not found", name)
	}
}
