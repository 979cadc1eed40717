package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// module is a Go module that is linked into the command.
type module struct {
	path, version string
}

// readModules returns the modules that are linked into a binary, with Go's standard library as the module std.
func readModules(binary string) ([]module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the modules of the binary: %w", err)
	}
	modules := []module{{"std", info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced: a release must be built from the original modules", m.Path)
		}
		modules = append(modules, module{m.Path, m.Version})
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules, nil
}

// licenceFile matches the names of files in a module that its licence requires to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(-[a-z0-9]+)*([.](txt|md|rst))?$`)

// licences returns the licences of the modules. A text that several modules share occurs only once.
func (r *release) licences(ctx context.Context, modules []module) ([]byte, error) {
	folders, err := r.folders(ctx)
	if err != nil {
		return nil, err
	}
	var texts []string
	owners := make(map[string][]string)
	for _, m := range modules {
		found, err := licenceTexts(folders[m.path])
		if err != nil {
			return nil, fmt.Errorf("read the licence of %s: %w", m.path, err)
		}
		for _, text := range found {
			if owners[text] == nil {
				texts = append(texts, text)
			}
			owners[text] = append(owners[text], m.path+" "+m.version)
		}
	}
	var b bytes.Buffer
	b.WriteString("growth-export contains the following modules, under these licences.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// folders returns the folder of each module's sources, by the path of the module.
func (r *release) folders(ctx context.Context) (map[string]string, error) {
	out, err := r.run(ctx, nil, "go", "list", "-mod=readonly", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	goroot, err := r.run(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"std": strings.TrimSpace(string(goroot))}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		folders[m.Path] = m.Dir
	}
}

// licenceTexts returns the contents of the licence files in a module's folder. It returns an error if there are no such
// files.
func licenceTexts(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is no licence file in %s", folder)
	}
	return texts, nil
}

// component is an entry of a bill of materials.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// billOfMaterials returns a list of the modules of a binary, in the format of CycloneDX 1.6.
func (r *release) billOfMaterials(p platform, modules []module, sum [sha256.Size]byte) ([]byte, error) {
	purl := func(m module) string { return "pkg:golang/" + m.path + "@" + m.version }
	this := component{
		Type: "application", Name: "growth-export", Version: r.version,
		PURL:   "pkg:golang/example.org/growthexport@" + r.version + "?goarch=" + p.arch + "&goos=" + p.os,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	this.Ref = this.PURL
	components, refs := []component{}, []string{}
	for _, m := range modules {
		components = append(components, component{Type: "library", Ref: purl(m), Name: m.path, Version: m.version, PURL: purl(m)})
		refs = append(refs, purl(m))
	}
	document := map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.time.Format(time.RFC3339), "component": this,
			"properties": []map[string]string{{"name": "go", "value": runtime.Version()}, {"name": "GOFIPS140", "value": cmp.Or(p.fips, "off")}},
		},
		"components":   components,
		"dependencies": []map[string]any{{"ref": this.Ref, "dependsOn": refs}},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return b.Bytes(), nil
}
