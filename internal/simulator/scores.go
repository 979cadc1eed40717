package simulator

import (
	"slices"
	"strconv"
)

// The subjects of the tests, the most frequent first.
const (
	mathematics = iota
	reading
	languageUsage
	science
	subjects
)

// bands is the number of grade ranges that share a test: kindergarten to 2, 3 to 5, and 6 and up.
const bands = 3

func bandOf(grade int) int {
	switch {
	case grade <= 2:
		return 0
	case grade <= 5:
		return 1
	default:
		return 2
	}
}

var subjectNames = [subjects]string{"Mathematics", "Reading", "Language Usage", "Science"}

// test describes the test that all results of a subject and band share.
type test struct {
	name, key string
	areas     []string
}

var tests = [subjects][bands]test{
	mathematics: {
		{"Growth: Math K-2", "MK2-V3", []string{"Operations and Algebraic Thinking", "Number and Operations", "Measurement and Data", "Geometry"}},
		{"Growth: Math 2-5", "M25-V3", []string{"Operations and Algebraic Thinking", "Number and Operations", "Measurement and Data", "Geometry"}},
		{"Growth: Math 6+", "M6P-V4", []string{
			"Operations and Algebraic Thinking", "The Real and Complex Number Systems", "Geometry", "Statistics and Probability", "Functions & Modeling",
		}},
	},
	reading: {
		{"Growth: Reading K-2", "RK2-V3", []string{
			"Foundational Skills", "Language and Writing", "Literature and Informational", "Vocabulary Use and Functions",
		}},
		{"Growth: Reading 2-5", "R25-V4", []string{"Literary Text", "Informational Text", "Vocabulary: Acquisition and Use"}},
		{"Growth: Reading 6+", "R6P-V4", []string{"Literary Text", "Informational Text", "Vocabulary: Acquisition and Use"}},
	},
	languageUsage: {
		{"Growth: Language K-2", "LK2-V1", []string{"Writing", "Grammar, Usage", "Mechanics"}},
		{"Growth: Language 2-12", "L2P-V2", []string{"Writing", "Language: Understand, Edit for Grammar, Usage", "Language: Understand, Edit for Mechanics"}},
		{"Growth: Language 2-12", "L2P-V2", []string{"Writing", "Language: Understand, Edit for Grammar, Usage", "Language: Understand, Edit for Mechanics"}},
	},
	science: {
		{"Growth: Science K-2", "SK2-V1", []string{"Life Science", "Physical Science", "Earth/Space Science"}},
		{"Growth: Science 3-5", "S35-V2", []string{"Life Science", "Physical Science", "Earth/Space Science"}},
		{"Growth: Science 6-8", "S68-V2", []string{"Life Science", "Physical Science", "Earth/Space Science"}},
	},
}

// ritMeans holds mean scores in tenths by subject, grade and season (fall, winter, spring), within a point or so of
// published norms. ritMean derives the means of language usage and science from them.
var ritMeans = [2][13][3]int{
	mathematics: {
		{1396, 1501, 1571},
		{1601, 1702, 1764},
		{1750, 1841, 1894},
		{1885, 1962, 2011},
		{1996, 2060, 2105},
		{2091, 2147, 2188},
		{2148, 2196, 2229},
		{2202, 2240, 2267},
		{2249, 2281, 2303},
		{2264, 2287, 2300},
		{2291, 2312, 2324},
		{2320, 2335, 2343},
		{2330, 2341, 2346},
	},
	reading: {
		{1367, 1463, 1531},
		{1559, 1659, 1714},
		{1724, 1812, 1856},
		{1866, 1939, 1971},
		{1967, 2025, 2048},
		{2045, 2091, 2110},
		{2102, 2138, 2154},
		{2142, 2171, 2184},
		{2180, 2205, 2217},
		{2189, 2205, 2214},
		{2215, 2229, 2235},
		{2235, 2246, 2247},
		{2238, 2246, 2250},
	},
}

// ritMean returns the mean score in tenths. In summer, it is a little lower than in spring.
func ritMean(subject, grade int, s season) int {
	drop := 0
	if s == summer {
		s, drop = spring, 10
	}
	switch subject {
	case languageUsage:
		return ritMeans[reading][grade][s] - 6 - drop
	case science:
		// Science scores are halfway between those in reading and 200, so they grow more slowly.
		return (ritMeans[reading][grade][s]+2000)/2 - drop
	default:
		return ritMeans[subject][grade][s] - drop
	}
}

// ritDeviation returns the standard deviation of scores in tenths, which grows with age.
func ritDeviation(subject, grade int) int {
	switch subject {
	case mathematics:
		return 130 + 4*grade
	case science:
		return 115 + 2*grade
	default:
		return 135 + 3*grade
	}
}

// percentileBounds holds the standard normal quantiles at 1.5 %, 2.5 % ... 98.5 %, in thousandths.
var percentileBounds = [...]int{
	-2170, -1960, -1812, -1695, -1598, -1514, -1440, -1372, -1311, -1254, -1200, -1150, -1103, -1058, -1015, -974, -935, -896, -860, -824,
	-789, -755, -722, -690, -659, -628, -598, -568, -539, -510, -482, -454, -426, -399, -372, -345, -319, -292, -266, -240, -215, -189,
	-164, -138, -113, -88, -63, -38, -13, 13, 38, 63, 88, 113, 138, 164, 189, 215, 240, 266, 292, 319, 345, 372, 399, 426, 454, 482, 510,
	539, 568, 598, 628, 659, 690, 722, 755, 789, 824, 860, 896, 935, 974, 1015, 1058, 1103, 1150, 1200, 1254, 1311, 1372, 1440, 1514, 1598,
	1695, 1812, 1960, 2170,
}

// percentile returns the percentile of a standard normal deviate in thousandths, from 1 to 99.
func percentile(z int) int {
	below, _ := slices.BinarySearch(percentileBounds[:], z)
	return below + 1
}

// lexileText returns a reading measure as text: 690L, or BR40L below zero (beginning reader).
func lexileText(measure int) string {
	if measure < 0 {
		return "BR" + strconv.Itoa(-measure) + "L"
	}
	return strconv.Itoa(measure) + "L"
}

// quantileText returns a mathematics measure as text: 745Q, or EM40Q below zero (emerging mathematician).
func quantileText(measure int) string {
	if measure < 0 {
		return "EM" + strconv.Itoa(-measure) + "Q"
	}
	return strconv.Itoa(measure) + "Q"
}
