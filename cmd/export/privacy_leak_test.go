//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/schemas"
)

// TestPrivacyProfilesLeakNothing exports a world in which identifiers, names and dates of birth are planted everywhere,
// under each profile: first without faults, then with faults, killed twice and resumed. None of these may appear in the
// destination, the scratch folder, the output, logs at debug level, metrics or traces.
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

// TestLeaksAreFound checks that, without a profile, the same search finds the planted values in every form that it knows.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	c := newLeakTest(t, &testStorage{root: t.TempDir()}, schemas.Full)
	c.run(exitOK, nil, "--snapshot-date", yesterday())
	found := strings.Join(c.leaks(), "\n")
	for _, where := range []string{"students/", "student_details/", "manifest.json"} {
		require.Contains(t, found, where)
	}
	for _, kind := range []string{"value", "minimum", "maximum"} {
		require.Regexp(t, `student_details/.*: date of birth 18\d\d-07-19, a `+kind, found)
	}
	for _, text := range []string{
		"x" + planted, "xx" + strings.ToUpper(planted), "1812" + odd.PlantedBirthday, hex.EncodeToString([]byte(planted)),
		base64.StdEncoding.EncodeToString([]byte("a " + planted + " b")), base64.URLEncoding.EncodeToString([]byte("ab " + planted + " b")),
		base64.StdEncoding.EncodeToString([]byte(planted + " b")),
	} {
		require.NotEmpty(t, leaksIn([]byte("before "+text+" after")), text)
	}
	require.Empty(t, leaksIn([]byte("zqux 2026-07-19 1812-07-18 planted")))
	page := binary.LittleEndian.AppendUint32([]byte("page"), uint32(odd.PlantedBirth(1812)))
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"date of birth 1812-07-19 in a page"}, leaksIn(encoder.EncodeAll(page, []byte("before "))))
}

func yesterday() string { return time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) }

// planted marks all of the test world's values about people.
const planted = odd.PlantedMark

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
	// waits, if set, reports whether the service leaves the n-th request of the current run unanswered. waiting counts
	// these requests.
	waits             atomic.Pointer[func(n int64) bool]
	requests, waiting atomic.Int64
}

func newLeakTest(t *testing.T, g *testStorage, profile schemas.Profile) *leakTest {
	t.Helper()
	world := simulator.NewWorld(simulator.Options{Seed: 31, SchoolSizes: []int{25, 12, 31}, Schools: 3, Districts: 2, Quirks: odd.Planted{}})
	c := &leakTest{
		t: t, server: simulator.New(world, simulator.ServerOptions{PageSize: 10, ListPageSize: 10}), world: world, traces: newCollector(t, nil),
		dest: g.newDest(), scratch: t.TempDir(), profile: profile,
	}
	listening := httptest.NewServer(c)
	t.Cleanup(listening.Close)
	c.url = listening.URL + c.server.BasePath()
	return c
}

// ServeHTTP makes some requests wait until the process that sent them is killed.
func (c *leakTest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.requests.Add(1)
	if waits := c.waits.Load(); waits != nil && (*waits)(n) {
		c.waiting.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client is gone
		<-r.Context().Done()
		return
	}
	c.server.ServeHTTP(w, r)
}

// command returns a process with the credentials of the service, the privacy key and the URL of the traces.
func (c *leakTest) command(name string, flags ...string) *process {
	c.t.Helper()
	p := c.dest.command(c.t, name, flags...)
	p.cmd.Env = append(p.cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret,
		privacyKeyVariable+"="+testPrivacyKey, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.traces.URL)
	return p
}

