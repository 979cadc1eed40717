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

// listCounts lists the highest counts, such as "rit 3, grade 1, ...".
func listCounts(counts map[string]int64, most int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, name+" "+wording.Count(counts[name]))
	}
	return strings.Join(parts, ", ")
}
