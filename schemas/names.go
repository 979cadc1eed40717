package schemas

// The names of the datasets to which code outside the declarations refers. A dataset's first table has the same name.
const (
	Districts       = "districts"
	Schools         = "schools"
	DistrictSchools = "district_schools"
	Students        = "students"
	TestResults     = "test_results"
	AcademicYears   = "academic_years"
	SchoolClasses   = "school_classes"

	EducatorAssociations = "educator_school_associations"
	EducatorClasses      = "educator_school_classes"
)

// ClassEducators is the name of the table of the educators of classes.
const ClassEducators = "school_class_educators"

// The optional parameters of the enrollment operations (specification, rules common to all endpoints, 4).
const (
	EffectiveDate  = "effective-date"
	ModifiedSince  = "modified-since"
	IncludeRemoved = "include-removed"
)

// BoundedColumns returns the names of the columns whose least and greatest values may be in a log or catalogue of
// files. These columns identify schools and districts. In a small file, a bound of another column could be one
// student's value.
func BoundedColumns() []string {
	return []string{"requested_school_bid", "requested_perspective_bid", "requested_district_bid", "school_bid", "district_bid"}
}
