package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// cohortSite is a full export and its students: listed are the students of the cohort, others everyone who must not be
// in a cohort run.
type cohortSite struct {
	*snapshot
	d              *duck
	listed, others []string
	list           string // the file
}

func newCohortSite(t *testing.T) *cohortSite {
	t.Helper()
	s := &cohortSite{snapshot: runExport(t, export{args: smallWorld("--datasets", "all")}), d: newDuck(t), list: filepath.Join(t.TempDir(), "students.txt")}
	for _, table := range allTables() {
		s.d.exec(fmt.Sprintf("CREATE TABLE before_%s AS SELECT * FROM %s", table.Name, s.files(table)))
	}
	bids := s.d.query("SELECT DISTINCT student_bid FROM before_students WHERE student_bid <> '' ORDER BY hash(student_bid)")
	require.Greater(t, len(bids), 60)
	for i, row := range bids {
		if i%9 == 0 {
			s.listed = append(s.listed, row[0].(string))
		} else {
			s.others = append(s.others, row[0].(string))
		}
	}
	require.NoError(t, os.WriteFile(s.list, []byte(strings.Join(s.listed, "\n")+"\nnobody\n"), 0o600))
	s.d.exec("CREATE TABLE listed AS SELECT unnest(string_split(" + literal(strings.Join(s.listed, "\n")) + ", chr(10))) AS bid")
	s.d.exec("CREATE TABLE others AS SELECT unnest(string_split(" + literal(strings.Join(s.others, "\n")) + ", chr(10))) AS bid")
	return s
}

// in returns the site for a subtest.
func (s *cohortSite) in(t *testing.T) *cohortSite {
	t.Helper()
	part := *s
	part.d = &duck{t, s.d.db}
	return &part
}

// about returns the SQL condition that a row of the full export is about a listed student; empty for tables that cannot
// hold a student's bid.
func (s *cohortSite) about(table *schemas.Table) string {
	var bids []string
	for _, name := range []string{"student_bid", "requested_student_bid"} {
		if table.Column(name) >= 0 {
			bids = append(bids, "coalesce(b."+name+", '') IN (FROM listed)")
		}
	}
	if strings.HasPrefix(table.Name, "test_result_") {
		return "EXISTS (SELECT 1 FROM before_test_results AS r WHERE r.requested_school_bid = b.requested_school_bid" +
			" AND r.test_result_bid = b.test_result_bid AND r.student_bid IN (FROM listed))"
	}
	return strings.Join(bids, " OR ")
}

// ofClasses returns the SQL condition that a row of the full export is about a class with a listed student on its
// roster, or about an educator of such a class; empty for other tables.
func (s *cohortSite) ofClasses(table *schemas.Table) string {
	class := func(bid string) string {
		return "EXISTS (SELECT 1 FROM before_school_class_students AS c WHERE c.requested_school_bid = b.requested_school_bid" +
			" AND c.requested_perspective_bid = b.requested_perspective_bid AND c.school_class_bid = " + bid + " AND c.student_bid IN (FROM listed))"
	}
	educator := func(bid string) string {
		return "EXISTS (SELECT 1 FROM before_school_class_educators AS e JOIN before_school_class_students AS c USING (requested_school_bid, requested_perspective_bid, school_class_bid)" +
			" WHERE e.requested_school_bid = b.requested_school_bid AND e.educator_bid = " + bid + " AND c.student_bid IN (FROM listed))"
	}
	switch table.Name {
	case "school_classes", "school_class_educators":
		return class("b.school_class_bid")
	case "school_class_details":
		return class("b.requested_school_class_bid")
	case "educator_school_associations":
		return educator("b.educator_bid")
	case "educator_school_association_details":
		return "EXISTS (SELECT 1 FROM before_educator_school_associations AS a WHERE a.requested_school_bid = b.requested_school_bid" +
			" AND a.requested_perspective_bid = b.requested_perspective_bid" +
			" AND a.educator_school_association_bid = b.requested_educator_school_association_bid AND " + strings.ReplaceAll(educator("a.educator_bid"), "b.", "a.") + ")"
	case "educator_school_classes":
		return educator("b.requested_educator_bid") + " AND " + "EXISTS (SELECT 1 FROM before_school_class_students AS c WHERE c.requested_school_bid = b.requested_school_bid" +
			" AND c.school_class_bid = b.school_class_bid AND c.student_bid IN (FROM listed))"
	}
	return ""
}

