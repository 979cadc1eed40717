package simulator

import "strconv"

// Classes belong to cohorts of students who share a homeroom and lessons.
const (
	cohortSize = 24
	classSlots = 6
)

// classSubjects holds the subjects of a cohort's lessons by slot. The homeroom has no subject. Slots from lastYear on
// belong to the previous year.
var classSubjects = [lastYear]string{"", "Mathematics", "English Language Arts", "Science"}

const lastYear = 4

// class is a class of an academic year. Its index in the bid consists of the year, the cohort and the subject.
type class struct {
	validity
	index    int
	year     int
	cohort   int
	subject  int // index in classSubjects
	period   int // 0 in elementary schools, which have no periods
	teaching teaching
	form     int // a percentile that selects the form of the roster
	draw     Rand
}

// teaching identifies the educators of a class by their indexes: count educators, beginning at first. If there are no
// educators, the member "educators" is an empty array or, if unknown is true, missing.
type teaching struct {
	first, count int
	unknown      bool
}

// cohorts returns the number of cohorts of a school. A cohort is a block of seats.
func (w *World) cohorts(school int) int {
	return (w.schools[school].students + cohortSize - 1) / cohortSize
}

// classAt returns the index of the class in a slot of a cohort. The slots from lastYear on are the lessons of the
// previous year.
func (w *World) classAt(school, cohort, slot int) int {
	year := w.yearOfSchool(school)
	if slot >= lastYear {
		year, slot = year-1, slot-lastYear+1
	}
	return (year-firstYear)<<24 | cohort*classSlots + slot
}

// holdsClass reports whether a school has the class with the given index.
func (w *World) holdsClass(school, index int) bool {
	cohort, subject := index&(1<<24-1)/classSlots, index&(1<<24-1)%classSlots
	if cohort >= w.cohorts(school) {
		return false
	}
	for slot := range classSlots {
		if w.classAt(school, cohort, slot) == index && subject < lastYear {
			return true
		}
	}
	return false
}

// class returns the class with the given index.
func (w *World) class(school, index int) class {
	s := &w.schools[school]
	k := class{index: index, year: firstYear + index>>24}
	k.cohort, k.subject = index&(1<<24-1)/classSlots, index&(1<<24-1)%classSlots
	k.draw = Rand{Hash(w.seed, int(ClassEntity), school, index)}
	k.modified, k.removed = w.lastModified(&k.draw, 80)
	k.begin = w.yearBegin(s.district, k.year)
	if k.subject > 0 {
		k.end = w.yearBegin(s.district, k.year+1) - 1 // homerooms do not end
	}
	if k.period = k.draw.Between(1, 7); s.highest <= 5 {
		k.period = 0
	}
	// Whether educators and students are known does not change from year to year.
	lasting := Rand{Hash(w.seed, int(ClassEntity), school, index&(1<<24-1), 1)}
	k.teaching.first, k.form = k.draw.Below(s.educators), lasting.Below(100)
	switch luck := lasting.Below(1000); {
	case luck < 30:
		k.teaching.unknown = true
	case luck < 60:
	case luck < 200 && k.teaching.first+1 < s.educators:
		k.teaching.count = 2
	default:
		k.teaching.count = 1
	}
	return k
}

// teaches reports whether an educator teaches the class.
func (t *teaching) teaches(educator int) bool {
	return educator >= t.first && educator < t.first+t.count
}

// attends reports whether the occupant of a seat attends a class of the seat's cohort. All occupants attend the
// homeroom, and most of them attend each lesson.
func (w *World) attends(school, class, seat int) bool {
	return class&(1<<24-1)%classSlots == 0 || Hash(w.seed, int(ClassEntity), school, class, seat)%1000 >= 80
}

// className returns the name of a class. The names of lessons include the period, except in elementary schools.
func (k *class) className() string {
	subject, cohort := classSubjects[k.subject], strconv.Itoa(k.cohort+1)
	switch {
	case subject == "":
		return "Homeroom " + cohort
	case k.period == 0:
		return subject + " – " + cohort
	}
	return subject + " / Period " + strconv.Itoa(k.period) + " – " + cohort
}

