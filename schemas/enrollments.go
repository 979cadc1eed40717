package schemas

// Enrollment lists (specification 4.7 to 4.9, 4.11 to 4.13). Every operation reads through a perspective.

// enrollmentFilters returns the optional parameters of every enrollment list.
func enrollmentFilters() []string {
	return []string{EffectiveDate, ModifiedSince, IncludeRemoved}
}

func academicYears() *Dataset {
	return &Dataset{
		Name:    AcademicYears,
		Doc:     "The academic years of each school in each perspective, with their enrollment sessions.",
		Default: true, Per: PerSchool,
		Operation: Operation{
			Section: "4.7", Path: "/enrollments/v1/academic-years",
			Query: []string{"perspective-bid", "school-bid"}, Filters: enrollmentFilters(),
			Records: "academicYears", Paged: true,
		},
		Tables: []*Table{
			{
				Name: AcademicYears,
				Doc:  "One row per perspective, school and academic year.",
				Columns: []Column{
					requested("perspective_bid", "Requested perspective. Specification 4.7.", none),
					requested("school_bid", "Requested school. Specification 4.7.", none),
					str("academic_year_bid", "academicYearBid", "Identifier of the academic year. Specification 4.7.", key, none),
					str("perspective_bid", "perspectiveBid", "Perspective of the record. Specification 4.7.", none),
					str("school_bid", "schoolBid", "School of the academic year. Specification 4.7.", none),
					date("begin_date", "beginDate", "First day of the academic year. Specification 4.7.", none),
					date("end_date", "endDate", "Last day of the academic year. Specification 4.7.", none),
					str("description", "description", "Name of the academic year. Specification 4.7.", none),
					timestamp("modified_date_time", "modifiedDateTime", "When the academic year was last modified, UTC. Specification 4.7.", none),
					extra(),
				},
			},
			{
				Name: "enrollment_sessions",
				Each: "enrollmentSessions",
				Doc:  "One row per enrollment session (term) of an academic year.",
				Columns: []Column{
					requested("perspective_bid", "Requested perspective. Specification 4.7.", none),
					requested("school_bid", "Requested school. Specification 4.7.", none),
					parent("academic_year_bid", "academicYearBid", "Academic year that the session belongs to. Specification 4.7.", none),
					ordinal("enrollmentSessions"),
					str("enrollment_session_bid", "enrollmentSessionBid", "Identifier of the session. Specification 4.7. Observed: the term_bid of test_results.", none),
					str("description", "description", "Name of the session. Specification 4.7.", none),
					date("begin_date", "beginDate", "First day of the session. Specification 4.7.", none),
					date("end_date", "endDate", "Last day of the session. Specification 4.7.", none),
					extra(),
				},
			},
		},
	}
}

func studentSchoolAssociations() *Dataset {
	return &Dataset{
		Name:    "student_school_associations",
		Doc:     "Which students are enrolled at each school, in each perspective.",
		Default: true, Per: PerSchool,
		Operation: Operation{
			Section: "4.8", Path: "/enrollments/v1/student-school-associations",
			Query: []string{"perspective-bid", "school-bid"}, Filters: enrollmentFilters(), PinsDate: true,
			Records: "studentSchoolAssociations",
		},
		Tables: []*Table{{
			Name: "student_school_associations",
			Doc:  "One row per perspective, school and association. Observed: about one association per student and term.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.8.", none),
				requested("school_bid", "Requested school. Specification 4.8.", none),
				str("student_school_association_bid", "studentSchoolAssociationBid", "Identifier of the association. Specification 4.8.", key, record),
				str("student_bid", "studentBid", "Student of the association. Observed.", id),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Observed.", none),
				str("school_bid", "schoolBid", "School of the association. Observed.", none),
				str("district_student_id", "districtStudentId", "The student's id with the district. Observed.", id),
				str("state_student_id", "stateStudentId", "The student's id with the state: the student_id of students. Presumed.", id),
				str("grade", "grade", "Grade of the student, as text. Observed.", grade),
				str("first_name", "firstName", "First name of the student. Observed.", direct),
				str("middle_name", "middleName", "Middle name of the student. Observed.", direct),
				str("last_name", "lastName", "Last name of the student. Observed.", direct),
				date("date_of_birth", "dateOfBirth", "Date of birth of the student. Observed.", birth),
				date("begin_date", "beginDate", "First day of the association. Observed.", moment),
				date("end_date", "endDate", "Last day of the association. Observed.", moment),
				timestamp("modified_date_time", "modifiedDateTime", "When the association was last modified, UTC. Observed.", moment),
				extra(),
			},
		}},
	}
}

