package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Describe describes the changes in a table, such as "1,204 new results, 87 changed (rit 3), 12 gone: 9 superseded, 3
// unexplained". The column modified_date_time is left out, because it normally changes with any other column.
func Describe(table string, t *snapshot.TableComparison) string {
	thing := "new row"
	if table == resultsTable {
		thing = "new result"
	}
	text := fmt.Sprintf("%s, %s changed", wording.Many(t.Added, thing), wording.Count(t.Changed))
	if columns := changedColumns(table, t); len(columns) > 0 {
		text += " (" + strings.Join(columns, ", ") + ")"
	}
	text += fmt.Sprintf(", %s gone", wording.Count(t.Removed))
	if t.Removed == t.Because[snapshot.Removed] {
		return text
	}
	return text + ": " + describeReasons(t.Because, snapshot.ReasonText)
}

// DescribeVersions describes the versions of a table that begin and end with a snapshot, such as "0 new, 12 ended: 12
// list changed; 512 the same".
func DescribeVersions(table string, c *TableCounts) string {
	text := fmt.Sprintf("%s new, %s ended", wording.Count(c.Begun), wording.Count(c.Ended))
	if c.Ended > 0 {
		declared, _, _ := schemas.FindTable(table)
		text += ": " + describeReasons(c.Because, func(reason string) string {
			if reason == snapshot.ElementsChanged && (declared == nil || declared.Each == "") {
				return reason // a new version of the same row has begun
			}
			return snapshot.ReasonText(reason)
		})
	}
	return text + "; " + wording.Count(c.Same) + " the same"
}

// describeReasons lists counts with the texts of their reasons, the highest count first.
func describeReasons(because map[string]int64, text func(reason string) string) string {
	var reasons []string
	for _, reason := range highest(because, slices.Sorted(maps.Keys(because))) {
		reasons = append(reasons, wording.Count(because[reason])+" "+text(reason))
	}
	return strings.Join(reasons, ", ")
}

// changedColumns returns the columns that changed most often with their counts, such as "rit 3", "grade 1" and "...".
func changedColumns(name string, t *snapshot.TableComparison) []string {
	const most = 4
	table, _, _ := schemas.FindTable(name)
	var columns, list []string
	for i := range table.Columns {
		if column := table.Columns[i].Name; t.ChangedColumns[column] > 0 && column != "modified_date_time" {
			columns = append(columns, column)
		}
	}
	for i, column := range highest(t.ChangedColumns, columns) {
		if i == most {
			return append(list, "...")
		}
		list = append(list, column+" "+wording.Count(t.ChangedColumns[column]))
	}
	return list
}

// highest sorts names by count, the highest first. Names with equal counts keep their order.
func highest(counts map[string]int64, names []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return names
}
