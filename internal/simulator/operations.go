package simulator

import (
	"strings"
)

// Operations returns the operations of the service. Paths are exact: the path of 4.2 ends in a slash, and the path of
// 4.1 does not.
func Operations() []*Operation {
	list := []*Operation{
		{
			Name:     "schools", // 4.1
			Template: "/organizations/v1/schools",
			FanOut:   PerRun,
			source: func(w *World, _ *Call) List {
				return List{Count: w.listed, Record: w.schoolRecord}
			},
		},
		{
			Name:     "districts", // 4.2
			Template: "/organizations/v1/districts/",
			FanOut:   PerRun,
			source: func(w *World, _ *Call) List {
				return List{Count: len(w.districts), Record: w.districtRecord}
			},
		},
		{
			Name:     "district_schools", // 4.3
			Template: "/organizations/v1/districts/{district_bid}/schools",
			FanOut:   PerDistrict,
			source: func(w *World, c *Call) List {
				schools := w.districts[c.District].schools
				return List{Count: len(schools), Record: func(a *Arena, i int) []Member { return w.schoolRecord(a, schools[i]) }}
			},
		},
		{
			Name:     "students", // 4.4
			Template: "/organizations/v1/schools/{school_bid}/students",
			FanOut:   PerSchool,
			source: func(w *World, c *Call) List {
				return List{
					Count:  w.rosterPlaces(c.School),
					Keep:   w.unlessSteady(c.School, func(i int) bool { _, _, ok := w.seatAt(c.School, i); return ok }),
					Record: func(a *Arena, i int) []Member { return w.studentRecord(a, c.School, i) },
				}
			},
		},
		{
			Name:     "student_details", // 4.5
			Template: "/students/v2/{student_bid}",
			Single:   "student",
			About:    StudentEntity,
			FanOut:   PerStudent,
			source:   studentDetails,
		},
		{
			Name:     "test_results", // 4.6
			Template: "/test-results/v1/growth",
			Required: []string{"school-bid"},
			Optional: []string{"next-page"},
			Wrapper:  "testResults",
			FanOut:   PerSchool,
			source: func(w *World, c *Call) List {
				return List{
					Count:  w.resultPlaces(c.School),
					Keep:   w.unlessSteady(c.School, func(i int) bool { _, _, _, ok := w.eventAt(c.School, i); return ok }),
					Record: func(a *Arena, i int) []Member { return w.servedResult(a, c, i) },
				}
			},
		},
		enrollment("academic_years", "/enrollments/v1/academic-years", "academicYears", academicYears, // 4.7
			"academic-year-bid", "received-before-date", "received-after-date"),
		enrollment("student_school_associations", "/enrollments/v1/student-school-associations", "studentSchoolAssociations",
			studentAssociations, "student-bid", "state-student-id", "district-student-id"), // 4.8
		enrollment("school_classes", "/enrollments/v1/school-classes", "schoolClasses", schoolClasses), // 4.9
		{
			Name:     "school_class_details", // 4.10
			Template: "/enrollments/v1/school-classes/{school_class_bid}",
			Required: []string{"perspective-bid"},
			Single:   "schoolClass",
			About:    ClassEntity,
			FanOut:   PerRecord,
			Feed:     "school_classes",
			source:   classDetails,
		},
		roster("student_school_classes", "/enrollments/v1/student-school-classes", "studentSchoolClasses", StudentEntity, PerRoster, studentClasses), // 4.11
		roster("educator_school_classes", "/enrollments/v1/educator-school-classes", "educatorSchoolClasses", EducatorEntity, PerEducator,
			educatorClasses), // 4.12
		enrollment("educator_school_associations", "/enrollments/v1/educator-school-associations", "educatorSchoolAssociations",
			educatorAssociations, "educator-bid"), // 4.13
		{
			Name:     "educator_school_association_details", // 4.14
			Template: "/enrollments/v1/educator-school-associations/{educator_school_association_bid}",
			Required: []string{"perspective-bid"},
			Single:   "educatorSchoolAssociation",
			About:    EducatorAssociationEntity,
			FanOut:   PerRecord,
			Feed:     "educator_school_associations",
			source:   educatorAssociationDetails,
		},
	}
	for _, op := range list {
		op.segments = strings.Split(op.Template, "/")
		op.salt = hashText(0, op.Name)
		for _, t := range Tables() {
			if t.Dataset != op.Name {
				continue
			}
			t.Shape = newShape(&t)
			op.Tables = append(op.Tables, t)
			if t.Each != "" {
				op.Tables[0].Shape.Children[t.Each] = t.Shape
			}
		}
	}
	return list
}

// commonParameters returns the parameters of every enrollment list.
func commonParameters() []string {
	return []string{"effective-date", "modified-since", "include-removed", "next-page"}
}

// roster returns the operation 4.11 or 4.12, which lists the classes of one student or educator.
func roster(name, template, wrapper string, about EntityKind, fan FanOut, list func(*World, *Call) List) *Operation {
	return &Operation{
		Name:     name,
		Template: template,
		Required: []string{"perspective-bid", strings.ReplaceAll(SubjectName(about), "_", "-")},
		Optional: append(commonParameters(), "school-bid"),
		Wrapper:  wrapper,
		About:    about,
		FanOut:   fan,
		source:   list,
	}
}

// enrollment returns one of the operations 4.7 to 4.9 and 4.13. They share most of their parameters. more lists the
// other parameters.
func enrollment(name, template, wrapper string, list func(*World, *Call) List, more ...string) *Operation {
	return &Operation{
		Name:     name,
		Template: template,
		Required: []string{"perspective-bid", "school-bid"},
		Optional: append(more, commonParameters()...),
		Wrapper:  wrapper,
		FanOut:   PerPerspective,
		source:   list,
	}
}

// unlessSteady returns taken, which reports whether a place of a list is taken, or nil for a steady school, because all
// of its places are taken.
func (w *World) unlessSteady(school int, taken func(place int) bool) func(int) bool {
	if w.schools[school].steady {
		return nil
	}
	return taken
}

func (w *World) schoolRecord(a *Arena, i int) []Member {
	s := &w.schools[i]
	return a.list(
		Member{"schoolBid", idOf(s.bid)},
		Member{"name", TextOf(s.name)},
		Member{"districtBid", idOf(w.districts[s.district].bid)},
	)
}

func (w *World) districtRecord(a *Arena, i int) []Member {
	d := &w.districts[i]
	return a.list(Member{"districtBid", idOf(d.bid)}, Member{"districtName", TextOf(d.name)})
}