func schoolClasses() *Dataset {
	return &Dataset{
		Name:    "school_classes",
		Doc:     "The classes of each school in each perspective, with their educators and students.",
		Default: true, Per: PerSchool,
		Operation: Operation{
			Section: "4.9", Path: "/enrollments/v1/school-classes",
			Query: []string{"perspective-bid", "school-bid"}, Filters: enrollmentFilters(), PinsDate: true,
			Records: "schoolClasses", Paged: true,
		},
		Tables: []*Table{
			{
				Name: "school_classes",
				Doc:  "One row per perspective, school and class.",
				Columns: []Column{
					requested("perspective_bid", "Requested perspective. Specification 4.9.", none),
					requested("school_bid", "Requested school. Specification 4.9.", none),
					str("school_class_bid", "schoolClassBid", "Identifier of the class. Specification 4.9.", key, none),
					str("class_name", "className", "Name of the class. Specification 4.9.", freeText),
					str("perspective_bid", "perspectiveBid", "Perspective of the record. Specification 4.9.", none),
					str("school_bid", "schoolBid", "School of the class. Specification 4.9.", none),
					date("begin_date", "beginDate", "First day of the class. Specification 4.9.", none),
					date("end_date", "endDate", "Last day of the class. Specification 4.9.", none),
					str("class_subject", "classSubject", "Subject of the class. Specification 4.9.", none),
					timestamp("modified_date_time", "modifiedDateTime", "When the class was last modified, UTC. Specification 4.9.", none),
					extra(),
				},
			},
			{
				Name: "school_class_educators",
				Each: "educators",
				Bare: "educatorBid",
				Doc:  "One row per educator of a class. An element that is text is the educator's identifier.",
				Columns: []Column{
					requested("perspective_bid", "Requested perspective. Specification 4.9.", none),
					requested("school_bid", "Requested school. Specification 4.9.", none),
					parent("school_class_bid", "schoolClassBid", "Class that the educator teaches. Specification 4.9.", none),
					ordinal("educators"),
					str("educator_bid", "educatorBid", "Identifier of the educator. Specification 4.9.", id),
					str("first_name", "firstName", "First name of the educator. Specification 4.9.", direct),
					str("middle_name", "middleName", "Middle name of the educator. Specification 4.9.", direct),
					str("last_name", "lastName", "Last name of the educator. Specification 4.9.", direct),
					extra(),
				},
			},
			{
				Name: "school_class_students",
				Each: "students",
				Bare: "studentBid",
				Doc: "One row per student of a class. The specification shows only an empty array: an element that is text is the student's identifier, " +
					"and what else the columns do not take stays in _extra.",
				Columns: []Column{
					requested("perspective_bid", "Requested perspective. Specification 4.9.", none),
					requested("school_bid", "Requested school. Specification 4.9.", none),
					parent("school_class_bid", "schoolClassBid", "Class that the student attends. Specification 4.9.", none),
					ordinal("students"),
					str("student_bid", "studentBid", "Identifier of the student. Presumed.", id),
					str("first_name", "firstName", "First name of the student. Presumed.", direct),
					str("middle_name", "middleName", "Middle name of the student. Presumed.", direct),
					str("last_name", "lastName", "Last name of the student. Presumed.", direct),
					extra(),
				},
			},
		},
	}
}

