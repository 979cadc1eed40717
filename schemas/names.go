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
