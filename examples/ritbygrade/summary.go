package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// result has the columns of test_results to read.
type result struct {
	SubjectArea *string `parquet:"subject_area"`
	Grade       *string `parquet:"grade"`
	RIT         *int32  `parquet:"rit"`
}

// group is the results of one subject and grade.
type group struct {
	subject, grade string
	results        int64
	scored, sum    int64
}

// mean returns the mean score with one digit, rounded as in SQL, or "-" without scores.
func (g *group) mean() string {
	if g.scored == 0 {
		return "-"
	}
	mean := float64(g.sum) / float64(g.scored)
	return strconv.FormatFloat(math.Round(mean*10)/10, 'f', 1, 64)
}

// summarise groups the snapshot's results by subject, then grade.
func summarise(s *snapshot) ([]*group, error) {
	type key struct{ subject, grade string }
	groups := map[key]*group{}
	for _, path := range s.files["test_results"] {
		err := eachResult(s, path, func(r result) {
			k := key{text(r.SubjectArea), text(r.Grade)}
			g := groups[k]
			if g == nil {
				g = &group{subject: k.subject, grade: k.grade}
				groups[k] = g
			}
			g.results++
			if r.RIT != nil {
				g.scored++
				g.sum += int64(*r.RIT)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	sorted := make([]*group, 0, len(groups))
	for _, g := range groups {
		sorted = append(sorted, g)
	}
	slices.SortFunc(sorted, func(a, b *group) int {
		return cmp.Or(
			cmp.Compare(a.subject, b.subject),
			cmp.Compare(gradeRank(a.grade), gradeRank(b.grade)),
			cmp.Compare(a.grade, b.grade),
		)
	})
	return sorted, nil
}

// eachResult calls do for every row of the file.
func eachResult(s *snapshot, path string, do func(result)) (err error) {
	file, err := s.root.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	columns, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return err
	}
	reader := parquet.NewGenericReader[result](columns)
	defer func() { err = errors.Join(err, reader.Close()) }()

	batch := make([]result, 1024)
	for {
		clear(batch) // the reader does not reset fields without a value
		n, err := reader.Read(batch)
		for _, r := range batch[:n] {
			do(r)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// gradeRank puts kindergarten and other words before the numbered grades.
func gradeRank(grade string) int {
	n, err := strconv.Atoi(grade)
	if err != nil {
		return 0
	}
	return n
}
