package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamedSettingsExist reads the code of the internal packages and expects that every wording.Setting is a flag, and that
// every wording.Command has flags of that command.
func TestNamedSettingsExist(t *testing.T) {
	t.Parallel()
	flags := make(map[string]map[string]bool) // by command; every flag under ""
	flags[""] = make(map[string]bool)
	a, _, _ := testApp(nil)
	for _, cmd := range a.rootCommand(nil).Commands() {
		flags[cmd.Name()] = make(map[string]bool)
		for _, name := range flagNames(cmd) {
			flags[""][name], flags[cmd.Name()][name] = true, true
		}
	}
	named, commands := 0, 0
	err := filepath.WalkDir("../../internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			where := func() string { return files.Position(node.Pos()).String() }
			if setting, ok := wordingCall(node, "Setting"); ok {
				if text, ok := literal(setting.Args[0]); ok {
					named++
					require.True(t, flags[""][text], "%s: no command has --%s", where(), text)
				}
			}
			if command, ok := wordingCall(node, "Command"); ok {
				name, isLiteral := literal(command.Args[0])
				if !isLiteral {
					return true
				}
				commands++
				require.Contains(t, flags, name, where())
				for _, word := range command.Args[1:] {
					if setting, ok := wordingCall(word, "Setting"); ok {
						text, _ := literal(setting.Args[0])
						require.True(t, flags[name][text], "%s: %s has no --%s", where(), name, text)
					}
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, named, 50)
	require.Greater(t, commands, 10)
}

// literal returns the text of a literal string.
func literal(node ast.Node) (string, bool) {
	if l, ok := node.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, err := strconv.Unquote(l.Value)
		return text, err == nil
	}
	return "", false
}

// wordingCall returns a call of a function, or conversion to a type, of package wording.
func wordingCall(node ast.Node, name string) (*ast.CallExpr, bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || function.Sel.Name != name {
		return nil, false
	}
	from, ok := function.X.(*ast.Ident)
	return call, ok && from.Name == "wording"
}
