//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

const testPrivacyKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// TestPrivacyProfilesLeakNothing exports from a service that plants identifiers, names and dates of birth everywhere,
// under each profile: quiet, then with faults, killed and resumed. What it has planted is in no byte of the
// destination, the scratch folder, the output, logs at debug level, metrics and traces.
func TestPrivacyProfilesLeakNothing(t *testing.T) {
	t.Parallel()
	onDiskAndS3(t, func(t *testing.T, g *testStorage) {
		t.Helper()
		for _, profile := range []schemas.Profile{schemas.Pseudonymous, schemas.Minimal} {
			t.Run(string(profile), func(t *testing.T) {
				t.Parallel()
				c := newLeakTest(t, g, profile)
				c.export()
				c.requireNoLeak()
			})
		}
	})
}

// TestLeaksAreFound: without a profile the same search finds what is planted, and in all forms that it knows.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	c := newLeakTest(t, &testStorage{root: t.TempDir()}, schemas.Full)
	c.run(exitOK, nil, "--snapshot-date", yesterday())
	found := strings.Join(c.leaks(), "\n")
	for _, where := range []string{"students/", "student_details/", "manifest.json"} {
		require.Contains(t, found, where)
	}
	for _, text := range []string{
		"x" + planted, "xx" + strings.ToUpper(planted), "2012" + plantedDay, hex.EncodeToString([]byte(planted)),
		base64.StdEncoding.EncodeToString([]byte("a " + planted + " b")), base64.URLEncoding.EncodeToString([]byte("ab " + planted + " b")),
		base64.StdEncoding.EncodeToString([]byte(planted + " b")),
	} {
		require.NotEmpty(t, leaksIn([]byte("before "+text+" after")), text)
	}
	require.Empty(t, leaksIn([]byte("zqux 2026-07-19 planted")))
}

func yesterday() string { return time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) }

type leakTest struct {
	t       *testing.T
	server  *simulator.Server
	world   *simulator.World
	url     string
	traces  *collector
	dest    *testDest
	scratch string
	profile schemas.Profile
	said    bytes.Buffer
}

func newLeakTest(t *testing.T, g *testStorage, profile schemas.Profile) *leakTest {
	t.Helper()
	world := simulator.NewWorld(simulator.Options{Seed: 31, SchoolSizes: []int{25, 12, 31}, Schools: 3, Districts: 2})
	server := simulator.New(world, simulator.ServerOptions{PageSize: 10, ListPageSize: 10})
	listening := httptest.NewServer(plant(server))
	t.Cleanup(listening.Close)
	return &leakTest{
		t: t, server: server, world: world, url: listening.URL + server.BasePath(), traces: newCollector(t, nil),
		dest: g.newDest(), scratch: t.TempDir(), profile: profile,
	}
}

// command returns a process with a profile whose output is searched.
func (c *leakTest) command(name string, flags ...string) *process {
	c.t.Helper()
	p := c.dest.command(c.t, name, flags...)
	p.cmd.Env = append(p.cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret,
		privacyKeyVariable+"="+testPrivacyKey, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.traces.URL)
	return p
}

// run exports all datasets; kill may end it early.
func (c *leakTest) run(code int, kill waitFunc, flags ...string) {
	c.t.Helper()
	result := c.command("run", slices.Concat([]string{
		"--base-url", c.url, "--datasets", "all", "--schools-per-file", "1", "--privacy", string(c.profile), "--scratch", c.scratch,
		"--log-level", "debug", "--progress", "plain", "--output", "json", "--concurrency", "4", "--retries", "4", "--request-timeout", "5s",
	}, flags)...).runUntil(kill)
	c.say(result)
	if !result.killed {
		require.Equal(c.t, code, result.code, result.stderr)
	}
}

func (c *leakTest) say(result processResult) {
	c.said.WriteString(result.stdout + result.stderr)
}

