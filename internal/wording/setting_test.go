package wording_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/wording"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	require.Equal(t, "growth-export status", wording.Command("status"))
	require.Equal(t, `growth-export prune --dest 'it'\''s here' --keep-days 90 --dry-run`,
		wording.Command("prune", wording.Setting("dest"), "it's here", wording.Setting("keep-days"), 90, wording.Setting("dry-run")))
}

// TestFlagsAreSettings expects that string literals of internal packages do not spell out flags. A test of cmd/export
// checks that each Setting is a flag.
func TestFlagsAreSettings(t *testing.T) {
	t.Parallel()
	flag, read := regexp.MustCompile(`(^|[^-])--[a-z]`), 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file := files.AddFile(path, -1, len(code))
		var s scanner.Scanner
		s.Init(file, code, nil, 0)
		for pos, kind, text := s.Scan(); kind != token.EOF; pos, kind, text = s.Scan() {
			if kind == token.STRING {
				read++
				require.False(t, flag.MatchString(text), "%s: %s contains a flag: use wording.Setting or wording.Command", files.Position(pos), text)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, read, 1000)
}
