package schemas

// The names of datasets, and of their first tables, that code outside the declarations refers to.
const (
	Districts       = "districts"
	Schools         = "schools"
	DistrictSchools = "district_schools"
	Students        = "students"
	TestResults     = "test_results"
	AcademicYears   = "academic_years"
)

// The optional parameters of the enrollment operations (specification, rules common to all endpoints, 4).
const (
	EffectiveDate  = "effective-date"
	ModifiedSince  = "modified-since"
	IncludeRemoved = "include-removed"
)