func studentSchoolClasses() *Dataset {
	return &Dataset{
		Name: "student_school_classes",
		Doc:  "The classes of each student of each school, in every perspective of the school; one call per student and perspective.",
		Per:  PerStudent, Feeds: []string{"students"},
		Operation: Operation{
			Section: "4.11", Path: "/enrollments/v1/student-school-classes",
			Query: []string{"perspective-bid", "school-bid", "student-bid"}, Filters: enrollmentFilters(),
			PinsDate: true,
			Records:  "studentSchoolClasses",
		},
		WholeRecordDuplicates: true,
		Tables: []*Table{{
			Name: "student_school_classes",
			Doc:  "One row per perspective, school, student and class. The specification does not show the record, so only records equal in every member are duplicates.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.11.", none),
				requested("school_bid", "Requested school. Specification 4.11.", none),
				requested("student_bid", "Requested student. Specification 4.11.", id),
				str("school_class_bid", "schoolClassBid", "Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept.", key, none),
				str("student_bid", "studentBid", "Student of the record. Presumed.", id),
				str("class_name", "className", "Name of the class. Presumed.", freeText),
				str("class_subject", "classSubject", "Subject of the class. Presumed.", none),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed.", none),
				str("school_bid", "schoolBid", "School of the class. Presumed.", none),
				date("begin_date", "beginDate", "First day of the student in the class. Presumed.", none),
				date("end_date", "endDate", "Last day of the student in the class. Presumed.", none),
				timestamp("modified_date_time", "modifiedDateTime", "When the record was last modified, UTC. Presumed.", moment),
				extra(),
			},
		}},
	}
}

func educatorSchoolClasses() *Dataset {
	return &Dataset{
		Name: "educator_school_classes",
		Doc: "The classes of each educator of each school, in the perspectives that named the educator; one call per educator and perspective. " +
			"Educators come from educator_school_associations and from the educators of school_classes.",
		Per: PerEducator, Feeds: []string{"educator_school_associations", "school_class_educators"},
		Operation: Operation{
			Section: "4.12", Path: "/enrollments/v1/educator-school-classes",
			Query: []string{"perspective-bid", "school-bid", "educator-bid"}, Filters: enrollmentFilters(),
			PinsDate: true,
			Records:  "educatorSchoolClasses",
		},
		WholeRecordDuplicates: true,
		Tables: []*Table{{
			Name: "educator_school_classes",
			Doc:  "One row per perspective, school, educator and class. The specification does not show the record, so only records equal in every member are duplicates.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.12.", none),
				requested("school_bid", "Requested school. Specification 4.12.", none),
				requested("educator_bid", "Requested educator. Specification 4.12.", id),
				str("school_class_bid", "schoolClassBid", "Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept.", key, none),
				str("educator_bid", "educatorBid", "Educator of the record. Presumed.", id),
				str("class_name", "className", "Name of the class. Presumed.", freeText),
				str("class_subject", "classSubject", "Subject of the class. Presumed.", none),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed.", none),
				str("school_bid", "schoolBid", "School of the class. Presumed.", none),
				date("begin_date", "beginDate", "First day of the educator in the class. Presumed.", none),
				date("end_date", "endDate", "Last day of the educator in the class. Presumed.", none),
				timestamp("modified_date_time", "modifiedDateTime", "When the record was last modified, UTC. Presumed.", moment),
				extra(),
			},
		}},
	}
}