// export takes snapshots of all kinds, with history and Delta logs, and calls the commands that read them.
func (c *leakTest) export() {
	c.t.Helper()
	c.run(exitOK, nil, "--snapshot-date", yesterday(), "--history", "--delta-lake")
	c.run(exitOK, nil, "--effective-date", yesterday())
	c.run(exitOK, nil, "--modified-since", "2026-01-01", "--run-id", "delta")

	schools := c.world.Schools()
	c.server.SetFaults(append([]simulator.Fault{
		{Operation: "test_results", School: schools[1].Bid, Kind: simulator.FaultStatus, Status: http.StatusConflict},
		{Operation: "school_classes", School: schools[2].Bid, Kind: simulator.FaultBody},
		{Operation: "student_details", Kind: simulator.FaultStatus, Status: http.StatusNotFound, Share: 0.1},
	}, simulator.TransientFaults(0.1, 100*time.Millisecond)...))
	staged := c.dest.path("_runs/today/journal")
	for _, kill := range []waitFunc{afterDelay(700 * time.Millisecond), afterCondition(func() bool {
		files, _ := os.ReadDir(staged)
		return len(files) > 5
	}), nil} {
		c.run(exitPartial, kill, "--run-id", "today", "--max-failed-schools", "3", "--max-shrink", "off", "--history", "--delta-lake")
		c.requireNoLeak()
	}
	for _, args := range [][]string{
		{"status"}, {"verify"}, {"verify", "--history"}, {"diff"}, {"report", "--run-id", "today"}, {"sql"}, {"sql", "--history"}, {"publish", "--run-id", "nothing"},
	} {
		c.say(c.command(args[0], append(args[1:], "--log-level", "debug")...).run())
	}
}

func (c *leakTest) requireNoLeak() {
	c.t.Helper()
	if found := c.leaks(); len(found) > 0 {
		require.Fail(c.t, "planted values leaked", "%s", strings.Join(found[:min(len(found), 20)], "\n"))
	}
}

// leaks returns where something planted is.
func (c *leakTest) leaks() []string {
	c.t.Helper()
	var found []string
	look := func(where string, data []byte) {
		for _, text := range leaksIn(data) {
			found = append(found, where+": "+text)
		}
	}
	files := 0
	for _, root := range []string{c.dest.folder, c.scratch} {
		require.NoError(c.t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // The commands may have removed it.
			}
			data, err := os.ReadFile(path)
			if err == nil {
				files++
				look("name of "+path, []byte(strings.TrimPrefix(path, root)))
				look(path, data)
			}
			return nil
		}))
	}
	if server := c.dest.storage.server; server != nil {
		// Parts of uploads that are not complete are elsewhere in the bucket's folder.
		require.NoError(c.t, filepath.WalkDir(filepath.Join(c.dest.storage.root, ".sgwtmp"), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				if data, err := os.ReadFile(path); err == nil {
					files++
					look(path, data)
				}
			}
			return nil
		}))
	}
	require.Greater(c.t, files, 10)
	look("output", c.said.Bytes())
	c.traces.mu.Lock()
	defer c.traces.mu.Unlock()
	require.NotZero(c.t, c.traces.bodies.Len())
	look("telemetry", []byte(c.traces.bodies.String()))
	return found
}

var plantedDate = regexp.MustCompile(`(?:19|20)\d\d` + plantedDay)

// leaksIn returns what is planted in the data: as it is in any case, in hexadecimal, in base64 at any offset, and all of
// it in zstd frames too. The marker has no character that URLs escape.
func leaksIn(data []byte) []string {
	found := leaksInPlain(data)
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return append(found, err.Error())
	}
	defer decoder.Close()
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for rest := data; ; rest = rest[1:] {
		at := bytes.Index(rest, magic)
		if at < 0 {
			return found
		}
		rest = rest[at:]
		page, _ := decoder.DecodeAll(rest, nil) // the error is that something follows the frame
		found = append(found, leaksInPlain(page)...)
	}
}

func leaksInPlain(data []byte) []string {
	var found []string
	lower := bytes.Clone(data)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	for _, form := range []string{planted, hex.EncodeToString([]byte(planted))} {
		if at := bytes.Index(lower, []byte(form)); at >= 0 {
			found = append(found, strings.ToValidUTF8(string(data[max(0, at-60):min(len(data), at+60)]), "?"))
		}
	}
	for offset := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte("xx"[:offset] + planted))
		// The first characters depend on what is in front, the last on what follows.
		text = text[[]int{0, 2, 3}[offset] : len(text)-1]
		if bytes.Contains(data, []byte(text)) {
			found = append(found, "base64 "+text)
		}
	}
	for _, date := range plantedDate.FindAll(data, -1) {
		if string(date) < plantedYear {
			found = append(found, string(date))
		}
	}
	return found
}
