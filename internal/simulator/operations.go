package simulator

import (
	"slices"
	"strings"
)

// fan says over what a client calls an operation; the oracle makes the same calls.
type fan int

const (
	once fan = iota
	perDistrict
	perSchool
	perPerspective // per school and perspective that sees it
	perStudent     // of 4.4
	perRoster      // per perspective and student of 4.4
	perEducator    // per perspective and educator that it named in 4.13 or 4.9
	perRecord      // per perspective and record of a list
)

// operation is one operation of the specification, as data. Adding one is adding an entry, a source of records and, for the
// oracle, its tables.
type operation struct {
	name     string // the dataset that a client makes of it
	template string
	required []string // query parameters
	optional []string
	// wrapper is the member that holds the records of a paged list; empty for a bare array, which has no pages.
	wrapper string
	// single is the member that wraps the record of a single read where it is not bare; empty for a list.
	single string
	// about is what the call names beside a school, see subjectName.
	about  thing
	fan    fan
	feed   string // the list whose records perRecord is about
	source func(*World, *call) source

	segments []string
	salt     uint64 // makes records of two operations at one position differ in style
	tables   []table
}

// subjectName is the parameter that names what a call is about: so in a path, with - for _ in a query.
func subjectName(about thing) string {
	switch about {
	case aStudent:
		return "student_bid"
	case anEducator:
		return "educator_bid"
	case aClass:
		return "school_class_bid"
	default:
		return "educator_school_association_bid"
	}
}

// source is the list that a call reads, before filters and paging: positions from 0 to count-1.
type source struct {
	count int
	// keep tells whether the call's filters leave the record at a position in the list; nil keeps all.
	keep func(i int) bool
	// record makes the record at a position.
	record func(a *arena, i int) []member
	// element makes, instead of record, what stands there: a record whose members have their order, or something else.
	element func(a *arena, i int) value
}

// at is what stands at a position of the list.
func (s *source) at(a *arena, i int) value {
	if s.element != nil {
		return s.element(a, i)
	}
	return value{kind: object, sub: s.record(a, i)}
}

// next is the first position from i on whose record is in the list, or count.
func (s *source) next(i int) int {
	for i < s.count && s.keep != nil && !s.keep(i) {
		i++
	}
	return i
}

