package render

import (
	"slices"

	"example.org/growthexport/schemas"
)

// termResults declares the view of the results that count for their terms.
func termResults(grade, school []schemas.Column) *schemas.Table {
	return &schemas.Table{
		Name: analysisPrefix + "term_results",
		Doc: "One row per student, subject, school year and season: the result that counts. Of several results, one that the service marks for growth " +
			"takes precedence, then the one with the smallest standard error, then the newest, then the highest. Summer results, and those without a " +
			"student, subject, score or known term, are left out. With a history, results that the service no longer returns are included.",
		Columns: slices.Concat(
			key(copied(schemas.TestResults, "student_bid")), key(copied(schemas.TestResults, "subject_area")),
			key(derived("school_year", schemas.Int32, schemas.None, "Year in which the school year begins.")),
			key(text("season", "Fall, Winter or Spring.")),
			text("term_bid", "Term of the result."), text("term_name", "Name of the term."),
			copied(schemas.TestResults, "test_result_bid", "grade"), grade,
			text("school_bid", "School of the result."), school,
			copied(schemas.TestResults, "rit", "standard_error", "administration_start_date_time"),
			derived("achievement_percentile", schemas.Int32, schemas.Score, newestAchievement),
			derived("growth_percentile", schemas.Int32, schemas.Score, "Growth percentile that the service sends with the result, from the newest edition of its norms; the service does not say which span it is for."),
		),
	}
}

// norms declares the view of the file of growth norms.
func norms() *schemas.Table {
	number := func(name, doc string) []schemas.Column { return derived(name, schemas.Double, schemas.None, doc) }
	return &schemas.Table{
		Name: normsView,
		Doc:  "One row per subject, span, grade and score in the file of sql --norms; there are no rows without such a file. If the file has several rows for the same subject, span, grade and score, their growth columns are null.",
		Columns: slices.Concat(
			text("subject_area", "Subject in lower case (measurementscale)."), text("span", "Span in lower case (growth_window)."),
			number("grade_number", "Grade at the beginning of the span (startgrade)."), number("rit", "Score at the beginning (startrit)."),
			number("typical_growth", "Typical growth in RIT (typical_growth)."),
			number("projected_growth", "Projected growth in RIT (reported_growth)."),
			number("growth_sd", "Standard deviation of growth in RIT (std_dev_of_expectation)."),
		),
	}
}

// growthSpans declares the view of growth.
func growthSpans() *schemas.Table {
	columns := slices.Concat(
		key(copied(schemas.TestResults, "student_bid")), key(copied(schemas.TestResults, "subject_area")),
		key(text("span", "Fall to Fall, Winter to Winter, Spring to Spring, Fall to Winter, Fall to Spring or Winter to Spring.")),
		key(derived("school_year", schemas.Int32, schemas.None, "School year in which the span ends.")),
	)
	results := termResults(derived("grade_number", schemas.Int32, schemas.Grade, "Grade as a number."), nil)
	for _, name := range []string{"test_result_bid", "term_bid", "grade_number", "rit", "standard_error", "school_bid", "achievement_percentile"} {
		for _, end := range [][2]string{{"from_", "Beginning: "}, {"to_", "End: "}} {
			c := results.Columns[results.Column(name)]
			c.Name, c.Doc = end[0]+name, end[1]+lowerFirst(c.Doc)
			columns = append(columns, c)
		}
	}
	double := func(name, doc string) []schemas.Column { return derived(name, schemas.Double, schemas.Score, doc) }
	return &schemas.Table{
		Name: analysisPrefix + "growth_spans",
		Doc:  "One row per student, subject and span with a result that counts at both ends. Columns based on norms are null unless sql --norms is given.",
		Columns: slices.Concat(
			columns,
			derived("observed_growth", schemas.Int32, schemas.Score, "Score at the end minus score at the beginning, in RIT."),
			double("observed_growth_se", "Standard error of the observed growth, in RIT: the square root of the sum of both squared standard errors."),
			double("projected_growth", "Growth that the norms project for the subject, span, grade and score at the beginning, in RIT."),
			double("typical_growth", "Typical growth according to the norms, in RIT."),
			double("growth_sd", "Standard deviation of growth according to the norms, in RIT."),
			derived("met_projected_growth", schemas.String, schemas.Score,
				"Yes if the observed growth is at least the projected growth, No if it is less, null without a projection; followed by * if the difference is "+
					"less than observed_growth_se, unless a result has no standard error."),
			double("conditional_growth_index", "Observed minus projected growth in standard deviations."),
			derived("conditional_growth_percentile", schemas.Int32, schemas.Score,
				"Percentile of conditional_growth_index in the normal distribution, from 1 to 99. It does not take the weeks of instruction into account."),
			derived("growth_quintile", schemas.String, schemas.Score, "Quintile of conditional_growth_percentile: Low, LoAvg, Avg, HiAvg or High."),
			derived("service_growth_percentile", schemas.Int32, schemas.Score,
				"The growth percentile that the service sends with the result at the end, if any. It takes the weeks of instruction into account, but the service does "+
					"not say which span it is for. Prefer it only if the span begins at the student's previous test."),
		),
	}
}

// measureColumns declares the measures of a group of spans.
func measureColumns() []schemas.Column {
	double := func(name, doc string) []schemas.Column { return derived(name, schemas.Double, schemas.None, doc) }
	return slices.Concat(
		count("students", "Number of students."),
		double("mean_observed_growth", "Mean observed growth, in RIT."),
		double("mean_projected_growth", "Mean projected growth of the students with norms, in RIT."),
		double("share_met", "Share of the students with norms who met their projected growth, from 0 to 1."),
		double("median_conditional_growth_percentile", "Median conditional growth percentile of the students with norms."),
		count("with_norms", "Number of students with norms."),
	)
}
