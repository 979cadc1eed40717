package main

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"
)

// templates are the templates of the Homebrew formula and the winget manifest.
//
//go:embed templates/*.tmpl
var templates embed.FS

// built is an archive of the release that package managers install.
type built struct {
	Name, Sum string
	// Folder is the folder in the archive, and Chip the package manager's name for the architecture.
	Folder, Chip string
}

// system is an operating system that Homebrew supports, and its archives.
type system struct {
	Name     string
	Archives []built
}

// packageFiles returns the files of the Homebrew formula and the winget manifest. It returns no files for a package
// manager if the release has no archive for the systems of that package manager.
func (r *release) packageFiles(sums map[platform]string) ([]file, error) {
	data := struct {
		Project, Download, Version, Date string
		Systems                          []system
		Windows                          []built
	}{
		Project: r.project, Download: r.project + "/releases/download/" + r.version,
		Version: strings.TrimPrefix(r.version, "v"), Date: r.time.Format(time.DateOnly),
	}
	of := func(operatingSystem string, chips map[string]string) []built {
		var archives []built
		for _, p := range r.platforms {
			if p.os == operatingSystem && p.fips == "" && chips[p.arch] != "" {
				archives = append(archives, built{r.archiveName(p), sums[p], r.folder(p), chips[p.arch]})
			}
		}
		return archives
	}
	for operatingSystem, name := range map[string]string{"darwin": "macos", "linux": "linux"} {
		if archives := of(operatingSystem, map[string]string{"amd64": "intel", "arm64": "arm"}); archives != nil {
			data.Systems = append(data.Systems, system{name, archives})
		}
	}
	slices.SortFunc(data.Systems, func(a, b system) int { return strings.Compare(b.Name, a.Name) })
	data.Windows = of("windows", map[string]string{"amd64": "x64", "arm64": "arm64"})

	files := make(map[string]string) // names of templates, by the names of the files
	if data.Systems != nil {
		files["growth-export.rb"] = "growth-export.rb.tmpl"
	}
	if data.Windows != nil {
		for _, kind := range []string{"", ".installer", ".locale.en-US"} {
			files["GrowthExport.GrowthExport"+kind+".yaml"] = "winget" + kind + ".yaml.tmpl"
		}
	}
	all, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	var written []file
	for name, from := range files {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, from, data); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		written = append(written, file{name, b.Bytes(), 0o644})
	}
	return sorted(written), nil
}
