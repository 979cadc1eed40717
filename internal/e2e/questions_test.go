package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the results in examples/questions/README.md")

// shownRows is how many rows of a result the page shows.
const shownRows = 5

// testQuestions runs the queries of examples/questions/README.md on the nights of `make demo`: each must have the
// result that the page shows.
func testQuestions(t *testing.T, dest, norms string) {
	t.Helper()
	path := filepath.Join(repository, "examples", "questions", "README.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	execute(t, growthExport, "history", "--dest", dest)
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis", "--norms", norms))

	questions := regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:\n(?:\\|[^\n]*\n)+)?").FindAllStringSubmatch(theQuestions(t, page), -1)
	require.Len(t, questions, 14)
	answered := string(page)
	for _, question := range questions {
		shown := "```sql\n" + question[1] + "```\n\n" + d.markdown(strings.TrimSpace(question[1]))
		answered = strings.Replace(answered, question[0], shown, 1)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(answered), 0o600))
		return
	}
	require.Equal(t, answered, string(page), "run go test -run TestREADME -update in internal/e2e")

	// Nearly all results of an earlier term are superseded, but their areas still count.
	earlier := strings.TrimSuffix(strings.TrimSpace(strings.Replace(questions[13][1], "'Winter'", "'Fall'", 1)), ";")
	require.Equal(t, true, d.one("SELECT (SELECT sum(students) FROM ("+earlier+")) > 0.5 * count(*) "+
		"FROM analysis_term_results WHERE season = 'Fall' AND school_year = 2025 AND grade_number IS NOT NULL"))
}

// theQuestions returns the part of the page whose queries need only the default datasets.
func theQuestions(t *testing.T, page []byte) string {
	t.Helper()
	text, _, found := strings.Cut(string(page), "\n## By gender or ethnicity\n")
	require.True(t, found)
	return text
}

// TestDemographicsOfLeavers checks that the query by gender and ethnicity finds the details of students who have since left.
func TestDemographicsOfLeavers(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	for _, night := range [][2]string{{"2025-11-20", "default,student_details"}, {"2026-09-20", "default"}} {
		execute(t, growthExport, "run", "--simulate", "--simulate-schools", "3", "--simulate-sizes", "300,200,100", "--simulate-date", night[0],
			"--snapshot-date", night[0], "--backdate", "--datasets", night[1], "--history", "--progress", "none", "--dest", dest)
	}
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	d.exec(execute(t, growthExport, "sql", "--dest", dest, "--history", "--views", "analysis"))
	page, err := os.ReadFile(filepath.Join(repository, "examples", "questions", "README.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n## By gender or ethnicity\n")
	require.True(t, found)
	query := regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindStringSubmatch(text)[1]
	query = strings.Replace(query, ">= 10", ">= 1", 1)

	const results = "FROM analysis_term_results WHERE subject_area = 'Mathematics' AND season = 'Fall' AND school_year = 2025"
	require.Equal(t, true, d.one("SELECT count(*) > 20 "+results+" AND student_bid NOT IN (SELECT student_bid FROM analysis_students)"))
	require.Equal(t, d.one("SELECT count(*) "+results), d.one("SELECT sum(students)::BIGINT FROM ("+query+")"))
	for _, column := range []string{"gender", "ethnicity"} {
		require.Equal(t,
			d.one("SELECT count(*) "+results+" AND student_bid NOT IN"+
				" (SELECT student_bid FROM student_details_versions WHERE "+column+" IS NOT NULL AND student_bid IS NOT NULL)"),
			d.one("SELECT coalesce(sum(students), 0)::BIGINT FROM ("+query+") WHERE "+column+" = 'unknown'"), column)
	}
}

// markdown returns the first rows of a query as a table.
func (d *duck) markdown(query string) string {
	d.t.Helper()
	query = strings.TrimSuffix(query, ";")
	var b strings.Builder
	columns := d.describe(query)
	for _, column := range columns {
		fmt.Fprintf(&b, "| %s ", column[0])
	}
	b.WriteString("|\n" + strings.Repeat("|---", len(columns)) + "|\n")
	rows := d.query(query)
	require.NotEmpty(d.t, rows, query)
	for i, row := range rows {
		if i == shownRows {
			b.WriteString(strings.Repeat("| ... ", len(columns)) + "|\n")
			break
		}
		for _, value := range row {
			if number, ok := value.(float64); ok {
				value = strconv.FormatFloat(number, 'f', 1, 64) // as Spark has it
			}
			fmt.Fprintf(&b, "| %v ", value)
		}
		b.WriteString("|\n")
	}
	return b.String()
}
