package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
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
	root, err := os.OpenRoot(dest)
	if err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	snapshot, err := latest(root)
	if err != nil {
		return err
	}
	groups, err := summarise(snapshot)
	if err != nil {
		return err
	}

	fmt.Fprintf(w, "Mean RIT by subject and grade, snapshot of %s (run %s)\n\n", snapshot.date, snapshot.run)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "subject\tgrade\tresults\tmean RIT\t")
	for _, g := range groups {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t\n", g.subject, g.grade, g.results, g.mean())
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
`, dest, snapshot.date)
	return nil
}
