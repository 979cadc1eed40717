package fetch

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// batch creates rows of a table from the values of some columns. nil is a null; all other columns are null too.
func batch(t *testing.T, table string, records ...map[string]any) *rows.Batch {
	t.Helper()
	declared, _, ok := schemas.FindTable(table)
	require.True(t, ok)
	b := rows.New(declared)
	for _, record := range records {
		for i, column := range declared.Columns {
			switch v := record[column.Name].(type) {
			case string:
				b.Cols[i].AppendString(v)
			case int:
				if column.Type == schemas.Timestamp {
					b.Cols[i].AppendInt64(int64(v))
				} else {
					b.Cols[i].AppendInt32(int32(v))
				}
			default:
				if column.Required {
					b.Cols[i].AppendString("school")
					continue
				}
				b.Cols[i].AppendNull()
			}
		}
		b.N++
	}
	require.NoError(t, b.Check())
	return b
}

type values = map[string]any

// TestRules counts rows at and around the limits of each rule. A null does not break a rule.
func TestRules(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	results := func(records ...values) *rows.Batch { return batch(t, "test_results", records...) }
	countRepeated := func(batches ...*rows.Batch) int64 {
		repeats := newRepeatedSubjects(100, seed)
		for _, b := range batches {
			repeats.addHashes(b)
		}
		for _, b := range batches {
			repeats.addPairs(b)
		}
		return repeats.count()
	}
	taken := func(student, subject any) values { return values{"student_bid": student, "subject_area": subject} }

	require.Equal(t, int64(2), countRepeated(results(
		taken("a", "Reading"), taken("b", "Reading"), taken("a", "Reading"), taken("a", "Reading"), taken("a", "Science"),
		taken("b", "Science"), taken("b", "Science"), taken("bS", "cience"), taken("ab", "Reading"),
		taken(nil, "Reading"), taken(nil, "Reading"), taken("c", nil), taken("c", nil), taken("", "Reading"), taken("", "Reading"),
	)), "counts pairs, not results")
	require.Equal(t, int64(1), countRepeated(results(taken("a", "x")), results(taken("a", "x"))), "over batches")
	dropped := results(taken("a", "x"), taken("a", "x"))
	dropped.Order = []int32{1}
	require.Zero(t, countRepeated(dropped), "a duplicate that was dropped does not count")

	const limit = 1_000_000
	at := func(start, end any) values {
		return values{"administration_start_date_time": start, "administration_end_date_time": end}
	}
	require.Equal(t, int64(3), countOlder(results(
		at(0, limit), at(0, limit-1), at(limit-1, nil), at(limit, nil), at(nil, nil), at(nil, limit-1), at(nil, limit),
	), limit))

	score := func(low, rit, high any) values {
		return values{"rit_score_low": low, "rit": rit, "rit_score_high": high}
	}
	require.Equal(t, int64(4), countDisordered(results(
		score(200, 200, 200), score(199, 200, 201), score(201, 200, 202), score(198, 200, 199), score(3, 2, 1),
		score(nil, 2, 1), score(9, nil, 1), score(nil, nil, nil), score(1, 2, nil),
	), "rit_score_low", "rit", "rit_score_high"))

	var students Roster
	students.addAll(batch(t, "students", values{"student_bid": "a"}, values{}, values{"student_bid": "c"}), seed)
	require.Equal(t, int64(2), countUnknown(results(
		taken("a", nil), taken("b", nil), taken("b", nil), taken("c", nil), taken(nil, nil), taken("", nil)), students.set(), seed))
}

func TestTermsOfResults(t *testing.T) {
	t.Parallel()
	result := func(school, term any) values { return values{"school_bid": school, "term_bid": term} }
	countTerms := func(inRun map[string]bool, batches ...*rows.Batch) snapshot.TermCounts {
		terms := newTermCounter("s1", inRun)
		for _, b := range batches {
			terms.add(b)
		}
		return terms.counts()
	}
	counts := countTerms(map[string]bool{"s1": true, "s2": true}, batch(t, "test_results",
		result("s1", "fall"), result(nil, "fall"), result("", "spring"), result("s2", "fall"), result("elsewhere", "fall"), result("s1", nil),
	))
	require.Equal(t, map[string]int64{hashTerm("fall"): 2, hashTerm("spring"): 1}, counts["s1"])
	require.Equal(t, map[string]int64{hashTerm("fall"): 1}, counts["s2"])
	require.Len(t, counts, 2)
	require.NotContains(t, hashTerm("fall"), "fall")

	var many []values
	for i := range maxTerms + 3 {
		many = append(many, result("s1", fmt.Sprint("term ", i)))
	}
	counts = countTerms(map[string]bool{"s1": true}, batch(t, "test_results", many[:20]...), batch(t, "test_results", many[20:]...))
	require.Len(t, counts["s1"], maxTerms+1, "further terms are counted under one entry")
	require.Equal(t, int64(3), counts["s1"][otherTerms])
}

func TestYearBefore(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"2026-11-20": "2025-11-20", "2024-02-29": "2023-02-28", "2025-02-28": "2024-02-28", "2025-03-01": "2024-03-01", "2026-01-01": "2025-01-01",
	} {
		moment, err := snapshot.YearBefore(date)
		require.NoError(t, err)
		require.Equal(t, want+"T00:00:00Z", time.UnixMicro(moment).UTC().Format(time.RFC3339), date)
	}
	_, err := snapshot.YearBefore("yesterday")
	require.Error(t, err)
}

func TestHashSet(t *testing.T) {
	t.Parallel()
	const size = 1000
	set := newHashSet(size)
	for i := range uint64(size) {
		hash := i << 40 // all hashes have the same slot
		require.True(t, set.add(hash+1), i)
		require.False(t, set.add(hash+1))
		require.True(t, set.has(hash+1))
		require.False(t, set.has(hash+2))
	}
	empty := newHashSet(0)
	require.False(t, empty.has(0))
	require.True(t, empty.add(0), "a hash may be 0")
	require.True(t, empty.has(0))
}
