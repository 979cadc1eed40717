//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// TestFind finds students by bid, number and name, in runs with and without pseudonyms. It counts the same rows as a purge would
// remove, from all kinds of runs and the history, and the record holds each of them.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"full", "pseudonymous"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			s.night(1, "--privacy", profile)
			s.night(2, "--privacy", profile)
			for _, flags := range [][]string{{"--effective-date", "2026-10-01"}, {"--modified-since", "2020-01-01"}} {
				s.run("run", append(flags, "--simulate", "--simulate-quirks", "--simulate-schools", "3", "--privacy", profile)...)
			}
			named := newSuppressionTest(t, &testStorage{root: t.TempDir()})
			named.night(1)
			roster := named.students()
			find := func(flags ...string) *maintenance.FindReport {
				result := s.run("find", append(flags, "--output", "json", "--log-level", "debug")...)
				require.Empty(t, result.stderr, "nothing about the search is logged")
				report := new(maintenance.FindReport)
				require.NoError(t, json.Unmarshal([]byte(result.stdout), report))
				return report
			}
			// Numbers such as 0 find no rows. The students who have such a number come first.
			bids := slices.SortedFunc(maps.Keys(roster), func(a, b string) int {
				return cmp.Or(slices.Compare(slices.Sorted(slices.Values(roster[a])), slices.Sorted(slices.Values(roster[b]))), strings.Compare(a, b))
			})
			for _, bid := range bids[:4] {
				numbers := roster[bid]
				found := find("--bid", listFile(t, []string{bid}))
				require.Len(t, found.Students, 1)
				student := found.Students[0]
				require.Equal(t, bid, student.Bid)
				var planned maintenance.PurgeReport
				result := s.run("purge", "--students", listFile(t, []string{bid}), "--dry-run", "--output", "json")
				require.NoError(t, json.Unmarshal([]byte(result.stdout), &planned))
				inRuns, inHistory := make(map[string]int64), make(map[string]int64)
				for _, place := range student.Places {
					if place.Rows > 0 && place.RunID == "" {
						inHistory[place.Table] += place.Rows
					} else if place.Rows > 0 {
						inRuns[place.Table] += place.Rows
					}
				}
				require.Equal(t, planned.RowsRemoved, inRuns)
				require.Equal(t, planned.History.RowsRemoved, inHistory)

				byNumber := find("--number", listFile(t, numbers[:1]))
				require.True(t, slices.ContainsFunc(byNumber.Students, func(other *maintenance.FoundStudent) bool {
					return other.Bid == bid || other.Pseudonym && profile != "full"
				}))
				if profile != "full" {
					require.Empty(t, student.Names)
					require.Empty(t, student.Numbers)
					continue
				}
				require.Subset(t, student.Numbers, numbers)
				s.requireRecord(bid, inRuns, inHistory)
			}
		})
	}
}

// requireRecord expects the record of a student to hold every row that was found, in both forms.
func (s *suppressionTest) requireRecord(bid string, inRuns, inHistory map[string]int64) {
	s.t.Helper()
	folder := s.t.TempDir()
	page, data := filepath.Join(folder, "record.html"), filepath.Join(folder, "record.json")
	for _, path := range []string{page, data} {
		s.run("find", "--bid", listFile(s.t, []string{bid}), "--record", path)
		info, err := os.Stat(path)
		require.NoError(s.t, err)
		require.Equal(s.t, os.FileMode(0o600), info.Mode())
	}
	var record struct {
		Bid     string `json:"student_bid"`
		Records []struct {
			Table  string                     `json:"table"`
			Row    map[string]json.RawMessage `json:"row"`
			Places []string                   `json:"places"`
		} `json:"records"`
	}
	text, err := os.ReadFile(data)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(text, &record))
	require.Equal(s.t, bid, record.Bid)
	runs, history := make(map[string]int64), make(map[string]int64)
	for _, r := range record.Records {
		require.NotEmpty(s.t, r.Row)
		for _, place := range r.Places {
			if strings.HasPrefix(place, "history from ") {
				history[r.Table]++
			} else {
				runs[r.Table]++
			}
		}
	}
	require.Equal(s.t, inRuns, runs)
	require.Equal(s.t, inHistory, history)
	printed, err := os.ReadFile(page)
	require.NoError(s.t, err)
	require.Equal(s.t, len(record.Records), strings.Count(string(printed), `<div class="row">`))
}

func TestWithBare(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"a", "b ", " ", "c", "b"}, withBare([]string{"a", "b ", " ", "c"}))
}

// TestFindShortensNames expects that very long names do not make the table of students wider.
func TestFindShortensNames(t *testing.T) {
	t.Parallel()
	var found maintenance.FindReport
	for range maxLocated + 1 {
		found.Students = append(found.Students, &maintenance.FoundStudent{Bid: "b", Names: []string{strings.Repeat("ü", 500)}, Numbers: []string{"7"}})
	}
	text := foundStudentsText(&found, snapshot.Catalog{}, &findOptions{}, nil)
	require.Contains(t, text, "\nb  "+strings.Repeat("ü", wording.MaxName-1)+"…  7\n")
}