// run exports all datasets. If waits is set, the process is killed once a request waits for its answer.
func (c *leakTest) run(code int, waits func(n int64) bool, flags ...string) {
	c.t.Helper()
	c.requests.Store(0)
	c.waiting.Store(0)
	var kill waitFunc
	if c.waits.Store(nil); waits != nil {
		c.waits.Store(&waits)
		kill = afterCondition(func() bool { return c.waiting.Load() > 0 })
	}
	result := c.command("run", slices.Concat([]string{
		"--base-url", c.url, "--datasets", "all", "--schools-per-file", "1", "--privacy", string(c.profile), "--scratch", c.scratch,
		"--log-level", "debug", "--progress", "plain", "--output", "json", "--concurrency", "4", "--retries", "4", "--request-timeout", "5s",
	}, flags)...).runUntil(kill)
	c.say(result)
	require.Equal(c.t, waits != nil, result.killed, result.stderr)
	if waits == nil {
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
		{Operation: "school_classes", School: schools[2].Bid, Kind: simulator.FaultBody, Body: `{"` + planted + `":{"student":"` + planted + `"}}`},
		{Operation: "student_details", Kind: simulator.FaultStatus, Status: http.StatusNotFound, Share: 0.1},
	}, simulator.TransientFaults(0.1, 100*time.Millisecond)...))
	today := func(waits func(n int64) bool) {
		c.t.Helper()
		c.run(exitPartial, waits, "--run-id", "today", "--max-failed-schools", "3", "--max-shrink", "off", "--history", "--delta-lake")
		c.requireNoLeak()
	}
	staged := func() int {
		checkpoints, _ := os.ReadDir(c.dest.path("_runs/today/journal"))
		return len(checkpoints)
	}
	today(func(n int64) bool { return n > 100 })
	before := staged()
	today(func(int64) bool { return staged() > before+3 })
	today(nil)
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

// leaks returns the places where planted values were found.
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
				return nil //nolint:nilerr // the commands may have removed it
			}
			data, err := os.ReadFile(path)
			if err == nil {
				files++
				look("name of "+path, []byte(strings.TrimPrefix(path, root)))
				look(path, data)
				for _, birth := range birthsIn(c.t, data) {
					found = append(found, path+": "+birth)
				}
			}
			return nil
		}))
	}
	if server := c.dest.storage.server; server != nil {
		// The server keeps the parts of incomplete uploads in a folder of its own.
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

// birthsIn returns the planted dates of birth among the values of a Parquet file and in its bounds. It returns none for
// unfinished files, which cannot be read.
func birthsIn(t *testing.T, data []byte) []string {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var found []string
	look := func(kind string, days int32) {
		if at := simulator.Day(days); isBirth(at) {
			found = append(found, "date of birth "+at.String()+", a "+kind)
		}
	}
	eachValue(t, file, func(v parquet.Value) {
		if v.Kind() == parquet.Int32 {
			look("value", v.Int32())
		}
	})
	bounds := func(kind string, bounds ...[]byte) {
		for _, bound := range bounds {
			if len(bound) == 4 {
				look(kind, int32(binary.LittleEndian.Uint32(bound)))
			}
		}
	}
	for _, index := range file.ColumnIndexes() {
		bounds("minimum", index.MinValues...)
		bounds("maximum", index.MaxValues...)
	}
	for _, group := range file.Metadata().RowGroups {
		for i := range group.Columns {
			statistics := &group.Columns[i].MetaData.Statistics
			bounds("minimum", statistics.MinValue)
			bounds("maximum", statistics.MaxValue)
		}
	}
	return found
}

// isBirth reports whether a day can only be a planted date of birth.
func isBirth(day simulator.Day) bool {
	if day >= 0 || day < odd.PlantedBirth(1800) {
		return false
	}
	year := day.Time().Year()
	return year < 1900 && day == odd.PlantedBirth(year)
}

var birthText = regexp.MustCompile(`18\d\d` + odd.PlantedBirthday)

// leaksIn returns the planted values in the data: as text in any case, in hexadecimal, and in base64 at any offset. It
// also searches inside zstd frames, where dates of birth may be 32-bit numbers of days. No character of the mark is
// escaped in URLs.
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
		page, _ := decoder.DecodeAll(rest, nil) // it always fails, because more data follows the frame
		found = append(found, leaksInPlain(page)...)
		for i := range len(page) - 3 {
			if day := simulator.Day(int32(binary.LittleEndian.Uint32(page[i:]))); isBirth(day) {
				found = append(found, "date of birth "+day.String()+" in a page")
			}
		}
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
		// The first characters also depend on the bytes before, the last ones on the bytes after.
		text = text[[]int{0, 2, 3}[offset] : len(text)-1]
		if bytes.Contains(data, []byte(text)) {
			found = append(found, "base64 "+text)
		}
	}
	for _, date := range birthText.FindAll(data, -1) {
		found = append(found, string(date))
	}
	return found
}
