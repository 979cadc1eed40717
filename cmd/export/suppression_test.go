//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// suppressionTest is a destination of nightly runs whose students are suppressed under testPrivacyKey.
type suppressionTest struct {
	t       *testing.T
	dest    *testDest
	scratch string
	key     string   // the privacy key of the commands
	env     []string // of the commands too
	said    bytes.Buffer
	code    int // that runs must end with
}

func newSuppressionTest(t *testing.T, g *testStorage) *suppressionTest {
	t.Helper()
	return &suppressionTest{t: t, dest: g.newDest(), scratch: t.TempDir(), key: testPrivacyKey}
}

func (s *suppressionTest) run(name string, flags ...string) processResult {
	s.t.Helper()
	p := s.dest.command(s.t, name, flags...)
	p.cmd.Env = append(p.cmd.Env, s.env...)
	if s.key != "" {
		p.cmd.Env = append(p.cmd.Env, privacyKeyVariable+"="+s.key)
	}
	result := p.run()
	s.said.WriteString(result.stdout + result.stderr)
	require.Equal(s.t, s.code, result.code, result.stderr)
	return result
}

// night exports the n-th night.
func (s *suppressionTest) night(n int, flags ...string) processResult {
	s.t.Helper()
	date := time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	return s.run("run", slices.Concat([]string{
		"--simulate", "--simulate-quirks", "--simulate-schools", "3", "--simulate-sizes", "40,30,20", "--simulate-date", date, "--snapshot-date", date,
		"--backdate", "--datasets", "all", "--schools-per-file", "2", "--history", "--delta-lake", "--scratch", s.scratch, "--log-level", "debug",
		"--progress", "plain", "--max-shrink", "off", "--max-changed", "off", "--max-emptied", "off", "--max-removed", "off",
	}, flags)...)
}

// students returns the bids of the students of the newest snapshot, and the numbers of each.
func (s *suppressionTest) students() map[string][]string {
	s.t.Helper()
	found := make(map[string][]string)
	paths, err := filepath.Glob(s.dest.path("students/snapshot_date=*/*.parquet"))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, paths)
	for _, path := range paths {
		rows, err := parquet.ReadFile[struct {
			Bid    *string `parquet:"student_bid"`
			Number *string `parquet:"student_id"`
		}](path)
		require.NoError(s.t, err)
		for _, row := range rows {
			if row.Bid != nil && *row.Bid != "" && row.Number != nil && len(*row.Number) > 5 {
				found[*row.Bid] = append(found[*row.Bid], *row.Number)
			}
		}
	}
	return found
}

// traces returns the places at the destination, in the scratch folder and in the output of commands that hold one of the
// strings.
func (s *suppressionTest) traces(texts []string) []string {
	s.t.Helper()
	var found []string
	look := func(where string, data []byte) {
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				found = append(found, where)
			}
		}
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(s.t, err)
	defer decoder.Close()
	for _, root := range []string{s.dest.folder, s.scratch} {
		require.NoError(s.t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			look(path, data)
			if strings.HasSuffix(path, ".parquet") {
				look(path, textValues(s.t, data))
			}
			for rest := data; ; rest = rest[1:] {
				at := bytes.Index(rest, []byte{0x28, 0xb5, 0x2f, 0xfd})
				if at < 0 {
					return err
				}
				rest = rest[at:]
				page, _ := decoder.DecodeAll(rest, nil) // the error is that something follows the frame
				look(path, page)
			}
		}))
	}
	look("output", s.said.Bytes())
	return found
}

