package schemas

// The names of datasets, and of their first tables, that code outside the declarations refers to.
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
