package render

import (
	"slices"

	"example.org/growthexport/schemas"
)

// The names of the views for analysts.
const (
	analysisPrefix = "analysis_"
	growthView     = analysisPrefix + "growth"
	normsView      = analysisPrefix + "norms"
	extraView      = analysisPrefix + "extra"
	columnsView    = analysisPrefix + "columns"
)

// newestAchievement is the description of an achievement percentile. Results may have norms of different editions.
const newestAchievement = "Percentile in the newest achievement norms that this result has; null if the newest edition has no percentile, even if an older one does. " +
	"Other results may have an older edition only; the view assessment_results of growth-export sql --views sector has the edition, in NormsReferenceData."

// lastGrade is the highest grade.
const lastGrade = 12

// analysisTables declares the views for analysts. Key columns together identify a row.
func analysisTables() []*schemas.Table {
	grade := derived("grade_number", schemas.Int32, schemas.Grade, "Grade as a number: -1 is pre-kindergarten, 0 kindergarten; null for other words.")
	school := slices.Concat(
		text("school_name", "Name of the school."),
		text("district_bid", "District of the school."),
		text("district_name", "Name of the district."),
	)
	names := slices.Concat(
		copied("students", "student_id"), copied("students", "first_name", "last_name"),
	)
	season := slices.Concat(
		text("season", "Fall, Winter, Spring or Summer: the first of these words in the term's name, or else the season in which the term begins."),
		derived("school_year", schemas.Int32, schemas.None,
			"Year in which the school year begins: the first number of four digits in the term's name, or else the year of the term's first day, minus one if that day is before July."),
	)
	teachers := derived("teachers", schemas.String, schemas.Direct, "Names of the educators in alphabetical order, separated by commas; null if there are no educators or their names are not known.")
	spanYear := derived("school_year", schemas.Int32, schemas.None, "School year in which the span ends.")
	measures := measureColumns()
	perspectives := count("perspectives", "Number of perspectives that list the row; each perspective has its own rows in the tables.")
	return []*schemas.Table{
		{
			Name: analysisPrefix + "schools",
			Doc:  "One row per school, including schools that only their district lists.",
			Columns: slices.Concat(
				key(text("school_bid", "Identifier of the school.")), school,
			),
		},
		{
			Name: analysisPrefix + "terms",
			Doc:  "One row per term, such as the fall of a school year.",
			Columns: slices.Concat(
				key(text("term_bid", "Identifier of the term, an enrollment_session_bid.")), termColumns(""), season,
			),
		},
		{
			Name: analysisPrefix + "students",
			Doc: "One row per student on the schools' rosters; rows without student_bid are left out. A student of several schools has the school of the newest enrollment, but with a history, " +
				"schools that were read take precedence over others, which keep their last known rosters. Identifiers, names, " +
				"date of birth and grade come from the roster and the enrollment in this school; where they are missing, as state_student_id often is, they " +
				"come from the dataset student_details. gender, ethnicity, english_learner and individualized_programs come only from student_details.",
			Columns: slices.Concat(
				key(studentBid()),
				copied("students", "student_id"),
				needing("student_school_associations student_details", copied("student_details", "state_student_id")),
				copied("student_school_associations", "district_student_id"),
				copied("student_details", "first_name", "middle_name", "last_name", "date_of_birth"),
				needing("student_details", copied("student_details", "gender", "ethnicity")),
				needing("student_details", derived("english_learner", schemas.JSON, schemas.Extra,
					"Member englishLearner of the student's details, as the service sends it; its form is not documented.")),
				needing("student_details", derived("individualized_programs", schemas.JSON, schemas.Extra,
					"Member individualizedPrograms of the student's details, as the service sends it; its form is not documented.")),
				copied("student_details", "grade"), grade,
				text("school_bid", "School of the student."), school,
				count("schools", "Number of schools whose roster, or last known roster, lists the student."), schoolRead("roster"),
			),
		},
		{
			Name: analysisPrefix + "classes",
			Doc:  "One row per class.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")),
				copied("school_classes", "class_name", "class_subject", "begin_date", "end_date"),
				text("school_bid", "School of the class."), school,
				count("students", "Number of students."), count("educators", "Number of educators."), teachers, perspectives,
				schoolRead("classes"),
			),
		},
		{
			Name: analysisPrefix + "class_educators",
			Doc:  "One row per class and educator.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")), key(copied("school_class_educators", "educator_bid")),
				copied("school_class_educators", "first_name", "middle_name", "last_name"),
				copied("school_classes", "class_name", "class_subject", "begin_date", "end_date"),
				text("school_bid", "School of the class."), school, perspectives, schoolRead("classes"),
			),
		},
		{
			Name: analysisPrefix + "rosters",
			Doc:  "One row per class and student, including students for whom the service sends only an identifier, which older builds kept in _extra.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")), key(studentBid()),
				copied("school_classes", "class_name", "class_subject", "begin_date", "end_date"),
				text("school_bid", "School of the class."), school,
				copied("student_details", "first_name", "last_name", "grade"), grade, perspectives,
				schoolRead("classes"),
			),
		},
		{
			Name: analysisPrefix + "results",
			Doc: "One row per test result that the service still returns, even if several schools list it. With a history, schools that were not read for " +
				"the newest snapshot also have their last known results, in which school_read is false: only the newest one per student and subject, and " +
				"none if a school that was read has a result. analysis_term_results also has the results that the service no longer returns: use it for means by term.",
			Columns: slices.Concat(
				resultColumns(), grade, names, school, termColumns(""), season,
				norm("achievement"), norm("growth"), schoolRead("results"),
			),
		},
		{
			Name: growthView,
			Doc:  "One row per pair of consecutive results of a student in a subject, from different terms. Grade and school come from the later result.",
			Columns: slices.Concat(
				copied("test_results", "student_bid"), names, copied("test_results", "subject_area", "grade"), grade,
				text("school_bid", "School of the later result."), school,
				text("from_term_name", "Name of the earlier result's term."), text("to_term_name", "Name of the later result's term."),
				text("from_academic_year", "School year of the earlier result."), text("to_academic_year", "School year of the later result."),
				derived("from_test_result_bid", schemas.String, schemas.Record, "Identifier of the earlier result."),
				key(derived("to_test_result_bid", schemas.String, schemas.Record, "Identifier of the later result.")),
				derived("from_administration_start_date_time", schemas.Timestamp, schemas.Moment, "When the earlier test began, UTC."),
				derived("to_administration_start_date_time", schemas.Timestamp, schemas.Moment, "When the later test began, UTC."),
				derived("from_rit", schemas.Int32, schemas.Score, "Score of the earlier result, in RIT."),
				derived("to_rit", schemas.Int32, schemas.Score, "Score of the later result, in RIT."),
				derived("growth", schemas.Int64, schemas.Score, "Later score minus earlier score, in RIT."),
				derived("from_achievement_percentile", schemas.Int32, schemas.Score, "Percentile of the earlier result in the newest achievement norms that it has, which may be an older edition than for the later result."),
				derived("to_achievement_percentile", schemas.Int32, schemas.Score, "Percentile of the later result in the newest achievement norms that it has."),
				derived("growth_percentile", schemas.Int32, schemas.Score,
					"Percentile of the later result in the newest growth norms. The service computes it from results and weeks of instruction, but does not say from which."),
			),
		},
		termResults(grade, school),
		norms(),
		growthSpans(),
		{
			Name: analysisPrefix + "growth_summary",
			Doc:  "One row per school, grade, subject, span and school year. School and grade are those at the end of the span.",
			Columns: slices.Concat(
				key(text("school_bid", "School of the results at the end of the span.")), school,
				part(derived("grade_number", schemas.Int32, schemas.Grade, "Grade at the end of the span as a number; null if the grade is unknown.")),
				key(text("subject_area", "Subject.")), key(text("span", "Span, such as Fall to Spring.")), key(spanYear),
				measures,
			),
		},
		{
			Name: analysisPrefix + "class_growth",
			Doc:  "One row per class, subject, span and school year: the growth of the students who are in the class now, or were when its school was last read.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")), copied("school_classes", "class_name", "class_subject"),
				teachers, count("educators", "Number of educators."),
				text("school_bid", "School of the class."), school,
				key(text("subject_area", "Subject.")), key(text("span", "Span, such as Fall to Spring.")), key(spanYear),
				measures,
			),
		},
		{
			Name: analysisPrefix + "completion",
			Doc: "One row per school, subject, term and snapshot date within the term, for the subjects in which the school has any result: the number of " +
				"students with a student_bid on that day's roster, and how many of them had a result of the term. A school whose roster or results could not be read on a day " +
				"has its last known rows; before the first day of the term on which both were read, it has no row.",
			Columns: slices.Concat(
				key(text("school_bid", "School whose roster it is.")), school,
				key(text("subject_area", "Subject.")), key(text("term_bid", "Term.")), text("term_name", "Name of the term."), season,
				key(derived("day", schemas.Date, schemas.None, "Snapshot date.")),
				count("students", "Number of students on the roster that day."),
				count("tested", "Number of these students with a result of the subject and of this term that the service returned that day, under any school. "+
					"A result of another district's term of the same name does not count."),
			),
		},
		{
			Name:    analysisPrefix + "days",
			Doc:     "One row per snapshot date of the history, or the date of the snapshot.",
			Columns: key(derived("day", schemas.Date, schemas.None, "Snapshot date.")),
		},
		{
			Name: analysisPrefix + "checks",
			Doc: "One row per school and rule of the service that the school's test results break. The rules are named like the checks of a run. A term " +
				"is unknown here if no school lists it. In a history, schools whose results could not be read for the newest snapshot are left out, and " +
				"unknown_student and unknown_term leave out schools whose roster or terms could not be read.",
			Columns: slices.Concat(
				key(text("check_name", "one_result_per_subject, older_than_a_year, rit_order, items_order, unknown_student or unknown_term.")),
				key(text("school_bid", "School that the results were requested for.")), school,
				count("found", "Number of results, or of students and subjects with several results."),
			),
		},
		{
			Name: extraView,
			Doc:  "One row per table and member of _extra.",
			Columns: slices.Concat(
				key(text("table_name", "Name of the table.")), key(text("member", "Name of the member.")),
				count("records", "Number of rows that have the member."),
			),
		},
		{
			Name: columnsView,
			Doc:  "One row per column of the tables and of these views.",
			Columns: slices.Concat(
				key(text("table_name", "Name of the table or view.")), key(text("column_name", "Name of the column.")),
				text("type", "Type of the column."),
				derived("part_of_key", schemas.Boolean, schemas.None, "Whether the column helps to identify a row."),
				text("class", "Privacy class: what the column reveals about a person."),
				text("meaning", "Meaning of the column."),
			),
		},
	}
}