// TestErasedStaysErased erases two students after the first night. The service lists them every night, but they occur in no
// table, history, Delta log, document, report, log or scratch file of any later night, nor after the history was rebuilt.
// A night without the key brings them back, with a warning.
func TestErasedStaysErased(t *testing.T) {
	t.Parallel()
	onDiskAndS3(t, func(t *testing.T, g *testStorage) {
		t.Helper()
		nights := 10
		if testing.Short() || g.server != nil {
			nights = 3
		}
		s := newSuppressionTest(t, g)
		s.night(1)
		s.run("run", "--simulate", "--simulate-quirks", "--simulate-schools", "3", "--simulate-date", "2026-11-01", "--effective-date", "2026-10-01")
		roster := s.students()
		var erased, texts []string
		for _, bid := range slices.Sorted(maps.Keys(roster))[:2] {
			erased, texts = append(erased, bid), append(append(texts, bid), roster[bid]...)
		}
		require.NotEmpty(t, s.traces(texts), "the search finds them")
		s.said.Reset()
		notice := filepath.Join(t.TempDir(), "notice.html")
		s.run("purge", "--students", listFile(t, erased), "--notice", notice)
		for n := 2; n <= nights; n++ {
			result := s.night(n)
			require.Contains(t, result.stdout, "2 students on the suppression list, 2 left out of this run")
			require.NotContains(t, result.stderr, "may be exported again")
		}
		s.run("run", "--simulate", "--simulate-quirks", "--simulate-schools", "3", "--simulate-date", "2026-11-02", "--effective-date", "2026-10-02")
		s.run("run", "--simulate", "--simulate-quirks", "--simulate-schools", "3", "--simulate-date", "2026-11-02", "--modified-since", "2020-01-01")
		s.run("verify", "--history")
		require.Empty(t, s.traces(texts))
		s.run("history", "--rebuild")
		for _, args := range [][]string{{"status"}, {"diff"}, {"report", "--run-id", s.dest.currentManifests(t)[0].RunID}, {"sql"}, {"sql", "--history"}} {
			s.run(args[0], args[1:]...)
		}
		require.Empty(t, s.traces(texts))
		page, err := os.ReadFile(notice)
		require.NoError(t, err)
		for _, secret := range append(texts, testPrivacyKey) {
			require.NotContains(t, string(page), secret)
		}
		for _, m := range s.dest.currentManifests(t) {
			if m.Kind == snapshot.Full && m.SnapshotDate != "2026-11-01" {
				require.Equal(t, 2, m.Parameters.Suppressed.Listed)
				require.Equal(t, 2, *m.Parameters.Suppressed.Matched, m.RunID)
			}
		}
		s.requireNamesNobody(roster, erased)

		s.key = ""
		result := s.night(nights + 1)
		require.Contains(t, result.stderr, "level=WARN msg=\"students who were purged may be exported again\" students=2 purged_on=")
		require.Contains(t, result.stderr, " reason=\"the run does not have the privacy key with the fingerprint ")
		require.Contains(t, result.stdout, "warning: 2 students purged on")
		report, err := os.ReadFile(s.dest.path(snapshot.ReportPath(s.dest.newestRun(t))))
		require.NoError(t, err)
		require.Contains(t, string(report), "students who were purged may be exported again")
		require.NotEmpty(t, s.traces(texts), "they are back")
	})
}

// TestErasedByPseudonym erases students whose bids are not known, by the pseudonyms in the rows. Later nights leave them out,
// until they are taken off the list by the same pseudonyms.
func TestErasedByPseudonym(t *testing.T) {
	t.Parallel()
	profile := []string{"--privacy", "pseudonymous"}
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	s.night(1, profile...)
	erased := slices.Sorted(maps.Keys(s.students()))[:2]
	list := listFile(t, erased)
	for n := range 2 { // the second purge finds no rows
		s.run("purge", "--students", list)
		require.Contains(t, s.night(2+n, profile...).stdout, "2 students on the suppression list, 2 left out of this run")
		for _, bid := range erased {
			require.NotContains(t, s.students(), bid)
		}
	}
	require.Contains(t, s.run("purge", "--unsuppress", list).stdout, "2 students")
	s.night(4, profile...)
	require.Subset(t, slices.Collect(maps.Keys(s.students())), erased)

	t.Run("not everywhere", func(t *testing.T) {
		t.Parallel()
		s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
		s.night(1, append(profile, "--history=false")...)
		list := listFile(t, slices.Sorted(maps.Keys(s.students()))[:2])
		s.night(2, "--history=false")
		s.code = exitUsage
		require.Contains(t, s.run("purge", "--students", list).stderr, "line 1, line 2 of the list: this is a pseudonym")
	})
}

