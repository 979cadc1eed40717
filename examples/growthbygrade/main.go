package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
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
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: growthbygrade DEST DATE DATE NORMS SPAN")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "growthbygrade:", err)
		os.Exit(1)
	}
}

// run prints the growth by subject and grade between the snapshots of two dates at dest, and the share of the students
// who met the growth that the norms project for a span, such as Fall to Winter.
func run(w io.Writer, dest, from, to, norms, span string) (err error) {
	projected, err := projections(norms, span)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dest) // does not open files outside dest
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
		if growth, known := projected[projection{before.SubjectArea, before.Grade, before.RIT}]; known {
			s.known++
			if float64(r.RIT-before.RIT) >= growth {
				s.met++
			}
		}
		groups[key] = s
	}); err != nil {
		return err
	}

	fmt.Fprintf(w, "Growth by subject and grade from %s to %s: mean RIT of students tested again\n\n", from, to)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "subject\tgrade\tstudents\t%s\t%s\tgrowth\tmet projection\t\n", from, to)
	for _, g := range slices.SortedFunc(maps.Keys(groups), group.compare) {
		s := groups[g]
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%.0f%%\t\n",
			g.subject, g.grade, s.students, mean(s.from, s.students), mean(s.to, s.students), mean(s.to-s.from, s.students),
			math.Round(100*float64(s.met)/float64(s.known)))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	fmt.Fprintf(w, `
The same in DuckDB:

  SELECT later.subject_area, later.grade, count(*) AS students, round(avg(earlier.rit), 1) AS rit_before,
    round(avg(later.rit), 1) AS rit, round(avg(later.rit - earlier.rit), 1) AS growth,
    round(100 * avg(CASE WHEN norms.reported_growth IS NOT NULL
      THEN CAST(later.rit - earlier.rit >= norms.reported_growth AS INTEGER) END)) AS percent_met
  FROM read_parquet('%[1]s/test_results/snapshot_date=%[2]s/**/*.parquet') AS earlier
  JOIN read_parquet('%[1]s/test_results/snapshot_date=%[3]s/**/*.parquet') AS later USING (student_bid, subject_area, grade)
  LEFT JOIN read_csv('%[4]s') AS norms ON norms.growth_window = '%[5]s' AND norms.measurementscale = subject_area
    AND norms.startgrade = grade AND norms.startrit = earlier.rit
  WHERE later.test_result_bid <> earlier.test_result_bid AND later.rit IS NOT NULL AND earlier.rit IS NOT NULL
  GROUP BY later.subject_area, later.grade
  ORDER BY later.subject_area, try_cast(later.grade AS INTEGER) NULLS FIRST, later.grade;
`, pattern(dest), from, to, pattern(norms), span)
	return nil
}

// pattern returns a path as a glob pattern in a string literal of DuckDB.
func pattern(path string) string {
	return strings.NewReplacer("'", "''", "*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// projection is the key of a projected growth. The span is the same for all keys.
type projection struct {
	subject, grade string
	rit            int32
}

// projections returns the projected growth for a span, from a CSV file of norms. The file must have the columns that
// this function reads.
func projections(path, span string) (map[projection]float64, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user chooses the file
	if err != nil {
		return nil, fmt.Errorf("read the norms: %w", err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	projected := make(map[projection]float64)
	for _, line := range lines {
		value := func(column string) string {
			if i := slices.Index(lines[0], column); i >= 0 {
				return line[i]
			}
			return ""
		}
		rit, err := strconv.ParseInt(value("startrit"), 10, 32)
		growth, growthErr := strconv.ParseFloat(value("reported_growth"), 64)
		if err == nil && growthErr == nil && value("growth_window") == span {
			projected[projection{value("measurementscale"), value("startgrade"), int32(rit)}] = growth
		}
	}
	if len(projected) == 0 {
		return nil, fmt.Errorf("%s has no norms for %q", path, span)
	}
	return projected, nil
}

// result holds the columns of test_results that this program reads.
type result struct {
	TestResultBid string `parquet:"test_result_bid,optional"`
	StudentBid    string `parquet:"student_bid,optional"`
	SubjectArea   string `parquet:"subject_area,optional"`
	Grade         string `parquet:"grade,optional"`
	RIT           int32  `parquet:"rit,optional"`
}

// test is the key on which the results of two snapshots are joined. The service has one result per student and subject.
// The grade distinguishes the school years.
type test struct{ studentBid, subjectArea, grade string }

func (r *result) test() test { return test{r.StudentBid, r.SubjectArea, r.Grade} }

// eachResult calls do with the results of a snapshot that have values in all columns.
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

// compare orders groups by subject, then by grade. Words such as K come before numbers.
func (g group) compare(other group) int {
	number, _ := strconv.Atoi(g.grade)
	otherNumber, _ := strconv.Atoi(other.grade)
	return cmp.Or(cmp.Compare(g.subject, other.subject), cmp.Compare(number, otherNumber), cmp.Compare(g.grade, other.grade))
}

// scores holds sums over the students in a group. known counts the students with a projection, and met those who met
// their projection.
type scores struct{ students, from, to, known, met int64 }

// mean returns a mean with one decimal, rounded as in SQL.
func mean(sum, n int64) string {
	return strconv.FormatFloat(math.Round(float64(sum)/float64(n)*10)/10, 'f', 1, 64)
}
