package report_test

import (
	"testing"
	"time"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	quiet := func(change func(*report.Page)) *report.Page {
		page := night()
		page.Manifest.Schools = snapshot.ManifestSchools{Total: 3, OK: 3}
		page.Ledger = report.Ledger{}
		change(page)
		return page
	}
	for name, test := range map[string]struct {
		page   *report.Page
		tone   string
		has    []string
		hasNot []string
	}{
		"quiet": {
			quiet(func(*report.Page) {}), "good", []string{"All schools exported completely.", "growth-export sql --dest /data/growth --snapshot-date 2026-11-20"}, []string{"<h2>Failed", "<h2>Denied", "--accept-held"},
		},
		"denied": {
			quiet(func(p *report.Page) { p.Manifest.Schools = snapshot.ManifestSchools{Total: 3, OK: 2, Denied: 1} }), "good", []string{"access to 1 of 3 was denied (0 in the snapshot of ", "growth-export purge"}, nil,
		},
		"failed in part": {night(), "fair", []string{"<title>Published, but: Full snapshot"}, nil},
		"held": {
			quiet(func(p *report.Page) {
				p.State, p.Held = report.Held, snapshot.Held{Reasons: []review.Reason{review.New(review.MaxFailedSchools, "0", []review.Finding{{N: 2, Of: 3}})}}
			}), "bad",
			[]string{
				"Held back", "2 of 3 schools failed", "Run the same growth-export run command again, without --restart: it retries the schools that failed", "--run-id 2026-11-20-abc; these schools then",
				"growth-export publish --dest /data/growth --run-id 2026-11-20-abc --accept-held",
			},
			[]string{"with --restart"},
		},
		"held for shrinking": {
			quiet(func(p *report.Page) {
				p.State, p.Held = report.Held, snapshot.Held{Reasons: shrunk("students", 9, 5)}
			}), "bad",
			[]string{"Held back", "rows of students from 9 to 5", "--run-id 2026-11-20-abc --accept-held", "run command with --restart (on the next day, also add --snapshot-date 2026-11-20 --run-id 2026-11-20-abc)."},
			[]string{"it retries the schools that failed"},
		},
		"a large fall": {
			quiet(func(p *report.Page) {
				p.Baseline.Tables = map[string]snapshot.ManifestTable{
					"students": {Rows: 3090}, "test_results": {Rows: 1_234_567 * 10 / 8}, "schools": {Rows: 3}, "gone": {Rows: 100},
				}
			}), "fair",
			[]string{
				`<span class="word">Published, but</span> table students lost 50.0% of its rows.`, "students fell from 3,090 to 1,545 rows (−50.0%).",
				"is the drop in rows real?",
			},
			[]string{"Nothing.", "test_results fell"},
		},
		"a fall of less than 0.1%": {
			quiet(func(p *report.Page) {
				p.Baseline.Tables = map[string]snapshot.ManifestTable{"students": {Rows: 1_000_000}}
				p.Manifest.Tables["students"] = snapshot.ManifestTable{Rows: 999_989}
			}), "good", []string{`<td class="num fell">−11</td>`}, []string{"−0.0%"},
		},
		"two falls": {
			quiet(func(p *report.Page) {
				p.Baseline.Tables = map[string]snapshot.ManifestTable{"students": {Rows: 3090}, "schools": {Rows: 30}}
			}), "fair", []string{"2 tables lost more than 20% of their rows.", "<li><bdi>schools fell from 30 to 3 rows"}, nil,
		},
		"a check that failed": {
			quiet(func(p *report.Page) {
				p.Manifest.Checks = []review.Check{{Check: review.CheckUnknownStudent, Table: "test_results", Count: 7, Schools: 3}}
			}), "fair", []string{"Published, but</span> 1 check of the service&#39;s own rules failed."}, nil,
		},
		"accepted by hand": {
			quiet(func(p *report.Page) { p.Manifest.Accepted = shrunk("students", 9, 5) }), "fair",
			[]string{"Published, but</span> it was held back and then accepted by hand.", "Accepted by hand: 1 count fell by more than --max-shrink 20% since the snapshot of 2026-11-19 (run 2026-11-19-abc): rows of students from 9 to 5"},
			nil,
		},
		"staged": {
			quiet(func(p *report.Page) { p.State = report.Staged }), "fair", []string{"Staged.", "growth-export publish --dest /data/growth --run-id 2026-11-20-abc<"}, nil,
		},
		"not published": {
			quiet(func(p *report.Page) { p.State, p.Failure = report.Staged, "write x: no space left" }), "bad", []string{"Not published.", "no space left"}, nil,
		},
		"incomplete": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing = report.Incomplete, 20, []string{"students of bucket 1", "b", "c", "d", "e"}
			}), "fair",
			[]string{"Incomplete.", "Rows staged so far", "15 of 20", "students of bucket 1, b, c and 2 more", "the same command again"},
			nil,
		},
		"failed": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing, p.Failure = report.Incomplete, 20, []string{"a"}, "gave up after 30m"
			}), "bad", []string{"Failed.", "gave up after 30m"}, nil,
		},
		"of shards": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing, p.Manifest.Parameters.Shards = report.Incomplete, 20, []string{"a"}, 3
			}), "fair", []string{"every shard"}, nil,
		},
		"replaced": {
			quiet(func(p *report.Page) { p.State, p.ReplacedBy = report.Replaced, "newer" }), "fair", []string{"Replaced.", "Run newer replaced this one"}, nil,
		},
		"purged": {
			quiet(func(p *report.Page) {
				p.Manifest.Purges = []snapshot.ManifestPurge{{ID: "f00d", At: began(), RowsRemoved: map[string]int64{"a": 1000, "b": 234}}}
			}), "good", []string{"1,234 rows were purged on 20 November 2026, 03:00:00 UTC", "_purges/f00d.json"}, nil,
		},
		"as of a date": {
			quiet(func(p *report.Page) { p.Manifest.Kind, p.Manifest.SnapshotDate = snapshot.AsOf, "2025-09-01" }), "good",
			[]string{"Enrollment as of 1 September 2025", "growth-export sql --dest /data/growth --effective-date 2025-09-01"},
			nil,
		},
		"several errors": {
			quiet(func(p *report.Page) { p.State, p.Failure = report.Staged, "write x: no space left\nunlock y: gone" }),
			"bad",
			[]string{"<bdi>write x: no space left</bdi>", "<bdi>unlock y: gone</bdi>"},
			nil,
		},
		"published, with an error": {
			quiet(func(p *report.Page) { p.Failure = "remove x: input/output error" }), "fair", []string{"input/output error"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := draw(t, test.page)
			has(t, text, `<h1 class="`+test.tone+`">`)
			for _, part := range test.has {
				has(t, text, part)
			}
			for _, part := range test.hasNot {
				hasNot(t, text, part)
			}
		})
	}
}