// TestLostSuppressionList loses the suppression list of a student who opted out and never had rows. Nothing else at the
// destination refers to that purge, but the earlier nights show that there was a list.
func TestLostSuppressionList(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	optOut := func() { s.run("purge", "--students", "opted-out", "--allow-unknown") }
	const again = "1 student may be exported again: "
	s.night(1)
	optOut()
	require.Contains(t, s.night(2).stdout, "1 student on the suppression list, 0 left out of this run")
	require.Contains(t, s.run("doctor", "--simulate").stdout, "runs leave out 1 student")
	key := s.key
	s.key = ""
	result := s.night(3)
	require.Contains(t, result.stdout, "warning: "+again+"the run does not have the privacy key with the fingerprint ")
	s.key = key
	require.NoError(t, os.Remove(s.dest.path(snapshot.SuppressedPath)))
	for n := 4; n <= 5; n++ {
		require.Regexp(t, `(?m)^warn  suppression list +`+again+"the suppression list .* is missing or lacks students: restore _purges/suppressed.json", s.run("doctor", "--simulate").stdout)
		result := s.night(n)
		require.Contains(t, result.stderr, "level=WARN msg=\"students who were purged may be exported again\" students=1 reason=\"the suppression list")
		require.Contains(t, result.stdout, "warning: "+again+"the suppression list ")
	}
	optOut()
	result = s.night(6)
	require.NotContains(t, result.stderr+result.stdout, "exported again")
	require.NotContains(t, s.run("doctor", "--simulate").stdout, "exported again")
}

// TestLostPurgesFolder loses the suppression list with all proofs before any run has followed the list. The newest snapshot,
// or only the history, records that the purge made a list.
func TestLostPurgesFolder(t *testing.T) {
	t.Parallel()
	for name, history := range map[string]bool{"newest snapshot": false, "history": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			s.night(1, fmt.Sprintf("--history=%t", history))
			erased := listFile(t, slices.Sorted(maps.Keys(s.students()))[:2])
			if history { // the newest snapshot has no students, so that the purge does not change it
				s.run("run", "--simulate", "--simulate-quirks", "--simulate-schools", "3", "--simulate-date", "2026-11-02", "--snapshot-date", "2026-11-02",
					"--backdate", "--datasets", "schools")
			}
			s.run("purge", "--students", erased)
			require.NotContains(t, s.run("doctor", "--simulate").stdout, "exported again")
			require.NoError(t, os.RemoveAll(s.dest.path(snapshot.PurgesPrefix)))
			for n := 3; n <= 4; n++ {
				const again = "2 students may be exported again: the suppression list "
				require.Regexp(t, `(?m)^warn  suppression list +`+again+".*, which an earlier purge made, is missing or lacks students: restore", s.run("doctor", "--simulate").stdout)
				result := s.night(n)
				require.Contains(t, result.stderr, "level=WARN msg=\"students who were purged may be exported again\" students=2 reason=\"the suppression list ")
				require.Contains(t, result.stdout, "warning: "+again)
			}
			s.run("purge", "--students", erased)
			result := s.night(5)
			require.Contains(t, result.stdout, "2 students on the suppression list, 2 left out of this run")
			require.NotContains(t, result.stderr+result.stdout, "exported again")
		})
	}
}

// TestPartOfLostList loses the suppression list and purges another student. Runs warn until the list has its students again.
func TestPartOfLostList(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	s.night(1)
	students := slices.Sorted(maps.Keys(s.students()))
	s.run("purge", "--students", listFile(t, students[:2]))
	s.night(2)
	require.NoError(t, os.RemoveAll(s.dest.path(snapshot.PurgesPrefix)))
	s.run("purge", "--students", listFile(t, students[2:3]))
	for n := 3; n <= 4; n++ {
		require.Contains(t, s.night(n).stdout, "warning: 2 students may be exported again: the suppression list ")
		require.Contains(t, s.run("doctor", "--simulate").stdout, "2 students may be exported again")
	}
	s.run("purge", "--students", listFile(t, students[:2]))
	require.NotContains(t, s.night(5).stdout, "exported again")
}

