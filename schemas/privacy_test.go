package schemas

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func classes() []Class {
	var all []Class
	for _, row := range PrivacyMatrix() {
		all = append(all, row.Class)
	}
	return all
}

// TestPrivacyMatrix compares the matrix with the documented one.
func TestPrivacyMatrix(t *testing.T) {
	t.Parallel()
	var got []string
	for _, row := range PrivacyMatrix() {
		line := []string{string(row.Class)}
		for _, p := range Profiles() {
			line = append(line, row.Under(p).String())
			column := Column{Class: row.Class}
			require.Equal(t, row.Under(p), column.Under(p))
		}
		got = append(got, strings.Join(line, "; "))
	}
	require.Equal(t, []string{
		"none; as sent; as sent; as sent",
		"id; as sent; keyed pseudonym; keyed pseudonym",
		"record; as sent; keyed pseudonym; keyed pseudonym",
		"direct; as sent; null; null",
		"birth; as sent; 1 January of the year; null",
		"grade; as sent; as sent; as sent",
		"text; as sent; null; null",
		"trait; as sent; as sent; null",
		"score; as sent; as sent; as sent",
		"moment; as sent; the day, at 00:00 UTC; first day of the month",
		"measure; as sent; as sent; null",
		"extra; as sent; null; null",
	}, got)
	for _, unknown := range []Class{"", "other"} {
		column := Column{Class: unknown}
		require.Equal(t, Withhold, column.Under(Minimal))
		require.Equal(t, Keep, column.Under(Full))
	}
}

// TestPseudonymKinds checks that every identifier has a kind, and that withheld columns can be null.
func TestPseudonymKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		"student": "student_bid", "student_number": "student_id state_student_id district_student_id", "educator": "educator_bid",
		"test_result": "test_result_bid", "student_school_association": "student_school_association_bid",
		"educator_school_association": "educator_school_association_bid",
	}
	seen := make(map[string]bool)
	for _, table := range Tables() {
		for i := range table.Columns {
			c := &table.Columns[i]
			name := table.Name + "." + c.Name
			for _, p := range Profiles() {
				switch c.Under(p) {
				case Withhold:
					require.False(t, c.Required || c.Key, "%s is null under %s", name, p)
				case YearOnly:
					require.Equal(t, Date, c.Type, name)
				case MonthOnly, DayOnly:
					require.Contains(t, []Type{Date, Timestamp}, c.Type, name)
				case Pseudonymize:
					require.Equal(t, String, c.Type, name)
				case Keep:
				}
			}
			kind := c.PseudonymKind()
			require.Equal(t, c.Under(Pseudonymous) == Pseudonymize, kind != "", name)
			if kind != "" {
				require.Contains(t, strings.Fields(kinds[kind]), strings.TrimPrefix(c.Name, "requested_"), name)
				seen[kind] = true
			}
		}
	}
	require.Len(t, seen, len(kinds))
}
