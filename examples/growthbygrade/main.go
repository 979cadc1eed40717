package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/parquet-go/parquet-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: growthbygrade DEST DATE DATE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "growthbygrade:", err)
		os.Exit(1)
	}
}

// run prints the growth by subject and grade between the snapshots of two dates at dest.
func run(w io.Writer, dest, from, to string) (err error) {
	root, err := os.OpenRoot(dest) // no file outside of it is opened
	if err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	earlier := make(map[test]result)
	if err := eachResult(root, from, func(r result) { earlier[r.test()] = r }); err != nil {
		return err
	}
	groups := make(map[group]scores)
	if err := eachResult(root, to, func(r result) {
		before, found := earlier[r.test()]
		if !found || before.TestResultBid == r.TestResultBid {
			return // not tested again in this grade
		}
		key := group{r.SubjectArea, r.Grade}
		s := groups[key]
		s.students++
		s.from += int64(before.RIT)
		s.to += int64(r.RIT)
		groups[key] = s
	}); err != nil {
		return err
	}

	fmt.Fprintf(w, "Growth by subject and grade from %s to %s: mean RIT of students tested again\n\n", from, to)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "subject\tgrade\tstudents\t%s\t%s\tgrowth\t\n", from, to)
	for _, g := range slices.SortedFunc(maps.Keys(groups), group.compare) {
		s := groups[g]
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t\n",
			g.subject, g.grade, s.students, mean(s.from, s.students), mean(s.to, s.students), mean(s.to-s.from, s.students))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	fmt.Fprintf(w, `
The same in DuckDB:

  SELECT later.subject_area, later.grade, count(*) AS students, round(avg(earlier.rit), 1) AS rit_before,
    round(avg(later.rit), 1) AS rit, round(avg(later.rit - earlier.rit), 1) AS growth
  FROM read_parquet('%[1]s/test_results/snapshot_date=%[2]s/**/*.parquet') AS earlier
  JOIN read_parquet('%[1]s/test_results/snapshot_date=%[3]s/**/*.parquet') AS later USING (student_bid, subject_area, grade)
  WHERE later.test_result_bid <> earlier.test_result_bid AND later.rit IS NOT NULL AND earlier.rit IS NOT NULL
  GROUP BY later.subject_area, later.grade
  ORDER BY later.subject_area, try_cast(later.grade AS INTEGER) NULLS FIRST, later.grade;
`, strings.NewReplacer("'", "''", "*", "[*]", "?", "[?]", "[", "[[]").Replace(dest), from, to)
	return nil
}

// result has the columns of test_results that are read.
type result struct {
	TestResultBid string `parquet:"test_result_bid,optional"`
	StudentBid    string `parquet:"student_bid,optional"`
	SubjectArea   string `parquet:"subject_area,optional"`
	Grade         string `parquet:"grade,optional"`
	RIT           int32  `parquet:"rit,optional"`
}

// test is what the results of two snapshots are joined by. The service has one result per student and subject; the
// grade tells the school years apart.
type test struct{ studentBid, subjectArea, grade string }

func (r *result) test() test { return test{r.StudentBid, r.SubjectArea, r.Grade} }

// eachResult calls do with the results of a snapshot that have all columns.
func eachResult(root *os.Root, date string, do func(result)) error {
	var snapshot struct {
		Manifest string `json:"manifest"`
	}
	if err := readJSON(root, "_snapshots/"+date+".json", &snapshot); err != nil {
		return err
	}
	var manifest struct {
		Tables map[string]struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		} `json:"tables"`
	}
	if err := readJSON(root, snapshot.Manifest, &manifest); err != nil {
		return err
	}
	for _, file := range manifest.Tables["test_results"].Files {
		data, err := root.ReadFile(file.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
		rows, err := parquet.Read[result](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
		for _, r := range rows {
			if r.TestResultBid != "" && r.StudentBid != "" && r.SubjectArea != "" && r.Grade != "" && r.RIT != 0 {
				do(r)
			}
		}
	}
	return nil
}

func readJSON(root *os.Root, path string, into any) error {
	data, err := root.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

type group struct{ subject, grade string }

// compare orders groups by subject, then grade: words such as K come before numbers.
func (g group) compare(other group) int {
	number, _ := strconv.Atoi(g.grade)
	otherNumber, _ := strconv.Atoi(other.grade)
	return cmp.Or(cmp.Compare(g.subject, other.subject), cmp.Compare(number, otherNumber), cmp.Compare(g.grade, other.grade))
}

// scores sums up the results of the students of a group.
type scores struct{ students, from, to int64 }

// mean returns a mean with one digit, rounded as in SQL.
func mean(sum, n int64) string {
	return strconv.FormatFloat(math.Round(float64(sum)/float64(n)*10)/10, 'f', 1, 64)
}
