package simulator

import "slices"

// table is what the contract promises of a table: its columns in their order, where each value comes from, and what identifies
// a row. The tables are written out here once more, apart from the exporter's own, so that the oracle can disagree with it.
type table struct {
	name    string
	dataset string
	each    string // the array of the record whose elements are the rows; empty if the record is the row
	// bare is the source of the column that takes an element that is text instead of an object; empty if there is none.
	bare string
	// known are documented members that no column takes.
	known []string
	// wholeRecord is set where only records equal in every member are duplicates.
	wholeRecord bool
	columns     []column
	shape       *shape
}

// column takes its value from source: a member of the record, or member.member; ^member of the parent record; $parameter of the
// call; # for the position in the array; * for what no column took.
type column struct {
	name, source string
	key          bool
}

// columnOf is the name of the column of a source.
func (t *table) columnOf(source string) string {
	return t.columns[slices.IndexFunc(t.columns, func(col column) bool { return col.source == source })].name
}

// keySource is the source by which the records of one list are told apart.
func (t *table) keySource() string {
	at := slices.IndexFunc(t.columns, func(col column) bool { return col.key && col.source[0] != '$' })
	if at < 0 {
		return ""
	}
	return t.columns[at].source
}

// keyOf is the key of a row within its list; empty if it is not complete, or the table has none.
func (t *table) keyOf(row Row) string {
	source := t.keySource()
	if source == "" {
		return ""
	}
	key, _ := row[t.columnOf(source)].(string)
	return key
}

// tables lists all tables, a dataset's first table before its children.
func tables() []table {
	return slices.Concat(organizationTables(), resultTables(), enrollmentTables())
}

// organizationTables are those of 4.1 to 4.5.
func organizationTables() []table {
	return []table{
		{
			name: "districts", dataset: "districts",
			columns: []column{
				{name: "district_bid", source: "districtBid", key: true},
				{name: "district_name", source: "districtName"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "schools", dataset: "schools",
			columns: []column{
				{name: "school_bid", source: "schoolBid", key: true},
				{name: "name", source: "name"},
				{name: "district_bid", source: "districtBid"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "district_schools", dataset: "district_schools",
			columns: []column{
				{name: "requested_district_bid", source: "$district_bid", key: true},
				{name: "school_bid", source: "schoolBid", key: true},
				{name: "name", source: "name"},
				{name: "district_bid", source: "districtBid"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "students", dataset: "students",
			columns: []column{
				{name: "requested_school_bid", source: "$school_bid", key: true},
				{name: "student_bid", source: "studentBid", key: true},
				{name: "student_id", source: "studentId"},
				{name: "first_name", source: "firstName"},
				{name: "last_name", source: "lastName"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "student_details", dataset: "student_details",
			known: []string{"personalNeedsProfile", "englishLearner", "individualizedPrograms"},
			columns: []column{
				{name: "requested_school_bid", source: "$school_bid", key: true},
				{name: "requested_student_bid", source: "$student_bid", key: true},
				{name: "student_bid", source: "studentBid"},
				{name: "student_id", source: "studentId"},
				{name: "state_student_id", source: "stateStudentId"},
				{name: "district_bid", source: "districtBid"},
				{name: "school_bid", source: "schoolBid"},
				{name: "first_name", source: "firstName"},
				{name: "middle_name", source: "middleName"},
				{name: "last_name", source: "lastName"},
				{name: "date_of_birth", source: "dateOfBirth"},
				{name: "gender", source: "gender"},
				{name: "ethnicity", source: "ethnicity"},
				{name: "ethnicity_custom", source: "ethnicityCustom"},
				{name: "grade", source: "grade"},
				{name: "grade_custom", source: "gradeCustom"},
				{name: "_extra", source: "*"},
			},
		},
	}
}

// resultTables are those of 4.6.
func resultTables() []table {
	return []table{
		{
			name: "test_results", dataset: "test_results",
			known: []string{"accommodations"},
			columns: []column{
				{name: "requested_school_bid", source: "$school_bid", key: true},
				{name: "test_result_bid", source: "testResultBid", key: true},
				{name: "student_bid", source: "studentBid"},
				{name: "school_bid", source: "schoolBid"},
				{name: "term_bid", source: "termBid"},
				{name: "subject_area", source: "subjectArea"},
				{name: "grade", source: "grade"},
				{name: "test_name", source: "testName"},
				{name: "test_key", source: "testKey"},
				{name: "test_type", source: "testType"},
				{name: "growth_event_yn", source: "growthEventYn"},
				{name: "duration", source: "duration"},
				{name: "status", source: "status"},
				{name: "rit", source: "rit"},
				{name: "standard_error", source: "standardError"},
				{name: "rit_score_high", source: "ritScoreHigh"},
				{name: "rit_score_low", source: "ritScoreLow"},
				{name: "items_shown", source: "items.shown"},
				{name: "items_correct", source: "items.correct"},
				{name: "items_total", source: "items.total"},
				{name: "response_disengaged_percentage", source: "responseDisengagedPercentage"},
				{name: "impact_of_disengagement", source: "impactOfDisengagement"},
				{name: "administration_start_date_time", source: "administrationStartDateTime"},
				{name: "administration_end_date_time", source: "administrationEndDateTime"},
				{name: "modified_date_time", source: "modifiedDateTime"},
				{name: "lexile_score", source: "lexile.score"},
				{name: "lexile_range", source: "lexile.range"},
				{name: "lexile_min", source: "lexile.min"},
				{name: "lexile_max", source: "lexile.max"},
				{name: "quantile_score", source: "quantile.score"},
				{name: "quantile_range", source: "quantile.range"},
				{name: "quantile_minimum", source: "quantile.minimum"},
				{name: "quantile_maximum", source: "quantile.maximum"},
				{name: "quantile_original", source: "quantile.original"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "test_result_norms", dataset: "test_results", each: "norms",
			columns: []column{
				{name: "requested_school_bid", source: "$school_bid", key: true},
				{name: "test_result_bid", source: "^testResultBid", key: true},
				{name: "ordinal", source: "#", key: true},
				{name: "percentile", source: "percentile"},
				{name: "reference", source: "reference"},
				{name: "type", source: "type"},
				{name: "_extra", source: "*"},
			},
		},
		{
			name: "test_result_instructional_areas", dataset: "test_results", each: "instructionalAreas",
			columns: []column{
				{name: "requested_school_bid", source: "$school_bid", key: true},
				{name: "test_result_bid", source: "^testResultBid", key: true},
				{name: "ordinal", source: "#", key: true},
				{name: "instructional_area_bid", source: "instructionalAreaBid"},
				{name: "instructional_area_name", source: "instructionalAreaName"},
				{name: "score", source: "score"},
				{name: "standard_error", source: "standardError"},
				{name: "score_low", source: "scoreLow"},
				{name: "score_high", source: "scoreHigh"},
				{name: "_extra", source: "*"},
			},
		},
	}
}
