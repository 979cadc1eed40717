package simulator

import "strconv"

// student is a student of a school's roster.
type student struct {
	occupant
	bid     Bid
	matched bool // whether 4.4 has a studentBid for the student
	draw    Rand // determines the names
}

// student returns the occupant of a seat on the world's day. seat must be below school.students.
func (w *World) student(school, seat int) student {
	st := student{occupant: w.occupant(school, seat), matched: seat < w.schools[school].tested || seat%3 != 0}
	st.bid = w.BidOf(StudentEntity, school, st.index)
	st.draw = Rand{Hash(w.seed, int(StudentEntity), school, st.index)}
	return st
}

// ability returns a student's ability, in thousandths of a standard deviation.
func (st *student) ability() int {
	d := Rand{Mix(st.draw.state)}
	return d.normal()
}

// seatOf returns the seat of the student whose bid has the given index.
func seatOf(index int) int { return index & (1<<seatBits - 1) }

// enrolled returns the number of students that 4.4 lists for a school.
func (w *World) enrolled(school int) (n int) {
	for place := range w.rosterPlaces(school) {
		if _, _, ok := w.seatAt(school, place); ok {
			n++
		}
	}
	return n
}

type person struct{ first, middle, last string }

func (d *Rand) person() person {
	p := person{first: firstNames[d.Below(len(firstNames))], last: lastNames[d.Below(len(lastNames))]}
	if d.Chance(400) {
		p.middle = middleNames[d.Below(len(middleNames))]
	}
	return p
}

func (st *student) person() person {
	d := st.draw
	return d.person()
}

// studentID returns the student id of the state. It is text, because it may have leading zeros.
func (st *student) studentID() string {
	n := Hash(st.bid.Low, 1) % 10_000_000_000
	digits := strconv.FormatUint(n, 10)
	return "0000000000"[:10-len(digits)] + digits
}

// identity returns the studentBid, or an absent value for an unmatched student.
func (st *student) identity() Value {
	if !st.matched {
		return Value{}
	}
	return idOf(st.bid)
}

// identityText returns the studentBid as text, or "" for an unmatched student.
func (w *World) identityText(st *student) string {
	if !st.matched {
		return ""
	}
	return w.bidText(st.bid)
}

// studentRecord returns an element of the list of 4.4.
func (w *World) studentRecord(a *Arena, school, place int) []Member {
	home, seat, _ := w.seatAt(school, place)
	st := w.student(home, seat)
	name := st.person()
	return a.list(
		Member{"studentId", TextOf(st.studentID())},
		Member{"studentBid", st.identity()},
		Member{"lastName", TextOf(name.last)},
		Member{"firstName", TextOf(name.first)},
	)
}

// studentDetails returns the answer of 4.5: an object that is flat except for three members (observed, "Containers and
// fields").
func studentDetails(w *World, c *Call) List {
	return List{Count: 1, Record: func(a *Arena, _ int) []Member {
		st := w.student(c.Home, seatOf(c.Subject))
		d := Rand{Hash(w.seed, int(StudentEntity), c.Home, c.Subject, 1)}
		name := st.person()
		s := &w.schools[w.schoolOf(c.Home, st.seat)]
		ethnicity := d.Below(len(ethnicities))
		return a.list(
			Member{"studentBid", st.identity()},
			Member{"studentId", TextOf(st.studentID())},
			Member{"stateStudentId", d.known(900, TextOf(st.studentID()))},
			Member{"districtBid", idOf(w.districts[s.district].bid)},
			Member{"schoolBid", idOf(s.bid)},
			Member{"firstName", TextOf(name.first)},
			Member{"middleName", textOrAbsent(name.middle)},
			Member{"lastName", TextOf(name.last)},
			Member{"dateOfBirth", d.known(980, dateOf(w.born(&st)))},
			Member{"gender", d.known(970, TextOf([...]string{"F", "M", "X"}[d.Below(41)/20]))},
			Member{"ethnicity", d.known(950, TextOf(ethnicities[ethnicity].standard))},
			Member{"ethnicityCustom", d.known(300, TextOf(ethnicities[ethnicity].custom))},
			Member{"grade", d.known(985, TextOf(gradeNames[st.grade]))},
			Member{"gradeCustom", d.known(200, TextOf("Grade "+gradeNames[st.grade]))},
			Member{"personalNeedsProfile", d.needs(a)},
			Member{"englishLearner", d.learner(a)},
			Member{"individualizedPrograms", d.programs(a)},
		)
	}}
}

var ethnicities = [...]struct{ standard, custom string }{
	{"American Indian or Alaska Native", "Oglala"},
	{"Asian", "Hmong"},
	{"Black or African American", "Somali"},
	{"Hispanic or Latino", "Latino – México"},
	{"Native Hawaiian or Other Pacific Islander", "Sāmoan"},
	{"White", "European"},
	{"Two or More Races", "Multi-ethnic"},
}

// The three nested members of 4.5 have no documented shape, so an exporter stores them as sent.

func (d *Rand) needs(a *Arena) Value {
	if !d.Chance(150) {
		return Value{}
	}
	return Verbatim(a.object(
		Member{"textToSpeech", booleanOf(d.Chance(500))},
		Member{"magnification", decimalOf(d.Between(4, 12) * 25)},
		Member{"additionalTestingTime", d.known(600, integerOf(d.Between(1, 6)*15))},
		Member{"accommodations", Verbatim(d.accommodations(a))},
	))
}

func (d *Rand) learner(a *Arena) Value {
	if !d.Chance(200) {
		return Value{}
	}
	return Verbatim(a.object(
		Member{"status", TextOf([...]string{"Current", "Former / monitored"}[d.Below(2)])},
		Member{"proficiencyLevel", decimalOf(d.Between(10, 60) * 10)},
		Member{"nativeLanguage", d.known(800, TextOf([...]string{"spa", "Español", "中文", "som"}[d.Below(4)]))},
	))
}

func (d *Rand) programs(a *Arena) Value {
	if !d.Chance(120) {
		return Value{}
	}
	var list [2]Member
	n := d.Between(1, len(list))
	for i := range n {
		name := [len(list)]string{"IEP", "504"}[i]
		list[i] = Member{Value: a.object(Member{"program", TextOf(name)}, Member{"active", booleanOf(d.Chance(900))})}
	}
	return Verbatim(a.array(list[:n]...))
}

// accommodations returns an array for a few results (observed, "Test results"), and otherwise an absent value. The
// names are plain ASCII without a slash, so that there is only one way to write them: exporters store them as sent.
func (d *Rand) accommodations(a *Arena) Value {
	if !d.Chance(25) {
		return Value{}
	}
	names := [...]string{"Extended time", "Text-to-speech", "Small group", "Separate setting", "Human reader"}
	first := d.Below(len(names))
	list := [2]Member{{Value: TextOf(names[first])}, {Value: TextOf(names[(first+1)%len(names)])}}
	return a.array(list[:d.Between(1, 2)]...)
}
