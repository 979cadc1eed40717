package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const commandHelp = `Takes a snapshot: plans, fetches,
checks and publishes.

Usage: growth-export run [--flags]
Examples:
  growth-export run --simulate
  growth-export run --base-url https://host

Common options:
  --base-url URL        root of the service
                        (default none) [GROWTH_EXPORT_BASE_URL]
  --simulate            use a simulated service (default off)
  --a-flag-that-is-long WORD
                        its text

Precedence: flag,
default.
`

func TestParseHelp(t *testing.T) {
	t.Parallel()
	h := parseHelp([]byte(commandHelp))
	require.Equal(t, help{
		intro: "Takes a snapshot: plans, fetches, checks and publishes.", usage: "growth-export run [--flags]", notes: "Precedence: flag, default.",
		examples: []string{"  growth-export run --simulate", "  growth-export run --base-url https://host"},
		options: []option{
			{"Common options", "--base-url", "URL", "root of the service (default none) [GROWTH_EXPORT_BASE_URL]"},
			{"Common options", "--simulate", "", "use a simulated service (default off)"},
			{"Common options", "--a-flag-that-is-long", "WORD", "its text"},
		},
	}, h)
	page := string((&release{version: "v1.2.3"}).commandPage(option{name: "run", text: "Takes a snapshot"}, h))
	require.Contains(t, page, ".SH NAME\ngrowth\\-export\\-run \\- takes a snapshot\n")
	require.Contains(t, page, ".TP\n\\fB\\-\\-base\\-url\\fR \\fIURL\\fR\nroot of the service (default none)")
}

func TestRoff(t *testing.T) {
	t.Parallel()
	require.Equal(t, `\&.hidden \e \-x`, roff(`.hidden \ -x`))
}

// TestArchives checks that archives hold the files in order, with one time, and do not depend on the order in which the
// files are given.
func TestArchives(t *testing.T) {
	t.Parallel()
	modified := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	files := []file{{"b", []byte("two"), 0o644}, {"a", []byte("one"), 0o755}}
	turned := []file{files[1], files[0]}

	first, err := tarred("folder", files, modified)
	require.NoError(t, err)
	second, err := tarred("folder", turned, modified)
	require.NoError(t, err)
	require.Equal(t, first, second)
	unpacked, err := gzip.NewReader(bytes.NewReader(first))
	require.NoError(t, err)
	var names []string
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.True(t, modified.Equal(header.ModTime))
		names = append(names, header.FileInfo().Mode().String()+" "+header.Name)
	}
	require.Equal(t, []string{"-rwxr-xr-x folder/a", "-rw-r--r-- folder/b"}, names)

	first, err = zipped("folder", files, modified)
	require.NoError(t, err)
	second, err = zipped("folder", turned, modified)
	require.NoError(t, err)
	require.Equal(t, first, second)
	archive, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	require.NoError(t, err)
	require.Len(t, archive.File, 2)
	require.Equal(t, "folder/a", archive.File[0].Name)
}

func TestLicenceTexts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := licenceTexts(folder)
	require.ErrorContains(t, err, "there is no licence file in")
	for _, name := range []string{"LICENSE", "NOTICE.txt", "licence.go", "README"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name+"\r\n"), 0o600))
	}
	texts, err := licenceTexts(folder)
	require.NoError(t, err)
	require.Equal(t, []string{"LICENSE", "NOTICE.txt"}, texts)
}

// TestBillOfMaterials lists the modules of a real binary, because test binaries record only Go itself.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	modules, err := readModules(self)
	require.NoError(t, err)
	modules = append(modules, module{"example.org/some/module", "v1.2.3"})
	r := &release{version: "v1.2.3", time: time.Unix(1795140000, 0).UTC()}
	text, err := r.billOfMaterials(platform{"linux", "amd64", "v1.0.0"}, modules, sha256.Sum256(nil))
	require.NoError(t, err)
	var bill struct {
		BOMFormat  string
		Components []component
	}
	require.NoError(t, json.Unmarshal(text, &bill))
	require.Equal(t, "CycloneDX", bill.BOMFormat)
	require.Len(t, bill.Components, len(modules))
	require.Contains(t, string(text), `"pkg:golang/example.org/some/module@v1.2.3"`)
	require.Contains(t, string(text), `"pkg:golang/std@go1.`)
	require.Regexp(t, `"name": "GOFIPS140",\s+"value": "v1.0.0"`, string(text))
}

func TestParsePlatforms(t *testing.T) {
	t.Parallel()
	platforms, err := parsePlatforms("linux/amd64,windows/amd64", "v1.0.0")
	require.NoError(t, err)
	var names []string
	for _, p := range platforms {
		names = append(names, p.String())
	}
	require.Equal(t, []string{"linux-amd64", "linux-amd64-fips", "windows-amd64"}, names)
	platforms, err = parsePlatforms("linux/amd64", "")
	require.NoError(t, err)
	require.Len(t, platforms, 1)
	_, err = parsePlatforms("linux", "")
	require.Error(t, err)
}