// TestReplacedPrivacyKey purges a student again under a new key. Runs warn until the list of the replaced key is retired.
func TestReplacedPrivacyKey(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	fingerprint := func() string {
		key, err := privacy.ParseKey(s.key)
		require.NoError(t, err)
		return key.Fingerprint()
	}
	s.night(1)
	// Once no row has its bid, a student whose bid looks like a quoted one cannot be put on another list.
	erased := slices.DeleteFunc(slices.Sorted(maps.Keys(s.students())), func(bid string) bool { return strings.ContainsAny(bid, "\"'{},;\t ") })[:1]
	s.run("purge", "--students", listFile(t, erased))
	old := fingerprint()
	s.code = 2
	require.Regexp(t, "was planned without this privacy key, or before the suppression list changed .*: use --replace to export it again", s.night(1).stderr)
	s.code = 0
	require.Contains(t, s.night(1, "--replace").stdout, "1 left out of this run")
	s.key = strings.Repeat("fedcba98765432100f1e2d3c4b5a6978", 2)
	s.run("purge", "--students", listFile(t, erased), "--allow-unknown")
	result := s.night(2)
	require.Contains(t, result.stdout, "1 left out of this run")
	require.Regexp(t, "then run growth-export purge --dest .* --retire-key "+old, result.stdout)
	checked := s.run("doctor", "--simulate").stdout
	require.Contains(t, checked, "runs would not leave out 1 student who was erased here: the list needs the key with the fingerprint "+old)
	require.Regexp(t, "then run growth-export purge --dest .* --retire-key "+old, checked)

	s.code = 2
	require.Contains(t, s.run("purge", "--retire-key", fingerprint()).stderr, "is the privacy key that is set")
	require.Contains(t, s.run("purge", "--retire-key", "0123").stderr, "no students are on the suppression list of the key 0123")
	require.Contains(t, s.run("purge", "--retire-key", "lost").stderr, "not the fingerprint of a privacy key")
	s.code = 0
	require.Equal(t, "retired the suppression list of the key "+old+", which had 1 student; runs follow the list of the key "+fingerprint()+"\n",
		s.run("purge", "--retire-key", old).stdout)
	result = s.night(3)
	require.Contains(t, result.stdout, "1 left out of this run")
	require.NotContains(t, result.stdout+result.stderr, "exported again")
	require.NotContains(t, s.run("doctor", "--simulate").stdout, old)
}

// TestShardWithoutPrivacyKey starts a shard of a run without the privacy key of the plan, or with another key. The message
// names the key.
func TestShardWithoutPrivacyKey(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	s.night(1)
	s.run("purge", "--students", listFile(t, slices.Sorted(maps.Keys(s.students()))[:1]))
	key, err := privacy.ParseKey(testPrivacyKey)
	require.NoError(t, err)
	shard := func(i, code int) string {
		s.code = code
		return s.run("run", "--simulate", "--simulate-schools", "3", "--simulate-sizes", "40,30,20", "--simulate-date", "2026-11-02", "--snapshot-date", "2026-11-02",
			"--backdate", "--datasets", "students", "--schools-per-file", "1", "--run-id", "sharded", "--shard", fmt.Sprintf("%d/2", i)).stderr
	}
	shard(0, 0)
	leavesOut := "run sharded leaves out the students on the suppression list of the privacy key with the fingerprint " + key.Fingerprint() + ", but "
	s.key = ""
	require.Contains(t, shard(1, 2), leavesOut+"no privacy key is set: set that key")
	s.key = strings.Repeat("fedcba98765432100f1e2d3c4b5a6978", 2)
	require.Contains(t, shard(1, 2), leavesOut+"the privacy key that is set has the fingerprint ")
	s.key = testPrivacyKey
	shard(1, 0)
}

// TestUnsuppressByNumber takes a student who was purged by bid off the list by number.
func TestUnsuppressByNumber(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	s.night(1)
	roster := s.students()
	bid := slices.Sorted(maps.Keys(roster))[0]
	s.run("purge", "--students", bid)
	require.Contains(t, s.run("purge", "--unsuppress", roster[bid][0]).stdout, "1 student taken off the suppression list")
	require.NotContains(t, s.night(2).stdout, "suppression list")
	require.Contains(t, s.students(), bid)
	s.key = ""
	require.NotContains(t, s.night(3).stdout, "exported again", "the student is no longer to be left out")
}

// TestUnsuppressSharedNumber expects purge to reject a number that two students on the list share, without printing it. If
// only another key has a list, the error gives the fingerprint of that key.
func TestUnsuppressSharedNumber(t *testing.T) {
	t.Parallel()
	s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
	key, err := privacy.ParseKey(testPrivacyKey)
	require.NoError(t, err)
	student := func(bid string) snapshot.SuppressedStudent {
		return snapshot.SuppressedStudent{Bid: key.SuppressedBid(bid), Numbers: []string{key.SuppressedNumber("null")}}
	}
	_, err = snapshot.At(snapshottest.NewDir(t, s.dest.folder)).Suppress(t.Context(), key.Fingerprint(),
		[]snapshot.SuppressedStudent{student("first"), student("second")}, []string{"purge"}, false)
	require.NoError(t, err)
	before := snapshottest.Tree(t, s.dest.folder)
	s.code = 2
	list := listFile(t, []string{"first", "null"})
	for _, flags := range [][]string{{}, {"--dry-run"}, {"--allow-unknown"}} {
		result := s.run("purge", append([]string{"--unsuppress", list}, flags...)...)
		require.Contains(t, result.stderr, "nothing was changed: several students on the suppression list have the number in line 2 (2 students): "+
			"give the bids of the students to take off instead")
		require.NotContains(t, result.stderr+result.stdout, "null")
		require.Equal(t, before, snapshottest.Tree(t, s.dest.folder))
	}
	s.key = strings.Repeat("fedcba98765432100f1e2d3c4b5a6978", 2)
	require.Contains(t, s.run("purge", "--unsuppress", "first").stderr, "the key "+key.Fingerprint()+" (2 students) has a list: set that key, or correct the list")
	s.key, s.code = testPrivacyKey, 3
	result := s.run("purge", "--unsuppress", listFile(t, []string{"first", "second", "null", "nobody"}))
	require.Contains(t, result.stdout, "2 students taken off the suppression list of the key")
	require.Contains(t, result.stdout, "not on this list: line 4 of the list that was given\n")
}

