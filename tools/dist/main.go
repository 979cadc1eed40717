package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// platform is an operating system and an architecture. fips is the frozen cryptographic module to link in, or "" for
// the module of the Go release.
type platform struct{ os, arch, fips string }

// String returns the name of the platform, as it appears in the names of archives.
func (p platform) String() string {
	if p.fips == "" {
		return p.os + "-" + p.arch
	}
	return p.os + "-" + p.arch + "-fips"
}

// parsePlatforms returns the platforms in a list that is separated by commas. Unless fips is empty, each Linux platform
// occurs a second time with that frozen module.
func parsePlatforms(list, fips string) ([]platform, error) {
	var platforms []platform
	for word := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(word, "/")
		if !ok {
			return nil, fmt.Errorf("%q is not a platform such as linux/amd64", word)
		}
		platforms = append(platforms, platform{os: system, arch: arch})
		if fips != "" && system == "linux" {
			platforms = append(platforms, platform{system, arch, fips})
		}
	}
	return platforms, nil
}

// release describes the release to make.
type release struct {
	platforms []platform
	source    string // the root of the repository
	out       string
	project   string // URL of the project, below which releases are published
	version   string
	commit    string
	time      time.Time // modification time of every file in an archive
}

func main() {
	r := release{}
	var seconds int64
	list := flag.String("platforms", runtime.GOOS+"/"+runtime.GOARCH, "platforms to build for, separated by commas")
	fips := flag.String("fips", "", "value of GOFIPS140 for additional Linux archives; if empty, there are no such archives")
	flag.StringVar(&r.source, "source", ".", "root of the repository")
	flag.StringVar(&r.out, "out", "dist", "folder to write to; its previous contents are removed")
	flag.StringVar(&r.project, "project", "", "URL of the project; archives are published below it")
	flag.StringVar(&r.version, "version", "", "version of the release")
	flag.StringVar(&r.commit, "commit", "", "commit of the release")
	flag.Int64Var(&seconds, "time", 0, "time of the commit, in seconds since 1970")
	flag.Parse()
	r.time = time.Unix(seconds, 0).UTC()
	var err error
	if r.platforms, err = parsePlatforms(*list, *fips); err == nil {
		err = r.make(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// make builds the command for all platforms and writes the files of the release to r.out, which it empties first.
func (r *release) make(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return fmt.Errorf("empty the folder: %w", err)
	}
	work, err := os.MkdirTemp("", "dist-*")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // only binaries, which have been packed
	host := filepath.Join(work, "host")
	if err := r.build(ctx, platform{os: runtime.GOOS, arch: runtime.GOARCH}, host); err != nil {
		return err
	}
	common, err := r.commonFiles(ctx, host)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	var lines strings.Builder
	sums := make(map[platform]string)
	write := func(name string, content []byte) (sum string, err error) {
		sum = fmt.Sprintf("%x", sha256.Sum256(content))
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
		return sum, os.WriteFile(filepath.Join(r.out, name), content, 0o644)
	}
	for _, p := range r.platforms {
		binary := filepath.Join(work, p.String())
		if err := r.build(ctx, p, binary); err != nil {
			return err
		}
		archive, components, err := r.pack(ctx, p, binary, common)
		if err == nil {
			sums[p], err = write(r.archiveName(p), archive)
		}
		if err == nil {
			_, err = write(r.folder(p)+".cdx.json", components)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	packages, err := r.packageFiles(sums)
	if err != nil {
		return err
	}
	for _, f := range packages {
		if _, err := write(f.name, f.content); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	fmt.Fprint(os.Stdout, lines.String())
	return nil
}

// folder returns the name of the folder that a platform's archive contains.
func (r *release) folder(p platform) string { return fmt.Sprintf("growth-export-%s-%s", r.version, p) }

// archiveName returns the name of a platform's archive.
func (r *release) archiveName(p platform) string {
	if p.os == "windows" {
		return r.folder(p) + ".zip"
	}
	return r.folder(p) + ".tar.gz"
}

// build compiles the command for a platform and writes the binary to a file.
func (r *release) build(ctx context.Context, p platform, to string) error {
	_, err := r.run(ctx, []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOTOOLCHAIN=local",
		"GOFIPS140=" + cmp.Or(p.fips, "off"),
	}, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version+" -X main.commit="+r.commit, "-o", to, "./cmd/export")
	return err
}

// pack returns the archive of a platform and its bill of materials.
func (r *release) pack(ctx context.Context, p platform, binary string, common []file) (archive, components []byte, err error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, nil, fmt.Errorf("read the binary: %w", err)
	}
	modules, err := readModules(binary)
	if err != nil {
		return nil, nil, err
	}
	licences, err := r.licences(ctx, modules)
	if err != nil {
		return nil, nil, err
	}
	components, err = r.billOfMaterials(p, modules, sha256.Sum256(content))
	if err != nil {
		return nil, nil, err
	}
	executable, packed := "growth-export", tarred
	if p.os == "windows" {
		executable, packed = "growth-export.exe", zipped
	}
	files := append([]file{
		{executable, content, 0o755}, {"THIRD-PARTY-LICENSES.txt", licences, 0o644}, {"sbom.cdx.json", components, 0o644},
	}, common...)
	archive, err = packed(r.folder(p), files, r.time)
	return archive, components, err
}

// commonFiles returns the files that all archives contain: documents, completion files and manual pages. The last two
// are generated by the command at the path host, which is built for this machine.
func (r *release) commonFiles(ctx context.Context, host string) ([]file, error) {
	var files []file
	for _, name := range []string{"README.md", "CHANGELOG.md", "SECURITY.md", "examples/config/nightly.yaml"} {
		content, err := os.ReadFile(filepath.Join(r.source, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
		files = append(files, file{filepath.Base(name), content, 0o644})
	}
	for shell, name := range map[string]string{"bash": "growth-export.bash", "zsh": "_growth-export", "fish": "growth-export.fish"} {
		script, err := r.run(ctx, nil, host, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/" + name, script, 0o644})
	}
	pages, err := r.manualPages(ctx, host)
	return append(files, pages...), err
}

// run runs a command in the source folder, with additional environment variables, and returns its output.
func (r *release) run(ctx context.Context, environ []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), environ...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, cmp.Or(strings.TrimSpace(stderr.String()), "no message"))
	}
	return out, nil
}
