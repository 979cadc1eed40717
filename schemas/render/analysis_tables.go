package render

import (
	"slices"

	"example.org/growthexport/schemas"
)

// The names of the views for analysts.
const (
	analysisPrefix = "analysis_"
	growthView     = analysisPrefix + "growth"
	extraView      = analysisPrefix + "extra"
	columnsView    = analysisPrefix + "columns"
)

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
	perspectives := count("perspectives", "Number of perspectives that have it, each with rows of its own in the tables.")
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
				key(text("term_bid", "Identifier of the term, an enrollment_session_bid.")), termColumns(""),
			),
		},
		{
			Name: analysisPrefix + "students",
			Doc:  "One row per student of the schools' rosters. Grade and school come from the newest enrollment; gender and ethnicity need the dataset student_details.",
			Columns: slices.Concat(
				key(copied("students", "student_bid")),
				copied("students", "student_id"),
				copied("student_details", "state_student_id"),
				copied("student_school_associations", "district_student_id"),
				copied("student_details", "first_name", "middle_name", "last_name", "date_of_birth", "gender", "ethnicity", "grade"),
				grade,
				text("school_bid", "School of the student."), school,
				count("schools", "Number of schools whose roster has the student."),
			),
		},
		{
			Name: analysisPrefix + "classes",
			Doc:  "One row per class.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")),
				copied("school_classes", "class_name", "class_subject", "begin_date", "end_date"),
				text("school_bid", "School of the class."), school,
				count("students", "Number of students."), count("educators", "Number of educators."), perspectives,
			),
		},
		{
			Name: analysisPrefix + "rosters",
			Doc:  "One row per class and student.",
			Columns: slices.Concat(
				key(copied("school_classes", "school_class_bid")), key(copied("students", "student_bid")),
				copied("school_classes", "class_name", "class_subject", "begin_date", "end_date"),
				text("school_bid", "School of the class."), school,
				copied("student_details", "first_name", "last_name", "grade"), grade, perspectives,
			),
		},
		{
			Name: analysisPrefix + "results",
			Doc:  "One row per test result, also if several schools have it.",
			Columns: slices.Concat(
				resultColumns(), grade, school, termColumns(""),
				norm("achievement"), norm("growth"),
			),
		},
		{
			Name: growthView,
			Doc:  "One row per pair of consecutive results of a student in a subject, from different terms. Grade and school come from the later result.",
			Columns: slices.Concat(
				copied("test_results", "student_bid", "subject_area", "grade"), grade,
				text("school_bid", "School of the later result."), school,
				text("from_term_name", "Name of the earlier result's term."), text("to_term_name", "Name of the later result's term."),
				text("from_academic_year", "School year of the earlier result."), text("to_academic_year", "School year of the later result."),
				derived("from_test_result_bid", schemas.String, schemas.Record, "Identifier of the earlier result."),
				key(derived("to_test_result_bid", schemas.String, schemas.Record, "Identifier of the later result.")),
				derived("from_administration_start_date_time", schemas.Timestamp, schemas.None, "When the earlier test began, UTC."),
				derived("to_administration_start_date_time", schemas.Timestamp, schemas.None, "When the later test began, UTC."),
				derived("from_rit", schemas.Int32, schemas.Score, "Score of the earlier result, in RIT."),
				derived("to_rit", schemas.Int32, schemas.Score, "Score of the later result, in RIT."),
				derived("growth", schemas.Int32, schemas.Score, "Later score minus earlier score, in RIT."),
			),
		},
		{
			Name: extraView,
			Doc:  "One row per table and member of _extra.",
			Columns: slices.Concat(
				key(text("table_name", "Name of the table.")), key(text("member", "Name of the member.")),
				count("records", "Number of rows that have it."),
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
				text("meaning", "What the column means."),
			),
		},
	}
}

// resultColumns returns the columns of test results without the last one, _extra.
func resultColumns() []schemas.Column {
	t, _, _ := schemas.FindTable(schemas.TestResults)
	var columns []schemas.Column
	for _, c := range t.Columns[:len(t.Columns)-1] {
		c.Key = c.Name == "test_result_bid"
		columns = append(columns, c)
	}
	return columns
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
		derived(kind+"_percentile", schemas.Int32, schemas.Score, "Percentile in the newest "+kind+" norms."),
		text(kind+"_reference", "Edition of the newest "+kind+" norms."),
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

func derived(name string, t schemas.Type, class schemas.Class, doc string) []schemas.Column {
	return []schemas.Column{{Name: name, Type: t, Class: class, Doc: doc}}
}

func text(name, doc string) []schemas.Column { return derived(name, schemas.String, schemas.None, doc) }

func count(name, doc string) []schemas.Column { return derived(name, schemas.Int64, schemas.None, doc) }

// key marks a column that identifies rows and is never null.
func key(columns []schemas.Column) []schemas.Column {
	columns[0].Key, columns[0].Required = true, true
	return columns
}
