package simulator

import "strconv"

// Classes belong to cohorts of students who share a homeroom and lessons.
const (
	cohortSize = 24
	classSlots = 6
)

// classSubjects names the lessons of a cohort by slot; the homeroom has no subject. Slots from lastYear on are of the
// year before.
var classSubjects = [classSlots]string{"", "Mathematics", "English Language Arts", "Science", "Mathematics", "English Language Arts"}

const lastYear = 4

type class struct {
	validity
	index    int
	cohort   int
	slot     int
	period   int
	teaching teaching
	draw     Rand
}

// teaching lists the educators of a class: count of them, beginning at first. Without educators the member is an empty
// array, or missing if unknown is set.
type teaching struct {
	first, count int
	unknown      bool
}

func (w *World) classes(school int) int {
	return (w.schools[school].students + cohortSize - 1) / cohortSize * classSlots
}

// class returns the class at an index below classes.
func (w *World) class(school, index int) class {
	district := w.schools[school].district
	year := w.yearOf(district, w.today)
	k := class{index: index, cohort: index / classSlots, slot: index % classSlots}
	k.draw = Rand{Hash(w.seed, int(ClassEntity), school, index)}
	k.modified, k.removed = w.lastModified(&k.draw, 80)
	if k.slot >= lastYear {
		year--
	}
	k.begin = w.yearBegin(district, year)
	if k.slot > 0 {
		k.end = w.yearBegin(district, year+1) - 1 // Homerooms continue.
	}
	k.period = k.draw.Between(1, 7)
	educators := w.schools[school].educators
	k.teaching.first = k.draw.Below(educators)
	switch luck := k.draw.Below(1000); {
	case luck < 30:
		k.teaching.unknown = true
	case luck < 60:
	case luck < 200 && k.teaching.first+1 < educators:
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

// attends reports whether a student of a class's cohort attends it: all attend the homeroom, most attend each lesson.
func (w *World) attends(school, class, student int) bool {
	return class%classSlots == 0 || Hash(w.seed, int(ClassEntity), school, class, student)%1000 >= 80
}

// className returns the name of a class; lessons include the period.
func (k *class) className() string {
	if subject := classSubjects[k.slot]; subject != "" {
		return subject + " / Period " + strconv.Itoa(k.period) + " – " + strconv.Itoa(k.cohort+1)
	}
	return "Homeroom " + strconv.Itoa(k.cohort+1)
}

// schoolClasses returns the list of 4.9.
func schoolClasses(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	return List{
		Count: w.classes(c.School),
		Keep: func(i int) bool {
			k := w.class(c.School, i)
			return f.passes(&k.validity)
		},
		Record: func(a *Arena, i int) []Member { return w.classRecord(a, c, i) },
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
		Member{"classSubject", textOrAbsent(classSubjects[k.slot])},
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

// classStudents returns the roster. The specification does not show its elements: most rosters hold objects, some only
// bids, some are empty or missing. The state gets no names.
func (w *World) classStudents(a *Arena, c *Call, k *class) Value {
	d := &k.draw
	form := d.Below(100)
	switch {
	case form < 10:
		return Value{}
	case form < 20:
		return a.array()
	}
	var list [cohortSize]Member
	n := 0
	end := min((k.cohort+1)*cohortSize, w.schools[c.School].students)
	for i := k.cohort * cohortSize; i < end; i++ {
		st := w.student(c.School, i)
		// Rosters of bids omit students without a bid.
		if !w.attends(c.School, k.index, i) || form < 35 && !st.matched {
			continue
		}
		if form < 35 {
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

// classDetails returns 4.10: the record of the list, whose arrays have no tables of their own here.
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