// operations lists what the service serves. Template paths are exact: 4.2 ends in a slash, 4.1 does not.
func operations() []*operation {
	list := []*operation{
		{
			name:     "schools", // 4.1
			template: "/organizations/v1/schools",
			fan:      once,
			source: func(w *World, _ *call) source {
				return source{count: w.listedRecords(), record: w.listedRecord}
			},
		},
		{
			name:     "districts", // 4.2
			template: "/organizations/v1/districts/",
			fan:      once,
			source: func(w *World, _ *call) source {
				return source{count: len(w.districts), record: w.districtRecord}
			},
		},
		{
			name:     "district_schools", // 4.3
			template: "/organizations/v1/districts/{district_bid}/schools",
			fan:      perDistrict,
			source: func(w *World, c *call) source {
				schools := w.districts[c.district].schools
				return source{count: len(schools), record: func(a *arena, i int) []member { return w.schoolRecord(a, schools[i]) }}
			},
		},
		{
			name:     "students", // 4.4
			template: "/organizations/v1/schools/{school_bid}/students",
			fan:      perSchool,
			source: func(w *World, c *call) source {
				return source{
					count:  w.schools[c.school].students,
					record: func(a *arena, i int) []member { return w.studentRecord(a, c.school, i) },
				}
			},
		},
		{
			name:     "student_details", // 4.5
			template: "/students/v2/{student_bid}",
			single:   "student",
			about:    aStudent,
			fan:      perStudent,
			source:   studentDetails,
		},
		{
			name:     "test_results", // 4.6
			template: "/test-results/v1/growth",
			required: []string{"school-bid"},
			optional: []string{"next-page"},
			wrapper:  "testResults",
			fan:      perSchool,
			source: func(w *World, c *call) source {
				return source{
					count:  w.schools[c.school].results,
					record: func(a *arena, i int) []member { return w.servedResult(a, c, i) },
				}
			},
		},
		enrollment("academic_years", "/enrollments/v1/academic-years", "academicYears", academicYears, // 4.7
			"academic-year-bid", "received-before-date", "received-after-date"),
		enrollment("student_school_associations", "/enrollments/v1/student-school-associations", "studentSchoolAssociations",
			studentAssociations, "student-bid", "state-student-id", "district-student-id"), // 4.8
		enrollment("school_classes", "/enrollments/v1/school-classes", "schoolClasses", schoolClasses), // 4.9
		{
			name:     "school_class_details", // 4.10
			template: "/enrollments/v1/school-classes/{school_class_bid}",
			required: []string{"perspective-bid"},
			single:   "schoolClass",
			about:    aClass,
			fan:      perRecord,
			feed:     "school_classes",
			source:   classDetails,
		},
		roster("student_school_classes", "/enrollments/v1/student-school-classes", "studentSchoolClasses", aStudent, perRoster, studentClasses), // 4.11
		roster("educator_school_classes", "/enrollments/v1/educator-school-classes", "educatorSchoolClasses", anEducator, perEducator,
			educatorClasses), // 4.12
		enrollment("educator_school_associations", "/enrollments/v1/educator-school-associations", "educatorSchoolAssociations",
			educatorAssociations, "educator-bid"), // 4.13
		{
			name:     "educator_school_association_details", // 4.14
			template: "/enrollments/v1/educator-school-associations/{educator_school_association_bid}",
			required: []string{"perspective-bid"},
			single:   "educatorSchoolAssociation",
			about:    anEducatorAssociation,
			fan:      perRecord,
			feed:     "educator_school_associations",
			source:   educatorAssociationDetails,
		},
	}
	for _, op := range list {
		op.segments = strings.Split(op.template, "/")
		op.salt = hashText(0, op.name)
		for _, t := range tables() {
			if t.dataset != op.name {
				continue
			}
			t.shape = newShape(&t)
			op.tables = append(op.tables, t)
			if t.each != "" {
				op.tables[0].shape.children[t.each] = t.shape
			}
		}
	}
	return list
}

// named returns the operation of a name.
func named(list []*operation, name string) *operation {
	return list[slices.IndexFunc(list, func(op *operation) bool { return op.name == name })]
}

// common are the parameters that all enrollment lists may have.
func common() []string {
	return []string{"effective-date", "modified-since", "include-removed", "next-page"}
}

// roster is 4.11 or 4.12: a list of one student's or educator's classes.
func roster(name, template, wrapper string, about thing, fan fan, list func(*World, *call) source) *operation {
	return &operation{
		name:     name,
		template: template,
		required: []string{"perspective-bid", strings.ReplaceAll(subjectName(about), "_", "-")},
		optional: append(common(), "school-bid"),
		wrapper:  wrapper,
		about:    about,
		fan:      fan,
		source:   list,
	}
}

// enrollment is a list of 4.7 to 4.9 or 4.13: they share their parameters, but for what each knows more.
func enrollment(name, template, wrapper string, list func(*World, *call) source, more ...string) *operation {
	return &operation{
		name:     name,
		template: template,
		required: []string{"perspective-bid", "school-bid"},
		optional: append(more, common()...),
		wrapper:  wrapper,
		fan:      perPerspective,
		source:   list,
	}
}

// listedRecords is the number of records of 4.1.
func (w *World) listedRecords() int {
	if w.bidless {
		return w.listed + 1
	}
	return w.listed
}

// listedRecord is an element of 4.1: a school, or the one without a bid behind them.
func (w *World) listedRecord(a *arena, i int) []member {
	if i < w.listed {
		return w.schoolRecord(a, i)
	}
	return a.list(
		member{"schoolBid", value{}},
		member{"name", textOf("School without a bid")},
		member{"districtBid", identOf(w.districts[0].bid)},
	)
}

func (w *World) schoolRecord(a *arena, i int) []member {
	s := &w.schools[i]
	return a.list(
		member{"schoolBid", identOf(s.bid)},
		member{"name", textOf(s.name)},
		member{"districtBid", identOf(w.districts[s.district].bid)},
	)
}

func (w *World) districtRecord(a *arena, i int) []member {
	d := &w.districts[i]
	return a.list(member{"districtBid", identOf(d.bid)}, member{"districtName", textOf(d.name)})
}