// resultColumns returns the columns of test results without the last column, _extra.
func resultColumns() []schemas.Column {
	t, _, _ := schemas.FindTable(schemas.TestResults)
	var columns []schemas.Column
	for _, c := range t.Columns[:len(t.Columns)-1] {
		c.Key = c.Name == "test_result_bid"
		columns = append(columns, c)
	}
	return columns
}

// schoolRead returns the column that marks the last known rows of schools that were not read.
func schoolRead(what string) []schemas.Column {
	return derived("school_read", schemas.Boolean, schemas.None,
		"Whether the "+what+" of the school that lists the row could be read for the newest snapshot with this dataset; if not, the row is the last known one. Always true without a history.")
}

func termColumns(prefix string) []schemas.Column {
	return slices.Concat(
		text(prefix+"term_name", "Name of the term."),
		derived(prefix+"term_begin_date", schemas.Date, schemas.None, "First day of the term."),
		derived(prefix+"term_end_date", schemas.Date, schemas.None, "Last day of the term."),
		text(prefix+"academic_year", "Name of the school year."),
	)
}

func norm(kind string) []schemas.Column {
	return slices.Concat(
		derived(kind+"_percentile", schemas.Int32, schemas.Score, "Percentile in the newest "+kind+" norms that this result has; null if the newest edition has no percentile, even if an older one does. "+
			"Other results may have an older edition only."),
		text(kind+"_reference", "Edition of these "+kind+" norms."),
	)
}