// TestWhatIsStillCurrent expects the page of an unpublished run to show how old the current snapshot is.
func TestWhatIsStillCurrent(t *testing.T) {
	t.Parallel()
	page := night()
	hasNot(t, draw(t, page), "<dt>current snapshot")
	page.Current.StartedAt = began().Add(-31 * time.Hour)
	for _, state := range []report.State{report.Held, report.Incomplete, report.Staged} {
		page.State = state
		has(t, draw(t, page), "<dt>current snapshot</dt><dd>31 hours old</dd><dd class=\"note\">of 19 November 2026, unchanged</dd>")
	}
	page.Current.StartedAt = began().Add(-50 * 24 * time.Hour)
	has(t, draw(t, page), "<dd>50 days old</dd>")
	page.Current = nil
	has(t, draw(t, page), "<dt>current snapshot</dt><dd>none</dd>")
	page.Manifest.Kind = snapshot.Delta
	hasNot(t, draw(t, page), "<dt>current snapshot")
}

// TestFailedSchoolsAdvice expects the report of a published run with failed schools to say what the same command would do.
func TestFailedSchoolsAdvice(t *testing.T) {
	t.Parallel()
	page := night()
	for kind, want := range map[snapshot.Kind]string{
		snapshot.Full: "It fetches all schools again, not only the failed ones, in a new run that replaces this one. On the next day, add --snapshot-date 2026-11-20 --replace.",
		snapshot.AsOf: "Run the same command again with --replace. It fetches all schools again, in a new run that replaces this one.",
	} {
		page.Manifest.Kind = kind
		has(t, draw(t, page), want)
	}
	page.Manifest.Schools.Failed = 0
	hasNot(t, draw(t, page), "fetches all schools again")
}
