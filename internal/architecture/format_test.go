package architecture

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/FORMAT.md")

const formatPage = "../../docs/FORMAT.md"

// TestFormat compares the generated parts of docs/FORMAT.md, which are between markers, with the declarations.
func TestFormat(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(formatPage)
	require.NoError(t, err)
	f := &format{structs: documentStructs(t), anchors: make(map[string]string)}
	blocks := regexp.MustCompile(`(?s)(## ([^\n]*)\n[^#]*<!-- generated: (private )?([\w.]+) -->\n).*?(<!-- end -->)`)
	fresh := blocks.ReplaceAllStringFunc(string(content), func(block string) string {
		match := blocks.FindStringSubmatch(block)
		heading, name := match[2], match[4]
		f.private = match[3] != ""
		f.anchors[name] = strings.ReplaceAll(strings.ToLower(heading), " ", "-")
		return match[1] + "\n" + f.block(t, name) + "\n" + match[5]
	})
	require.Empty(t, f.uncommented, "fields of documents that readers rely on: comment them")
	for name, s := range f.structs {
		if documentPath.MatchString(s.doc) {
			require.Contains(t, f.anchors, name, "docs/FORMAT.md describes no document of the struct %s", name)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(formatPage, []byte(fresh), 0o600))
		return
	}
	require.Equal(t, fresh, string(content), "docs/FORMAT.md is out of date: run make generate")
}

// documentPath matches the comment of a struct that is stored as a document: "Plan is _runs/<run>/plan.json ...".
var documentPath = regexp.MustCompile(`^\w+ is [\w/<>]+\.json\b`)

// format writes the generated parts.
type format struct {
	structs map[string]*documentStruct // by package and name
	anchors map[string]string          // where structs are described
	private bool                       // is for programmers, who understand names
	// uncommented are fields without a comment, in documents that readers rely on.
	uncommented []string
}

type documentStruct struct {
	doc    string
	fields []*ast.Field
	// text is the stored type if it is not a struct.
	text ast.Expr
}

// documentStructs reads the types of the packages that store documents.
func documentStructs(t *testing.T) map[string]*documentStruct {
	t.Helper()
	found := make(map[string]*documentStruct)
	var texts []string
	for _, folder := range []string{"activity", "maintenance", "review", "sink", "snapshot"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		require.NoError(t, err)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch decl := n.(type) {
				case *ast.GenDecl:
					if decl.Tok != token.TYPE {
						break
					}
					for _, spec := range decl.Specs {
						spec := spec.(*ast.TypeSpec)
						s := &documentStruct{doc: sentence(decl.Doc), text: spec.Type}
						if fields, ok := spec.Type.(*ast.StructType); ok {
							s.fields, s.text = fields.Fields.List, nil
						}
						found[folder+"."+spec.Name.Name] = s
					}
				case *ast.FuncDecl:
					if decl.Recv != nil && decl.Name.Name == "MarshalText" {
						texts = append(texts, qualified(folder, decl.Recv.List[0].Type))
					}
				}
				return true
			})
		}
	}
	for _, name := range texts {
		found[name].text = ast.NewIdent("string")
	}
	return found
}

// block returns the generated text of a marker: a struct with the structs that it holds, or the columns of a file.
func (f *format) block(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "ledger":
		return columns(snapshot.LedgerTable().Columns)
	case "coverage":
		return columns(snapshot.HistoryTable(snapshot.CoverageTable()).Columns)
	}
	require.Contains(t, f.structs, name, "a marker of docs/FORMAT.md")
	return f.table(t, name)
}

