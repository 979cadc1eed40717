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
	"text/tabwriter"

	"github.com/parquet-go/parquet-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ritbygrade DEST")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "ritbygrade:", err)
		os.Exit(1)
	}
}

// run prints the mean RIT by subject and grade of the latest snapshot at dest.
func run(w io.Writer, dest string) (err error) {
	root, err := os.OpenRoot(dest) // no file outside of it is opened
	if err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var latest struct {
		RunID        string `json:"run_id"`
		SnapshotDate string `json:"snapshot_date"`
		Manifest     string `json:"manifest"`
	}
	if err := readJSON(root, "_latest.json", &latest); err != nil {
		return err
	}
	var manifest struct {
		Tables map[string]struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		} `json:"tables"`
	}
	if err := readJSON(root, latest.Manifest, &manifest); err != nil {
		return err
	}
	groups := make(map[group]scores)
	for _, file := range manifest.Tables["test_results"].Files {
		if err := addResults(groups, root, file.Path); err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
	}

	fmt.Fprintf(w, "Mean RIT by subject and grade, snapshot of %s (run %s)\n\n", latest.SnapshotDate, latest.RunID)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "subject\tgrade\tresults\tmean RIT\t")
	for _, g := range slices.SortedFunc(maps.Keys(groups), group.compare) {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t\n", g.subject, g.grade, groups[g].results, groups[g].mean())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	fmt.Fprintf(w, `
The same in DuckDB:

  SELECT subject_area, grade, count(*) AS results, round(avg(rit), 1) AS mean_rit
  FROM read_parquet('%s/test_results/snapshot_date=*/**/*.parquet', hive_partitioning = true)
  WHERE snapshot_date = DATE '%s'
  GROUP BY subject_area, grade
  ORDER BY subject_area, try_cast(grade AS INTEGER) NULLS FIRST, grade NULLS FIRST;
`, dest, latest.SnapshotDate)
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

// scores sums up the results of a group. Some results have no score.
type scores struct{ results, scored, sum int64 }

// mean returns the mean score with one digit, rounded as in SQL.
func (s scores) mean() string {
	if s.scored == 0 {
		return "-"
	}
	return strconv.FormatFloat(math.Round(float64(s.sum)/float64(s.scored)*10)/10, 'f', 1, 64)
}

// addResults adds the results in a file of table test_results.
func addResults(groups map[group]scores, root *os.Root, path string) error {
	data, err := root.ReadFile(path)
	if err != nil {
		return err
	}
	rows, err := parquet.Read[struct { // the columns to read
		SubjectArea *string `parquet:"subject_area"`
		Grade       *string `parquet:"grade"`
		RIT         *int32  `parquet:"rit"`
	}](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	missing := "-"
	for _, row := range rows {
		key := group{*cmp.Or(row.SubjectArea, &missing), *cmp.Or(row.Grade, &missing)}
		s := groups[key]
		s.results++
		if row.RIT != nil {
			s.scored++
			s.sum += int64(*row.RIT)
		}
		groups[key] = s
	}
	return nil
}
