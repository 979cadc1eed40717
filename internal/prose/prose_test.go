package prose

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestProse(t *testing.T) {
	t.Parallel()
	checker := newChecker()
	var files int
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if skippedFolder(name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !isText(name) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
			return err
		}
		files++
		lines, err := checker.file(name, content)
		found = append(found, lines...)
		return err
	}))
	require.NotZero(t, files)
	if len(found) > 0 {
		t.Errorf("%d to rewrite:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// skippedFolder reports whether a folder holds no prose of this project: tools, builds, generated files, and these
// rules.
func skippedFolder(name string) bool {
	base := filepath.Base(name)
	switch {
	case name == ".", base == ".ci":
		return false
	case name == "internal/prose", base == "bin", base == "demo", base == "generated", strings.HasSuffix(base, "venv"):
		return true
	default:
		return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "__")
	}
}

// isText reports whether a file may hold prose. Test data has none, except for scripts.
func isText(name string) bool {
	ext := filepath.Ext(name)
	if strings.Contains(name, "testdata/") {
		return ext == ".txtar"
	}
	return !slices.Contains([]string{".json", ".mod", ".parquet", ".sum", ".svg", ".tsv"}, ext)
}

type checker struct {
	rules  []compiled
	verbs  []string
	limits *regexp.Regexp
}

func newChecker() *checker {
	return &checker{rules: compile(rules()), verbs: bareVerbs(), limits: limitNames()}
}

// file returns a line for each finding in a file.
func (c *checker) file(name string, content []byte) ([]string, error) {
	var found []string
	report := func(line int, phrase, instead string) {
		found = append(found, fmt.Sprintf("%s:%d: %q: %s", name, line, phrase, instead))
	}
	if filepath.Ext(name) != ".go" {
		c.text(1, string(content), report)
		return found, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(n ast.Node) int { return fset.Position(n.Pos()).Line }
	for _, group := range file.Comments {
		var text strings.Builder
		for _, comment := range group.List {
			text.WriteString(comment.Text + "\n")
		}
		c.text(line(group), text.String(), report)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if text, ok := literal(n); ok {
				c.text(line(n), text, report)
				return false
			}
		case *ast.BasicLit:
			if text, ok := literal(n); ok {
				c.text(line(n), text, report)
			}
		case *ast.FuncDecl:
			if slices.Contains(c.verbs, n.Name.Name) {
				report(line(n), "func "+n.Name.Name, "a name that says what it does in a stack trace")
			}
			words := strings.Fields(n.Doc.Text())
			if n.Type.Results != nil && len(words) > 1 && words[0] == n.Name.Name && (words[1] == "is" || words[1] == "are") {
				report(line(n.Doc), words[0]+" "+words[1], `begin with a verb: "returns ..." or "reports whether ..."`)
			}
		case *ast.GenDecl:
			if n.Tok != token.CONST {
				break
			}
			for _, spec := range n.Specs {
				for _, ident := range spec.(*ast.ValueSpec).Names {
					if c.limits.MatchString(ident.Name) {
						report(line(ident), ident.Name, "max..., min... or default...")
					}
				}
			}
		}
		return true
	})
	return found, nil
}

// literal returns the text of a string literal, or of several that are joined by plus signs.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, okLeft := literal(e.X)
		right, okRight := literal(e.Y)
		return left + right, e.Op == token.ADD && okLeft && okRight
	}
	return "", false
}

// text reports the findings of the rules in a text that begins at the given line.
func (c *checker) text(line int, text string, report func(line int, phrase, instead string)) {
	text = markers.ReplaceAllString(text, "")
	for _, r := range c.rules {
		for _, at := range r.pattern.FindAllStringIndex(text, -1) {
			phrase := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
			if r.except != nil && r.except.MatchString(phrase) {
				continue
			}
			report(line+strings.Count(text[:at[0]], "\n"), phrase, r.instead)
		}
	}
}

// markers match the start of a line of a comment.
var markers = regexp.MustCompile(`(?m)^[ \t]*(//+|#+|--|\*/?|/\*+)[ \t]?`)

// TestRules checks that each rule finds its bad example, and does not find anything in its good example.
func TestRules(t *testing.T) {
	t.Parallel()
	for i, r := range rules() {
		var found []string
		report := func(_ int, phrase, instead string) { found = append(found, phrase+": "+instead) }
		c := &checker{rules: compile(rules()[i : i+1])}
		c.text(1, strings.ReplaceAll("// "+r.bad, " ", "\n// "), report)
		require.Len(t, found, 1, "%s finds %q", r.pattern, r.bad)
		newChecker().text(1, r.good, report)
		require.Len(t, found, 1, "ordinary English: %q", r.good)
		require.NotEmpty(t, r.instead)
	}
}

// TestPlaces checks that comments, literals, names and other files are all examined, and that line numbers are right.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const source = `// Package a is read
// anew.
package a

const mostShards = 3

// judge is a function.
func judge() string {
	return "no token " +
		"to be had" // nothing for good
}

var page = ` + "`one\ntwo for ever`\n"
	c := newChecker()
	found, err := c.file("a/a.go", []byte(source))
	require.NoError(t, err)
	for _, want := range []string{
		`a/a.go:2: "anew": "again"`, `a/a.go:5: "mostShards"`, `a/a.go:7: "judge is"`, `a/a.go:8: "func judge"`, `a/a.go:9: "to be had"`,
		`a/a.go:10: "for good"`, `a/a.go:14: "for ever"`,
	} {
		require.True(t, slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, want) }), "%s among %q", want, found)
	}
	require.Len(t, found, 7)

	found, err = c.file("night.yaml", []byte("# one\n# for\n# ever\na: 1\n"))
	require.NoError(t, err)
	require.Equal(t, []string{`night.yaml:2: "for ever": "forever"`}, found)
}
