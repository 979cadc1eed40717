package simulator

import (
	"bufio"
	"fmt"
	"io"
)

// retest is the correlation of two scores of a student in hundredths, which follows from the share of ability in
// eventOf. growthSpread is the remaining standard deviation of growth, in thousandths of the standard deviation of
// scores.
const (
	retest       = 72
	growthSpread = 694
)

// expectedGrowth returns how much the score of a student is expected to grow from the score rit in one test to a later
// test, and the standard deviation of this growth, both in hundredths of a point. A student at the mean is expected to
// grow by the growth of the mean, a student above it by less, and a student below it by more.
func expectedGrowth(subject, fromGrade int, from season, toGrade int, to season, rit int) (growth, deviation int) {
	z := rounded((rit*10-ritMean(subject, fromGrade, from))*1000, ritDeviation(subject, fromGrade))
	later := ritDeviation(subject, toGrade)
	return ritMean(subject, toGrade, to)*10 + rounded(later*z*retest, 10_000) - rit*100, rounded(later*10*growthSpread, 1000)
}

// WriteNorms writes a made-up table of growth norms in CSV, in the form that the community's R packages use for
// published norms. It holds the growth that the simulated service itself expects, by subject, grade, score and span.
func WriteNorms(w io.Writer) error {
	const lowest, highest = 100, 300
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "measurementscale,startgrade,startrit,growth_window,typical_growth,reported_growth,std_dev_of_expectation,source")
	for subject, name := range subjectNames {
		for grade := range gradeNames {
			for _, span := range [][2]season{{fall, fall}, {fall, winter}, {fall, spring}, {winter, winter}, {winter, spring}, {spring, spring}} {
				end := grade
				if span[0] == span[1] {
					end++
				}
				if end >= len(gradeNames) || subject == languageUsage && grade < 2 {
					continue
				}
				for rit := lowest; rit <= highest; rit++ {
					growth, deviation := expectedGrowth(subject, grade, span[0], end, span[1], rit)
					fmt.Fprintf(b, "%s,%s,%d,%s to %s,%s,%d,%s,made up by growth-export\n", name, gradeNames[grade], rit, span[0], span[1],
						hundredths(growth), rounded(growth, 100), hundredths(deviation))
				}
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write norms: %w", err)
	}
	return nil
}

// hundredths returns a number of hundredths as text with two decimals.
func hundredths(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}
