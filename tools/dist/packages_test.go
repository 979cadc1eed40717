package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// somePackages returns the formula and the manifest of a release for the given platforms, by name.
func somePackages(t *testing.T, platforms string) map[string]string {
	t.Helper()
	parsed, err := parsePlatforms(platforms, "v1.0.0")
	require.NoError(t, err)
	r := &release{platforms: parsed, project: "https://example.org/growthexport", version: "v1.2.3", time: time.Unix(1795140000, 0).UTC()}
	sums := make(map[platform]string)
	for _, p := range parsed {
		sums[p] = strings.Repeat(map[string]string{"amd64": "a", "arm64": "b"}[p.arch], 64)
	}
	files, err := r.packageFiles(sums)
	require.NoError(t, err)
	texts := make(map[string]string)
	for _, f := range files {
		texts[f.name] = string(f.content)
	}
	return texts
}

// TestFormula checks the blocks of the formula, and its syntax if there is a Ruby.
func TestFormula(t *testing.T) {
	t.Parallel()
	const all = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"
	formula := somePackages(t, all)["growth-export.rb"]
	depth := 0
	for line := range strings.Lines(formula) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "class", words[0] == "def", words[len(words)-1] == "do":
			depth++
		case words[0] == "end":
			depth--
			require.GreaterOrEqual(t, depth, 0, formula)
		}
	}
	require.Zero(t, depth, formula)
	for system, name := range map[string]string{"macos": "darwin", "linux": "linux"} {
		for _, chip := range []struct{ name, arch, sum string }{{"intel", "amd64", "a"}, {"arm", "arm64", "b"}} {
			block := "    on_" + chip.name + " do\n" +
				"      url \"https://example.org/growthexport/releases/download/v1.2.3/growth-export-v1.2.3-" + name + "-" + chip.arch + ".tar.gz\"\n" +
				"      sha256 \"" + strings.Repeat(chip.sum, 64) + "\"\n    end\n"
			_, within, found := strings.Cut(formula, "  on_"+system+" do\n")
			require.True(t, found, formula)
			within, _, _ = strings.Cut(within, "\n  end\n")
			require.Contains(t, within+"\n", block)
		}
	}
	require.NotContains(t, formula, "fips")
	require.Contains(t, formula, "version \"1.2.3\"\n")
	require.NotContains(t, somePackages(t, "linux/amd64")["growth-export.rb"], "macos")
	require.Empty(t, somePackages(t, "windows/amd64")["growth-export.rb"])

	if ruby, err := exec.LookPath("ruby"); err == nil {
		path := filepath.Join(t.TempDir(), "growth-export.rb")
		require.NoError(t, os.WriteFile(path, []byte(formula), 0o600))
		out, err := exec.CommandContext(t.Context(), ruby, "-c", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// TestWingetManifest validates the manifest by the published schemas of version 1.10.0.
func TestWingetManifest(t *testing.T) {
	t.Parallel()
	texts := somePackages(t, "linux/amd64,windows/amd64,windows/arm64")
	for kind, schema := range map[string]string{"": "version", ".installer": "installer", ".locale.en-US": "defaultLocale"} {
		text := texts["GrowthExport.GrowthExport"+kind+".yaml"]
		compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "winget", schema+".json"))
		require.NoError(t, err)
		var document map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &document))
		require.NoError(t, compiled.Validate(document), text)
		require.Equal(t, schema, document["ManifestType"])
		require.Equal(t, "1.2.3", document["PackageVersion"])
		delete(document, "PackageIdentifier")
		require.Error(t, compiled.Validate(document))
	}
	installer := texts["GrowthExport.GrowthExport.installer.yaml"]
	require.Contains(t, installer, "- Architecture: arm64\n"+
		"  InstallerUrl: https://example.org/growthexport/releases/download/v1.2.3/growth-export-v1.2.3-windows-arm64.zip\n"+
		"  InstallerSha256: "+strings.Repeat("b", 64)+"\n"+
		"  NestedInstallerFiles:\n"+
		"  - RelativeFilePath: growth-export-v1.2.3-windows-arm64\\growth-export.exe\n")
	require.Len(t, somePackages(t, "linux/amd64"), 1)
}