func educatorSchoolAssociations() *Dataset {
	return &Dataset{
		Name:    "educator_school_associations",
		Doc:     "Which educators work at each school, in each perspective.",
		Default: true, Per: PerSchool,
		Operation: Operation{
			Section: "4.13", Path: "/enrollments/v1/educator-school-associations",
			Query: []string{"perspective-bid", "school-bid"}, Filters: enrollmentFilters(), PinsDate: true,
			Records: "educatorSchoolAssociations",
		},
		Tables: []*Table{{
			Name: "educator_school_associations",
			Doc:  "One row per perspective, school and association.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.13.", none),
				requested("school_bid", "Requested school. Specification 4.13.", none),
				str("educator_school_association_bid", "educatorSchoolAssociationBid", "Identifier of the association. Presumed.", key, record),
				str("educator_bid", "educatorBid", "Educator of the association. Presumed.", id),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed.", none),
				str("school_bid", "schoolBid", "School of the association. Presumed.", none),
				str("first_name", "firstName", "First name of the educator. Presumed.", direct),
				str("middle_name", "middleName", "Middle name of the educator. Presumed.", direct),
				str("last_name", "lastName", "Last name of the educator. Presumed.", direct),
				date("begin_date", "beginDate", "First day of the association. Presumed.", moment),
				date("end_date", "endDate", "Last day of the association. Presumed.", moment),
				timestamp("modified_date_time", "modifiedDateTime", "When the association was last modified, UTC. Presumed.", moment),
				extra(),
			},
		}},
	}
}

// Single enrollment records (specification 4.10 and 4.14), one call each for the records of a list.

func schoolClassDetails() *Dataset {
	return &Dataset{
		Name: "school_class_details",
		Doc:  "The details of each class of school_classes, one call per class and perspective.",
		Per:  PerRecord, Feeds: []string{"school_classes"},
		Operation: Operation{
			Section: "4.10", Path: "/enrollments/v1/school-classes/{school_class_bid}",
			Query: []string{"perspective-bid"}, Single: true,
		},
		Known: []string{"educators", "students"},
		Tables: []*Table{{
			Name: "school_class_details",
			Doc:  "One row per perspective, school and class of its list.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.10.", none),
				requested("school_bid", "School whose list of classes has the class. Specification 4.9.", none),
				requested("school_class_bid", "Requested class. Specification 4.10.", none),
				str("school_class_bid", "schoolClassBid", "Identifier of the class. Presumed.", none),
				str("class_name", "className", "Name of the class. Presumed.", freeText),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed.", none),
				str("school_bid", "schoolBid", "School of the class. Presumed.", none),
				date("begin_date", "beginDate", "First day of the class. Presumed.", none),
				date("end_date", "endDate", "Last day of the class. Presumed.", none),
				str("class_subject", "classSubject", "Subject of the class. Presumed.", none),
				timestamp("modified_date_time", "modifiedDateTime", "When the class was last modified, UTC. Presumed.", none),
				extra("educators", "students"),
			},
		}},
	}
}

func educatorSchoolAssociationDetails() *Dataset {
	return &Dataset{
		Name: "educator_school_association_details",
		Doc:  "The details of each association of educator_school_associations, one call per association and perspective.",
		Per:  PerRecord, Feeds: []string{"educator_school_associations"},
		Operation: Operation{
			Section: "4.14", Path: "/enrollments/v1/educator-school-associations/{educator_school_association_bid}",
			Query: []string{"perspective-bid"}, Single: true,
		},
		Tables: []*Table{{
			Name: "educator_school_association_details",
			Doc:  "One row per perspective, school and association of its list.",
			Columns: []Column{
				requested("perspective_bid", "Requested perspective. Specification 4.14.", none),
				requested("school_bid", "School whose list of associations has the association. Specification 4.13.", none),
				requested("educator_school_association_bid", "Requested association. Specification 4.14.", record),
				str("educator_school_association_bid", "educatorSchoolAssociationBid", "Identifier of the association. Presumed.", record),
				str("educator_bid", "educatorBid", "Educator of the association. Presumed.", id),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed.", none),
				str("school_bid", "schoolBid", "School of the association. Presumed.", none),
				str("first_name", "firstName", "First name of the educator. Presumed.", direct),
				str("middle_name", "middleName", "Middle name of the educator. Presumed.", direct),
				str("last_name", "lastName", "Last name of the educator. Presumed.", direct),
				date("begin_date", "beginDate", "First day of the association. Presumed.", moment),
				date("end_date", "endDate", "Last day of the association. Presumed.", moment),
				timestamp("modified_date_time", "modifiedDateTime", "When the association was last modified, UTC. Presumed.", moment),
				extra(),
			},
		}},
	}
}
