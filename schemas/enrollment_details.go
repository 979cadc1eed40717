package schemas

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
				requested("perspective_bid", "Requested perspective. Specification 4.10."),
				requested("school_bid", "School whose list of classes has the class. Specification 4.9."),
				requested("school_class_bid", "Requested class. Specification 4.10."),
				str("school_class_bid", "schoolClassBid", "Identifier of the class. Presumed."),
				str("class_name", "className", "Name of the class. Presumed.", freeText),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed."),
				str("school_bid", "schoolBid", "School of the class. Presumed."),
				date("begin_date", "beginDate", "First day of the class. Presumed."),
				date("end_date", "endDate", "Last day of the class. Presumed."),
				str("class_subject", "classSubject", "Subject of the class. Presumed."),
				timestamp("modified_date_time", "modifiedDateTime", "When the class was last modified, UTC. Presumed."),
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
				requested("perspective_bid", "Requested perspective. Specification 4.14."),
				requested("school_bid", "School whose list of associations has the association. Specification 4.13."),
				requested("educator_school_association_bid", "Requested association. Specification 4.14.", record),
				str("educator_school_association_bid", "educatorSchoolAssociationBid", "Identifier of the association. Presumed.", record),
				str("educator_bid", "educatorBid", "Educator of the association. Presumed.", id),
				str("perspective_bid", "perspectiveBid", "Perspective of the record. Presumed."),
				str("school_bid", "schoolBid", "School of the association. Presumed."),
				str("first_name", "firstName", "First name of the educator. Presumed.", direct),
				str("middle_name", "middleName", "Middle name of the educator. Presumed.", direct),
				str("last_name", "lastName", "Last name of the educator. Presumed.", direct),
				date("begin_date", "beginDate", "First day of the association. Presumed."),
				date("end_date", "endDate", "Last day of the association. Presumed."),
				timestamp("modified_date_time", "modifiedDateTime", "When the association was last modified, UTC. Presumed."),
				extra(),
			},
		}},
	}
}