// schoolClasses returns the list of school classes (specification 4.9).
func schoolClasses(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	at := func(i int) int { return w.classAt(c.School, i/classSlots, i%classSlots) }
	return List{
		Count: w.cohorts(c.School) * classSlots,
		Keep: func(i int) bool {
			k := w.class(c.School, at(i))
			return f.passes(&k.validity)
		},
		Record: func(a *Arena, i int) []Member { return w.classRecord(a, c, at(i)) },
	}
}

// classRecord returns an element of schoolClasses (specification, "SchoolClass").
func (w *World) classRecord(a *Arena, c *Call, index int) []Member {
	k := w.class(c.School, index)
	d := &k.draw
	return a.list(
		Member{"schoolClassBid", idOf(w.BidOf(ClassEntity, c.School, index))},
		Member{"className", TextOf(k.className())},
		Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
		Member{"schoolBid", idOf(w.schools[c.School].bid)},
		Member{"beginDate", dateOf(k.begin)},
		Member{"endDate", dateOrAbsent(k.end)},
		Member{"classSubject", textOrAbsent(classSubjects[k.subject])},
		Member{"educators", w.classEducators(a, c, &k)},
		Member{"students", w.classStudents(a, c, &k)},
		Member{"modifiedDateTime", d.timestamp(k.modified)},
	)
}

func (w *World) classEducators(a *Arena, c *Call, k *class) Value {
	if k.teaching.unknown {
		return Value{}
	}
	var list [2]Member
	for i := range k.teaching.count {
		list[i] = w.classEducator(a, c, k.teaching.first+i)
	}
	return a.array(list[:k.teaching.count]...)
}

func (w *World) classEducator(a *Arena, c *Call, index int) Member {
	name := w.educator(c.School, index)
	return Member{Value: a.object(
		Member{"educatorBid", idOf(w.BidOf(EducatorEntity, c.School, index))},
		Member{"firstName", TextOf(name.first)},
		Member{"lastName", TextOf(name.last)},
		Member{"middleName", textOrAbsent(name.middle)},
	)}
}

// classStudents returns the roster. The specification does not show its elements, so most rosters contain objects, some
// contain only bids, and some are empty or missing. In the state's perspective, rosters do not contain names.
func (w *World) classStudents(a *Arena, c *Call, k *class) Value {
	switch {
	case k.form < 10:
		return Value{}
	case k.form < 20:
		return a.array()
	}
	var list [cohortSize]Member
	n := 0
	end := min((k.cohort+1)*cohortSize, w.schools[c.School].students)
	for i := k.cohort * cohortSize; i < end; i++ {
		st := w.student(c.School, i)
		// Last year's classes have this year's roster, because the service shows only current enrollment. Rosters of bids
		// omit students without a bid.
		if !w.attendsSchool(c.School, i, c.School) || !w.attends(c.School, k.index, i) || k.form < 35 && !st.matched {
			continue
		}
		if k.form < 35 {
			list[n] = Member{Value: idOf(st.bid)}
		} else {
			list[n] = Member{Value: w.classStudent(a, c, &st)}
		}
		n++
	}
	return a.array(list[:n]...)
}

func (w *World) classStudent(a *Arena, c *Call, st *student) Value {
	var name person
	if !w.districts[c.District].state {
		name = st.person()
	}
	return a.object(
		Member{"studentBid", st.identity()},
		Member{"firstName", textOrAbsent(name.first)},
		Member{"middleName", textOrAbsent(name.middle)},
		Member{"lastName", textOrAbsent(name.last)},
	)
}

// classDetails returns the answer for one class (specification 4.10): the same record as in the list. Here, the arrays
// of the record do not have separate tables.
func classDetails(w *World, c *Call) List {
	return List{Count: 1, Record: func(a *Arena, _ int) []Member {
		record := w.classRecord(a, c, c.Subject)
		for i := range record {
			if record[i].Kind == Array {
				record[i].Value = Verbatim(record[i].Value)
			}
		}
		return record
	}}
}
