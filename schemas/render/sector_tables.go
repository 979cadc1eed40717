package render

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"example.org/growthexport/schemas"
)

// sectorTables declares the views with the names and columns of files that other programs in education read.
func sectorTables() []*schemas.Table {
	return []*schemas.Table{assessmentResults(), sgpLong()}
}

// sgpLong declares the view for student growth percentiles.
func sgpLong() *schemas.Table {
	return &schemas.Table{
		Name: "sgp_long",
		Doc:  "The results that count, in the long form that R packages for student growth percentiles read: one row per row of analysis_term_results.",
		Columns: slices.Concat(
			text("VALID_CASE", "Always VALID_CASE."),
			key(text("CONTENT_AREA", "Subject in upper case, its words joined by underscores.")),
			key(text("YEAR", "School year and season: 2025_2026.1 is fall, .2 winter, .3 spring.")),
			derived("DATE", schemas.Date, schemas.Moment, "Day on which the test began, in UTC."),
			key(derived("ID", schemas.String, schemas.ID, "student_bid.")),
			derived("GRADE", schemas.Int32, schemas.Grade, "Grade as a number; 0 is kindergarten."),
			derived("SCALE_SCORE", schemas.Int32, schemas.Score, "Score, in RIT."),
			derived("SCALE_SCORE_CSEM", schemas.Double, schemas.Score, "Standard error of the score, in RIT."),
			text("SCHOOL_NUMBER", "school_bid of the result."),
			text("DISTRICT_NUMBER", "district_bid of the school."),
		),
	}
}

// assessmentResults declares the view of the vendor's assessment results file.
func assessmentResults() *schemas.Table {
	const (
		notSent   = "Null: the API does not have it."
		cutScores = "Null: the column would require the cut scores of a state."
	)
	whole := func(name, doc string) []schemas.Column { return derived(name, schemas.Int32, schemas.Score, doc) }
	number := func(name, doc string) []schemas.Column { return derived(name, schemas.Double, schemas.Score, doc) }
	score := func(name, doc string) []schemas.Column { return derived(name, schemas.String, schemas.Score, doc) }
	columns := slices.Concat(
		text("TermName", "Name of the term."),
		text("DistrictName", "Name of the school's district."),
		text("District_StateID", notSent),
		text("SchoolName", "Name of the result's school."),
		text("School_StateID", notSent),
		derived("StudentID", schemas.String, schemas.ID, "student_id of the student's newest row in students."),
		derived("Student_StateID", schemas.String, schemas.ID,
			"state_student_id of student_details, or else student_id, which is the state's id according to specification 4.4."),
		text("Subject", "subject_area, but Language Arts for Reading and Language Usage."),
		text("Course", "Math K-12 for Mathematics, Science K-12 for Science, or else subject_area."),
		text("GrowthMeasureYN", "TRUE or FALSE, from growth_event_yn."),
		text("NormsReferenceData", "Edition of the newest achievement norms, from which TestPercentile comes."),
	)
	for _, year := range []string{"Selected", "Previous"} {
		for _, season := range []string{"Fall", "Winter", "Spring"} {
			columns = append(columns, derived("WI"+year+"AY"+season, schemas.Int32, schemas.None, notSent)...)
		}
	}
	columns = slices.Concat(columns,
		text("TestType", "test_type."), text("TestName", "test_name."),
		key(derived("TestID", schemas.String, schemas.Record, "test_result_bid.")),
		derived("TestStartDate", schemas.String, schemas.Moment, "Day on which the test began, in UTC: MM/DD/YYYY."),
		derived("TestStartTime", schemas.String, schemas.Moment, "Time at which the test began, in UTC: HH:MM:SS."),
		derived("TestDurationMinutes", schemas.Int64, schemas.Measure, "duration in minutes, rounded. The unit of duration is not documented; it is most likely milliseconds."),
		whole("TestRITScore", "rit."),
		score("TestStandardError", "standard_error with two decimals, or with an exponent if it has more than 16 digits."),
		whole("TestPercentile", "Percentile in the newest achievement norms."),
		score("AchievementQuintile", "Quintile of TestPercentile: Low, LoAvg, Avg, HiAvg or High."),
		derived("PercentCorrect", schemas.Int32, schemas.Measure, "items_correct in percent of items_shown, rounded."),
		number("RapidGuessingPercentage", "response_disengaged_percentage."),
	)
	for _, s := range spans() {
		of := func(column string) string {
			return fmt.Sprintf("%s of analysis_growth_spans, if a span %s ends with this result.", column, s.Name)
		}
		columns = slices.Concat(columns,
			number(s.Column()+"ProjectedGrowth", of("projected_growth")),
			whole(s.Column()+"ObservedGrowth", of("observed_growth")),
			number(s.Column()+"ObservedGrowthSE", of("observed_growth_se")),
			score(s.Column()+"MetProjectedGrowth", of("met_projected_growth")),
			score(s.Column()+"ConditionalGrowthIndex", of("conditional_growth_index with two decimals,")),
			whole(s.Column()+"ConditionalGrowthPercentile", of("conditional_growth_percentile")),
			score(s.Column()+"GrowthQuintile", of("growth_quintile")),
		)
	}
	columns = slices.Concat(columns,
		score("LexileScore", "lexile_score."), score("LexileMin", "lexile_min."), score("LexileMax", "lexile_max."),
		score("QuantileScore", "quantile_score."), score("QuantileMin", "quantile_minimum."), score("QuantileMax", "quantile_maximum."),
	)
	for _, n := range upTo(goals) {
		name := fmt.Sprintf("Goal%d", n)
		area := fmt.Sprintf(" of instructional area %d, in the order of ordinal.", n)
		columns = slices.Concat(columns,
			text(name+"Name", "Name"+area), number(name+"RitScore", "Score"+area), number(name+"StdErr", "Standard error"+area),
			score(name+"Range", "Low and high score, joined by a hyphen,"+area), score(name+"Adjective", notSent),
		)
	}
	for _, s := range spans() {
		columns = append(columns, number("Typical"+s.Column()+"Growth",
			"typical_growth of the norms for "+s.Name+", if this result is of the season in which the span begins; needs sql --norms.")...)
	}
	for _, n := range upTo(studies) {
		columns = slices.Concat(columns,
			text(fmt.Sprintf("ProjectedProficiencyStudy%d", n), cutScores), score(fmt.Sprintf("ProjectedProficiencyLevel%d", n), cutScores))
	}
	for i := range columns {
		columns[i].Required = false // a result of a snapshot may lack its identifier
	}
	return &schemas.Table{
		Name: "assessment_results",
		Doc: "The columns of the vendor's assessment results file, with its names and in its order. One row per test result; with a history, one per result ever seen. " +
			"COPY assessment_results TO 'AssessmentResults.csv' (HEADER) writes the file.",
		Columns: columns,
	}
}

// lowerFirst returns a text with its first letter in lower case, so that it can continue a sentence.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}