// copied returns columns of a table, which may be null in a view.
func copied(table string, names ...string) []schemas.Column {
	t, _, _ := schemas.FindTable(table)
	var columns []schemas.Column
	for _, name := range names {
		c := t.Columns[t.Column(name)]
		c.Key, c.Required = false, false
		columns = append(columns, c)
	}
	return columns
}

// needing marks columns of a view as null if none of the given tables was exported. Their names are separated by
// spaces.
func needing(tables string, columns []schemas.Column) []schemas.Column {
	for i := range columns {
		columns[i].Source = tables
	}
	return columns
}

func derived(name string, t schemas.Type, class schemas.Class, doc string) []schemas.Column {
	return []schemas.Column{{Name: name, Type: t, Class: class, Doc: doc}}
}

func text(name, doc string) []schemas.Column { return derived(name, schemas.String, schemas.None, doc) }

func count(name, doc string) []schemas.Column { return derived(name, schemas.Int64, schemas.None, doc) }

// studentBid returns the column of a student's identifier, for views that leave out students without one.
func studentBid() []schemas.Column {
	return derived("student_bid", schemas.String, schemas.ID, "Identifier of the student.")
}

// key marks a column that helps to identify a row and is never null.
func key(columns []schemas.Column) []schemas.Column {
	columns[0].Required = true
	return part(columns)
}

// part marks a column that helps to identify a row and may be null.
func part(columns []schemas.Column) []schemas.Column {
	columns[0].Key = true
	return columns
}