// runCohort exports the listed students. There is no _latest.json.
func (s *cohortSite) runCohort(t *testing.T, args []string) *snapshot {
	t.Helper()
	c := &snapshot{export: export{byDistrict: len(args) > 0}, dest: filepath.ToSlash(t.TempDir())}
	execute(t, racedExport, append(smallWorld("run", "--simulate", "--dest", c.dest, "--datasets", "all", "--students", "@"+s.list), args...)...)
	require.NoFileExists(t, filepath.Join(c.dest, "_latest.json"))
	pointers, err := filepath.Glob(filepath.Join(c.dest, "_snapshots", "*.json"))
	require.NoError(t, err)
	require.Len(t, pointers, 1)
	c.read(t, "_snapshots/"+filepath.Base(pointers[0]), &c.pointer)
	c.read(t, c.pointer.Manifest, &c.manifest)
	return c
}

// requireEqual compares the rows of a table with a query.
func (s *cohortSite) requireEqual(t *testing.T, table *schemas.Table, want, got string) {
	t.Helper()
	for _, difference := range []string{want + " EXCEPT ALL " + got, got + " EXCEPT ALL " + want} {
		require.Empty(t, s.d.query(difference+" LIMIT 3"), table.Name)
	}
}

// TestCohort compares a run of a list of students with a full export: its rows equal the rows of the full export about
// these students, no other student is named, and only these students are requested.
func TestCohort(t *testing.T) {
	t.Parallel()
	s := newCohortSite(t)
	for _, args := range [][]string{nil, {"--schools-per-file", "3", "--simulate-faults", "0.1", "--partition-by", "district"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			c := s.runCohort(t, args)
			kept, restricted := 0, 0
			for _, table := range allTables() {
				// No text value of the simulated service contains these characters.
				extra := "CASE WHEN regexp_matches(_extra, ':[[{]') THEN NULL ELSE _extra END AS _extra"
				if table.Name == "school_class_details" {
					extra = "NULL::VARCHAR AS _extra"
				}
				want := fmt.Sprintf("SELECT * EXCLUDE (_extra), %s FROM before_%s AS b", extra, table.Name)
				if about := s.about(table); about != "" {
					want += " WHERE " + about
					kept++
				} else if about := s.ofClasses(table); about != "" {
					want += " WHERE " + about
					restricted++
					require.Less(t, s.d.one("SELECT count(*) FROM before_"+table.Name+" AS b WHERE "+about), s.d.one("SELECT count(*) FROM before_"+table.Name), table.Name)
				}
				got := "SELECT * EXCLUDE (_extra), _extra FROM " + c.files(table)
				if c.hasDistricts(table) {
					got = "SELECT * EXCLUDE (_extra, district), _extra FROM " + c.files(table)
				}
				s.requireEqual(t, table, "("+want+")", "("+got+")")
				for _, column := range table.Columns {
					if column.Type == schemas.String || column.Type == schemas.JSON {
						require.Zero(t, s.d.one(fmt.Sprintf("SELECT count(*) FROM (SELECT DISTINCT %s AS v FROM %s) AS t JOIN others ON contains(t.v, others.bid)",
							column.Name, c.files(table))), "%s.%s", table.Name, column.Name)
					}
				}
			}
			require.Equal(t, 8, kept)
			require.Equal(t, 6, restricted)
			requireNoTexts(t, c.dest, s.others...)
			results := "SELECT count(*) FROM test_results"
			want := [][]any{{s.d.one("SELECT count(*) FROM before_test_results WHERE student_bid IN (FROM listed)")}}
			require.Equal(t, want, newReader(t, c.dest, "views").query(results), "examples/duckdb/views.sql opens it")
			sql := newDuck(t)
			sql.exec(execute(t, racedExport, "sql", "--dest", c.dest))
			require.Equal(t, want, sql.query(results))
			requireNoTexts(t, filepath.Join(c.dest, "_runs"), s.listed...)

			require.Equal(t, s.d.one("SELECT count(*) FROM (SELECT DISTINCT requested_school_bid, student_bid FROM before_students WHERE student_bid IN (FROM listed))"),
				s.d.one("SELECT sum(pages + records_unavailable)::BIGINT FROM read_parquet("+literal(c.dest+"/"+c.manifest.Ledger.Path)+
					") WHERE dataset = 'student_details'"), "one call for each listed student and no other")

			data, err := os.ReadFile(filepath.Join(c.dest, c.pointer.Manifest))
			require.NoError(t, err)
			var manifest struct {
				Parameters struct {
					Students struct {
						Listed, Matched int
						Digest          string
					}
				}
			}
			require.NoError(t, json.Unmarshal(data, &manifest))
			require.Equal(t, len(s.listed)+1, manifest.Parameters.Students.Listed)
			require.Equal(t, len(s.listed), manifest.Parameters.Students.Matched)
			require.Len(t, manifest.Parameters.Students.Digest, 32)
			execute(t, racedExport, "verify", "--dest", c.dest, "--run-id", c.pointer.RunID)
		})
	}
}

