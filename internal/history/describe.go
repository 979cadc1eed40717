package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Describe describes the counts of a table in one line, such as "2 added, 3 changed (rit 3), 1 gone: 1 superseded; 96 the same".
func Describe(t *snapshot.TableComparison) string {
	text := fmt.Sprintf("%s added, %s changed", wording.Count(t.Added), wording.Count(t.Changed))
	if len(t.ChangedColumns) > 0 {
		text += " (" + listCounts(t.ChangedColumns, 4) + ")"
	}
	text += fmt.Sprintf(", %s gone", wording.Count(t.Removed))
	if len(t.Because) > 0 {
		text += ": " + listCounts(t.Because, len(t.Because))
	}
	return text + "; " + wording.Count(t.Same) + " the same"
}

// DescribeChanges describes what changed in a table, such as "1,204 new results, 87 changed (rit 3), 12 gone: 9 superseded,
// 3 unexplained". Every change comes with a new modified_date_time, so that column is left out.
func DescribeChanges(t *snapshot.TableComparison, things string) string {
	text := fmt.Sprintf("%s new %s, %s changed", wording.Count(t.Added), things, wording.Count(t.Changed))
	columns := maps.Clone(t.ChangedColumns)
	delete(columns, "modified_date_time")
	if len(columns) > 0 {
		text += " (" + listCounts(columns, 4) + ")"
	}
	text += fmt.Sprintf(", %s gone", wording.Count(t.Removed))
	var reasons []string
	for _, reason := range highest(t.Because) {
		reasons = append(reasons, wording.Count(t.Because[reason])+" "+strings.ReplaceAll(reason, "_", " "))
	}
	if t.Removed > t.Because[snapshot.Removed] {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text
}

// highest returns the names of counts, the highest first.
func highest(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// listCounts lists the highest counts, such as "rit 3, grade 1, ...".
func listCounts(counts map[string]int64, most int) string {
	var parts []string
	for i, name := range highest(counts) {
		if i == most {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, name+" "+wording.Count(counts[name]))
	}
	return strings.Join(parts, ", ")
}
