package render

import "strings"

// normsFile is the name of the view of a file of norms, for engines whose queries cannot read the file directly.
const normsFile = normsView + "_file"

// NormsColumns returns the columns of a file of growth norms, as the community's R packages name them. The first four
// identify a row.
func NormsColumns() []string {
	return []string{"measurementscale", "startgrade", "startrit", "growth_window", "typical_growth", "reported_growth", "std_dev_of_expectation"}
}

// NormsKey is the number of columns that identify a row.
const NormsKey = 4

// IsParquet reports whether a file of norms is a Parquet file, judging by its name. Other files are CSV.
func IsParquet(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".parquet") }

// span is a span of time over which growth is measured.
type span struct {
	Name     string
	From, To string // seasons
	Years    int    // school years from the first season to the second
}

// spans returns the spans of the norms.
func spans() []span {
	var all []span
	for _, ends := range [][2]string{
		{"Fall", "Fall"}, {"Fall", "Winter"}, {"Fall", "Spring"}, {"Winter", "Winter"}, {"Winter", "Spring"}, {"Spring", "Spring"},
	} {
		s := span{Name: ends[0] + " to " + ends[1], From: ends[0], To: ends[1]}
		if s.From == s.To {
			s.Years = 1
		}
		all = append(all, s)
	}
	return all
}

// SpanNames returns the names of the spans of the norms.
func SpanNames() []string {
	var names []string
	for _, s := range spans() {
		names = append(names, s.Name)
	}
	return names
}

// Prefix returns the span's name in the names of columns, such as fall_to_spring.
func (s span) Prefix() string { return strings.ReplaceAll(strings.ToLower(s.Name), " ", "_") }

// Column returns the span's name in the column names of the vendor's file, such as FallToSpring.
func (s span) Column() string { return s.From + "To" + s.To }

// goals is the number of instructional areas in the vendor's file, and studies the number of states' proficiency
// studies.
const (
	goals   = 8
	studies = 10
)

// upTo returns the numbers from 1 to n.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}