func columns(all []schemas.Column) string {
	var b strings.Builder
	b.WriteString("| column | type | meaning |\n|---|---|---|\n")
	for i := range all {
		kind := all[i].Type.String()
		if !all[i].Required {
			kind += " or null"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", all[i].Name, kind, all[i].Doc)
	}
	return b.String()
}

// table returns the members of a struct, followed by the tables of the structs in it that no earlier text describes.
func (f *format) table(t *testing.T, name string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| member | type | meaning |\n|---|---|---|\n")
	var inner []string
	f.members(t, &b, name, &inner)
	for _, other := range inner {
		if f.anchors[other] == "" {
			_, title, _ := strings.Cut(other, ".")
			f.anchors[other] = strings.ToLower(title)
			fmt.Fprintf(&b, "\n#### %s\n\n%s\n\n", title, f.meaning(other, title, f.structs[other].doc))
			b.WriteString(f.table(t, other))
		}
	}
	return b.String()
}

// members writes a line for each member, including the members of embedded structs, and adds the structs that they hold
// to inner.
func (f *format) members(t *testing.T, b *strings.Builder, name string, inner *[]string) {
	t.Helper()
	folder, _, _ := strings.Cut(name, ".")
	before := ""
	for _, field := range f.structs[name].fields {
		member, optional := jsonName(field)
		switch {
		case len(field.Names) == 0 && member == "":
			f.members(t, b, qualified(folder, field.Type), inner)
		case member != "" && member != "-":
			kind := f.kind(t, folder, field.Type, inner)
			if optional {
				kind += ", optional"
			}
			doc := strings.TrimSpace(sentence(field.Doc) + " " + sentence(field.Comment))
			// A comment may also describe the fields that follow.
			if doc == "" && regexp.MustCompile(`\b`+field.Names[0].Name+`\b`).MatchString(before) {
				doc = "See above."
			} else {
				before = doc
			}
			doc = f.meaning(name, field.Names[0].Name, doc)
			typeName := qualified(folder, field.Type)
			_, short, _ := strings.Cut(typeName, ".")
			if s := f.structs[typeName]; doc == "" && s != nil && s.text != nil {
				doc = f.meaning(typeName, short, s.doc)
			}
			if !strings.Contains(kind, "](#") { // a struct has a table of its own
				doc = cmp.Or(doc, common(member))
				if doc == "" && !f.private {
					f.uncommented = append(f.uncommented, name+"."+field.Names[0].Name)
				}
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", member, kind, doc)
		}
	}
}

// common returns the meaning of a member that needs no comment in the code; empty for other members.
func common(member string) string {
	switch member {
	case "datasets", "schools", "districts", "perspectives", "partition_by", "include_removed", "schools_per_file", "shards",
		"max_failed_schools", "strict_checks":
		return "As `run --" + strings.ReplaceAll(member, "_", "-") + "`."
	case "ok", "denied", "failed":
		return "Schools with the status `" + member + "`."
	}
	return map[string]string{
		"base_url":          "The base URL of the service, or `simulate`.",
		"dataset":           "The dataset.",
		"format_version":    "The version of the document's format.",
		"manifest":          "The path of the manifest.",
		"manifest_sha256":   "The SHA-256 of the manifest's bytes, in hexadecimal.",
		"published_at":      "When the run was published.",
		"run_id":            "The run.",
		"school_bid":        "The school.",
		"schools_with_rows": "Schools with a row in the dataset's first table.",
		"snapshot_date":     "The date of the snapshot.",
		"started_at":        "When the run was planned.",
		"status":            "`published`, or `replaced` by another run of the date.",
		"table":             "The table.",
		"tool_version":      "The version of growth-export.",
		"total":             "All of them.",
		"warnings":          "Changes that are unusual, but do not hold a run.",
	}[member]
}

func jsonName(field *ast.Field) (name string, optional bool) {
	if field.Tag == nil {
		return "", false
	}
	tag, _ := strconv.Unquote(field.Tag.Value)
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name, strings.HasPrefix(options, "omit")
}

// qualified returns the name of a type with its package.
func qualified(folder string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return qualified(folder, e.X)
	case *ast.SelectorExpr:
		return e.X.(*ast.Ident).Name + "." + e.Sel.Name
	case *ast.Ident:
		return folder + "." + e.Name
	}
	return ""
}

// kind describes the JSON of a type, and adds the structs that it holds to inner.
func (f *format) kind(t *testing.T, folder string, e ast.Expr, inner *[]string) string {
	t.Helper()
	basic := map[string]string{
		"string": "string", "bool": "boolean", "int": "integer", "int64": "integer", "float64": "number", "byte": "Base64",
		"json.RawMessage": "any", "time.Time": "time", "byte array": "Base64",
	}
	switch e := e.(type) {
	case *ast.StarExpr:
		return f.kind(t, folder, e.X, inner)
	case *ast.ArrayType:
		if element := f.kind(t, folder, e.Elt, inner); element != "Base64" {
			return "array of " + element
		}
		return "Base64"
	case *ast.MapType:
		return "object of " + f.kind(t, folder, e.Value, inner)
	}
	name := qualified(folder, e)
	_, short, _ := strings.Cut(name, ".")
	if text := basic[name]; text != "" {
		return text
	}
	if text := basic[short]; text != "" {
		return text
	}
	s := f.structs[name]
	require.NotNil(t, s, "the type %s of a document", name)
	if s.text != nil {
		other, _, _ := strings.Cut(name, ".")
		return f.kind(t, other, s.text, inner)
	}
	if !slices.Contains(*inner, name) {
		*inner = append(*inner, name)
	}
	return fmt.Sprintf("[%s](#%s)", short, cmp.Or(f.anchors[name], strings.ToLower(short)))
}

func sentence(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}

// meaning turns the comment of a struct or field into a text about JSON: it removes the subject and calls fields
// members.
func (f *format) meaning(name, subject, doc string) string {
	if rest, ok := strings.CutPrefix(doc, subject+" "); ok && !strings.HasPrefix(rest, "and ") {
		doc = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	if doc == "" {
		return ""
	}
	for _, field := range f.structs[name].fields {
		member, _ := jsonName(field)
		for _, ident := range field.Names {
			if member != "" && member != "-" {
				doc = regexp.MustCompile(`\b`+ident.Name+`\b`).ReplaceAllString(doc, "`"+member+"`")
			}
		}
	}
	folder, _, _ := strings.Cut(name, ".")
	doc = regexp.MustCompile(`\b[A-Z][a-z]+([A-Z][a-z]+)*\b`).ReplaceAllStringFunc(doc, func(word string) string {
		if anchor := f.anchors[folder+"."+word]; anchor != "" {
			return fmt.Sprintf("[%s](#%s)", word, anchor)
		}
		return word
	})
	doc = regexp.MustCompile(`\bnil\b`).ReplaceAllString(doc, "absent")
	doc = regexp.MustCompile(`[\w/]*<\w+>[\w/.]*\w|--[a-z][a-z-]+|\b_[a-z]+|\b[a-z]+(_[a-z]+)+`).ReplaceAllString(doc, "`$0`")
	doc = strings.ReplaceAll(strings.ReplaceAll(doc, "``", "`"), "|", `\|`)
	if !strings.HasSuffix(doc, ".") {
		doc += "."
	}
	return strings.ToUpper(doc[:1]) + doc[1:]
}