// listFile writes a list to a file, and returns it in the form for flags.
func listFile(t *testing.T, bids []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(bids, "\n")+"\n"), 0o600))
	return "@" + path
}

// newestRun returns the run of the newest snapshot.
func (s *testDest) newestRun(t *testing.T) string {
	t.Helper()
	var latest snapshot.Latest
	s.readJSON(t, snapshot.LatestPath, &latest)
	return latest.RunID
}

// requireNamesNobody tries to identify the students on the suppression list with the whole roster and everything at the
// destination, but without the key. It expects that neither a string on the list nor a guessed key identifies a student.
func (s *suppressionTest) requireNamesNobody(roster map[string][]string, erased []string) {
	s.t.Helper()
	var list snapshot.SuppressionList
	s.dest.readJSON(s.t, snapshot.SuppressedPath, &list)
	key, err := privacy.ParseKey(testPrivacyKey)
	require.NoError(s.t, err)
	digests := make(map[string]bool)
	for _, student := range list.Keys[key.Fingerprint()].Students {
		digests[student.Bid] = true
		require.NotEmpty(s.t, student.Numbers)
		for _, number := range student.Numbers {
			digests[number] = true
		}
	}
	data, err := json.Marshal(list)
	require.NoError(s.t, err)
	named := make(map[string]bool)
	for bid, numbers := range roster {
		for _, text := range append(numbers, bid, key.Pseudonym("student", bid)) { // the pseudonym is known from a pseudonymised copy
			require.NotContains(s.t, string(data), text)
		}
		for _, guess := range []string{key.Fingerprint(), strings.Repeat(key.Fingerprint(), 4), strings.Repeat("0123456789abcdef", 4)} {
			wrong, err := privacy.ParseKey(guess)
			if err != nil {
				continue // such a key is rejected as too weak
			}
			require.False(s.t, digests[wrong.SuppressedBid(bid)] || digests[wrong.Pseudonym("student", bid)])
		}
		if digests[key.SuppressedBid(bid)] {
			named[bid] = true
		}
	}
	require.Len(s.t, named, len(erased), "with the key, the same roster names them")
	for _, bid := range erased {
		require.True(s.t, named[bid])
	}
}

// TestSuppressedAsPurged checks that a night that leaves students out has the same files as one from which they were
// purged.
func TestSuppressedAsPurged(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"full", "pseudonymous"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			purged := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			purged.night(1, "--privacy", profile, "--delta-lake=false", "--history=false")
			named := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			named.night(1, "--delta-lake=false", "--history=false")
			erased := slices.Sorted(maps.Keys(named.students()))
			purged.run("purge", "--students", listFile(t, erased[:len(erased)/3]))
			want := purged.dest.currentManifests(t)[0]
			again := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			again.night(1, "--privacy", profile, "--datasets", "schools", "--delta-lake=false", "--history=false")
			list, err := os.ReadFile(purged.dest.path(snapshot.SuppressedPath))
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(again.dest.path("_purges"), 0o700))
			require.NoError(t, os.WriteFile(again.dest.path(snapshot.SuppressedPath), list, 0o600))
			again.night(1, "--privacy", profile, "--replace", "--delta-lake=false", "--history=false")
			got := again.dest.currentManifests(t)[0]
			for name, table := range want.Tables {
				require.Equal(t, table.Rows, got.Tables[name].Rows, name)
				for i, file := range table.Files {
					require.Equal(t, file.SHA256, got.Tables[name].Files[i].SHA256, "%s, file %d", name, i)
				}
			}
		})
	}
}
