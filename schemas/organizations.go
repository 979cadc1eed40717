package schemas

// Lookups: districts, schools and students (specification 4.1 to 4.5).

func districts() *Dataset {
	return &Dataset{
		Name:    Districts,
		Doc:     "The districts that the app may access.",
		Default: true, Per: Once,
		Operation: Operation{
			Section: "4.2", Path: "/organizations/v1/districts/",
		},
		Tables: []*Table{{
			Name: Districts,
			Doc:  "One row per district.",
			Columns: []Column{
				str("district_bid", "districtBid", "Identifier of the district, which is also its perspective-bid. Specification 4.2.", key, none),
				str("district_name", "districtName", "Name of the district. Observed.", none),
				extra(),
			},
		}},
	}
}

func schools() *Dataset {
	return &Dataset{
		Name:    Schools,
		Doc:     "The schools that the app may access through data sharing agreements; they may include the vendor's sample district.",
		Default: true, Per: Once,
		Operation: Operation{
			Section: "4.1", Path: "/organizations/v1/schools",
		},
		Tables: []*Table{{
			Name: Schools,
			Doc:  "One row per school, including schools without an identifier.",
			Columns: []Column{
				str("school_bid", "schoolBid", "Identifier of the school. Specification 4.1.", key, none),
				str("name", "name", "Name of the school. Specification 4.1.", none),
				str("district_bid", "districtBid", "District of the school. Specification 4.1.", none),
				extra(),
			},
		}},
	}
}

func districtSchools() *Dataset {
	return &Dataset{
		Name:    DistrictSchools,
		Doc:     "The schools of each district: which perspectives name a school.",
		Default: true, Per: PerDistrict,
		Operation: Operation{
			Section: "4.3", Path: "/organizations/v1/districts/{district_bid}/schools",
		},
		Tables: []*Table{{
			Name: DistrictSchools,
			Doc:  "One row per district and school of its list.",
			Columns: []Column{
				requested("district_bid", "Requested district. Specification 4.3.", none),
				str("school_bid", "schoolBid", "Identifier of the school. Specification 4.3.", key, none),
				str("name", "name", "Name of the school. Observed.", none),
				str("district_bid", "districtBid", "District of the school. Observed.", none),
				extra(),
			},
		}},
	}
}

func students() *Dataset {
	return &Dataset{
		Name:    Students,
		Doc:     "The students of each school.",
		Default: true, Per: PerSchool,
		Operation: Operation{
			Section: "4.4", Path: "/organizations/v1/schools/{school_bid}/students",
		},
		Tables: []*Table{{
			Name: Students,
			Doc:  "One row per school and student; a student of several schools has several rows.",
			Columns: []Column{
				requested("school_bid", "Requested school. Specification 4.4.", none),
				str("student_bid", "studentBid", "Identifier of the student; it may be missing. Observed.", key, id),
				str("student_id", "studentId", "The student's own id, which the enrollment operations call state-student-id. Specification 4.4.", id),
				str("first_name", "firstName", "First name of the student. Observed.", direct),
				str("last_name", "lastName", "Last name of the student. Observed.", direct),
				extra(),
			},
		}},
	}
}

func studentDetails() *Dataset {
	return &Dataset{
		Name: "student_details",
		Doc:  "The details of each student of each school, one call per student.",
		Per:  PerStudent, Feeds: []string{"students"},
		Operation: Operation{
			Section: "4.5", Path: "/students/v2/{student_bid}", Single: true,
		},
		Known: []string{"personalNeedsProfile", "englishLearner", "individualizedPrograms"},
		Tables: []*Table{{
			Name: "student_details",
			Doc:  "One row per school and student of its list.",
			Columns: []Column{
				requested("school_bid", "School whose list of students has the student. Specification 4.4.", none),
				requested("student_bid", "Requested student. Specification 4.5.", id),
				str("student_bid", "studentBid", "Identifier of the student. Observed.", id),
				str("student_id", "studentId", "The student's own id, which the enrollment operations call state-student-id. Observed.", id),
				str("state_student_id", "stateStudentId", "The student's id with the state. Observed.", id),
				str("district_bid", "districtBid", "District of the student. Observed.", none),
				str("school_bid", "schoolBid", "School of the student, which may differ from the requested one. Observed.", none),
				str("first_name", "firstName", "First name of the student. Observed.", direct),
				str("middle_name", "middleName", "Middle name of the student. Observed.", direct),
				str("last_name", "lastName", "Last name of the student. Observed.", direct),
				date("date_of_birth", "dateOfBirth", "Date of birth of the student. Observed.", birth),
				str("gender", "gender", "Gender of the student. Observed.", trait),
				str("ethnicity", "ethnicity", "Ethnicity of the student. Observed.", trait),
				str("ethnicity_custom", "ethnicityCustom", "Ethnicity of the student in the district's own words. Observed.", trait),
				str("grade", "grade", "Grade of the student, as text. Observed.", grade),
				str("grade_custom", "gradeCustom", "Grade of the student in the district's own words. Observed.", grade),
				extra("personalNeedsProfile", "englishLearner", "individualizedPrograms"),
			},
		}},
	}
}
