package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is the output of `go list` for a package.
type listed struct {
	ImportPath   string
	Standard     bool
	Module       *struct{ Path string }
	Imports      []string
	TestImports  []string
	XTestImports []string
	CgoFiles     []string
	GoFiles      []string
}

// ours reports whether the package belongs to this module, and returns its path within the module.
func (p *listed) ours() (path string, ok bool) {
	return strings.CutPrefix(p.ImportPath, module+"/")
}

// list returns the packages that go list prints with these flags, by import path.
func list(t *testing.T, flags ...string) map[string]*listed {
	t.Helper()
	args := append([]string{
		"list", "-json=ImportPath,Standard,Module,Imports,TestImports,XTestImports,CgoFiles,GoFiles",
	}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	packages := map[string]*listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			require.NoError(t, err)
		}
		packages[p.ImportPath] = &p
	}
	require.NotEmpty(t, packages)
	return packages
}

// split divides imports into packages of this module, other modules, and the standard library. Paths that are missing
// in packages count as modules, because go list does not list the imports of tests.
func split(packages map[string]*listed, imports []string) (ours, modules, std []string) {
	for _, path := range imports {
		p := packages[path]
		below, isOurs := strings.CutPrefix(path, module+"/")
		switch {
		case isOurs:
			ours = append(ours, below)
		case p == nil:
			modules = append(modules, path)
		case p.Standard:
			std = append(std, path)
		default:
			modules = append(modules, p.Module.Path)
		}
	}
	slices.Sort(ours)
	slices.Sort(modules)
	return slices.Compact(ours), slices.Compact(modules), std
}

func TestEveryPackageHasARule(t *testing.T) {
	t.Parallel()
	table := rules()
	require.NotEmpty(t, table)
	var found []string
	for _, p := range list(t, "./...") {
		path, ok := p.ours()
		require.True(t, ok, "%s: a package at the top of the module", p.ImportPath)
		found = append(found, path)
	}
	var ruled []string
	for path, r := range table {
		require.NotEmpty(t, r.why, "%s: a rule gives its reason", path)
		ruled = append(ruled, path)
	}
	require.ElementsMatch(t, ruled, found, "packages in the table, and existing packages")
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages := list(t, "-deps", "./...")
	table := rules()
	require.NotEmpty(t, table)
	for path, r := range table {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := packages[module+"/"+path]
			require.NotNil(t, p, "no such package")
			ours, modules, std := split(packages, p.Imports)
			require.ElementsMatch(t, r.ours, ours, "imported packages of this module: %s", r.why)
			require.ElementsMatch(t, r.modules, modules, "imported modules: %s", r.why)
			for _, imported := range std {
				for _, root := range r.not {
					require.False(t, imported == root || strings.HasPrefix(imported, root+"/"),
						"imports %s: %s", imported, r.why)
				}
			}
		})
	}
}

func TestImportsOfTests(t *testing.T) {
	t.Parallel()
	packages := list(t, "./...")
	table := rules()
	require.NotEmpty(t, table)
	for path, r := range table {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := packages[module+"/"+path]
			require.NotNil(t, p, "no such package")
			ours, _, _ := split(packages, slices.Concat(p.TestImports, p.XTestImports))
			require.Subset(t, slices.Concat([]string{path}, r.ours, r.tests), ours,
				"packages of this module imported by tests: %s", r.why)
		})
	}
}

// TestLinked checks which modules are linked into the command, directly or indirectly, and that no package needs a C
// compiler.
func TestLinked(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range list(t, "-deps", "./cmd/export") {
		if p.Standard {
			continue
		}
		require.Empty(t, p.CgoFiles, "%s needs cgo: the command is built with Go alone", p.ImportPath)
		if _, ok := p.ours(); !ok {
			found[family(p.Module.Path)] = true
		}
	}
	var modules, wanted []string
	for path := range found {
		modules = append(modules, path)
	}
	for path, reason := range linked() {
		require.NotEmpty(t, reason, path)
		wanted = append(wanted, path)
	}
	require.ElementsMatch(t, wanted, modules, "allowed modules, and linked modules")
}

// family returns the entry of linked for a module, or the module itself.
func family(module string) string {
	for entry := range linked() {
		root, ok := strings.CutSuffix(entry, "/...")
		if ok && (module == root || strings.HasPrefix(module, root+"/")) {
			return entry
		}
	}
	return module
}

// TestEveryPackageIsDescribed checks that each package has a doc.go.
func TestEveryPackageIsDescribed(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "./...") {
		require.Contains(t, p.GoFiles, "doc.go", p.ImportPath)
	}
}