// TestCohortGrowth runs the commands of docs/PRIVACY.md that measure the growth of a cohort between two snapshots. Their result
// equals the growth of the same students in full exports.
func TestCohortGrowth(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs", "PRIVACY.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "To measure growth, compare two snapshots")
	require.True(t, found)
	block := func(kind string) string {
		_, text, found := strings.Cut(section, "```"+kind+"\n")
		require.True(t, found)
		text, _, _ = strings.Cut(text, "```")
		return text
	}
	s := newCohortSite(t)
	cohort, all := filepath.ToSlash(filepath.Join(t.TempDir(), "cohort")), filepath.ToSlash(t.TempDir())
	for _, night := range []string{"2025-10-10", "2026-02-12"} {
		run := smallWorld("run", "--simulate", "--snapshot-date", night, "--backdate", "--progress", "none")
		execute(t, racedExport, append(run, "--dest", cohort, "--students", "@"+s.list)...)
		execute(t, racedExport, append(run, "--dest", all)...)
	}
	measure := func(dest string) *duck {
		d := newDuck(t)
		d.db.SetMaxOpenConns(1)
		for line := range strings.Lines(block("sh")) {
			command, _, redirected := strings.Cut(line, " >")
			require.True(t, redirected)
			words := strings.Fields(strings.Replace(command, "--dest cohort", "--dest "+dest, 1))
			d.exec(execute(t, racedExport, words[1:]...))
		}
		return d
	}
	query := block("sql")
	growth := measure(cohort).query(query)
	require.NotEmpty(t, growth)
	d := measure(all)
	d.exec("CREATE TABLE listed AS SELECT unnest(string_split(" + literal(strings.Join(s.listed, "\n")) + ", chr(10))) AS bid")
	want := d.query(strings.Replace(query, "WHERE ", "WHERE earlier.student_bid IN (FROM listed) AND ", 1))
	require.Equal(t, want, growth)
	require.NotEqual(t, d.query(query), growth)
}

// requireNoTexts looks for texts in the bytes of every file below a folder.
func requireNoTexts(t *testing.T, folder string, texts ...string) {
	t.Helper()
	looked := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		looked++
		data, err := os.ReadFile(path)
		for _, text := range texts {
			require.False(t, strings.Contains(string(data), text), "%s names %s", path, text)
		}
		return err
	}))
	require.Positive(t, looked)
}

// TestPurgeStudents purges students and compares the remaining rows with DuckDB's, in the snapshot and in the history.
func TestPurgeStudents(t *testing.T) {
	t.Parallel()
	s := newCohortSite(t)
	execute(t, racedExport, "history", "--dest", s.dest)
	execute(t, racedExport, "delta-lake", "--dest", s.dest)
	notice := filepath.Join(t.TempDir(), "notice.html")
	out := execute(t, racedExport, "purge", "--dest", s.dest, "--students", "@"+s.list, "--allow-unknown", "--notice", notice)
	require.Contains(t, out, fmt.Sprintf("%d of %d listed students were found and erased", len(s.listed), len(s.listed)+1))
	execute(t, racedExport, "verify", "--dest", s.dest)
	execute(t, racedExport, "verify", "--dest", s.dest, "--history")
	execute(t, racedExport, "verify", "--dest", s.dest, "--delta-lake")
	requireNoTexts(t, filepath.Dir(notice), s.listed...)
	requireNoTexts(t, s.dest, s.listed...)
	for _, text := range s.listed {
		require.NotContains(t, out, text)
	}
	removed := 0
	for _, table := range allTables() {
		columns := "* EXCLUDE (_extra), _extra"
		if table.Name == "school_class_details" {
			columns = "* EXCLUDE (_extra), CASE WHEN NOT EXISTS (SELECT 1 FROM listed WHERE contains(b._extra, listed.bid)) THEN _extra END AS _extra"
			require.Positive(t, s.d.one("SELECT count(*) FROM before_school_class_details AS b JOIN listed ON contains(b._extra, listed.bid)"))
		}
		want := fmt.Sprintf("SELECT %s FROM before_%s AS b", columns, table.Name)
		if about := s.about(table); about != "" {
			want += " WHERE NOT (" + about + ")"
			removed++
		}
		s.requireEqual(t, table, "("+want+")", "(SELECT * EXCLUDE (_extra), _extra FROM "+s.files(table)+")")
		s.requireEqual(t, table, "("+strings.Replace(want, "* EXCLUDE (_extra)", "* EXCLUDE (_extra, snapshot_date)", 1)+")",
			fmt.Sprintf("(SELECT * EXCLUDE (_extra, valid_from, valid_to, ended_because), _extra FROM read_parquet(%s, hive_partitioning = true))",
				literal(s.dest+"/history/"+table.Name+"/valid_to=*/*.parquet")))
	}
	require.Equal(t, 8, removed)
}

// smallWorld adds the settings of a small simulated world, in which fan-outs per student take little time.
func smallWorld(args ...string) []string {
	return append(args, "--simulate-schools", "5", "--simulate-sizes", "120x5")
}
