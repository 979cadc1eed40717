package simulator

// Single reads (specification 4.5, 4.10 and 4.14) return one record that a list has named.

// studentDetails returns 4.5: a flat object but for three members (observed, "Containers and fields").
func studentDetails(w *World, c *Call) List {
	return List{Count: 1, Record: func(a *Arena, _ int) []Member {
		st := w.student(c.Home, c.Subject)
		d := Rand{Hash(w.seed, int(StudentEntity), c.Home, c.Subject, 1)}
		name := st.person()
		s := &w.schools[c.Home]
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

// The three nested members of 4.5 have no documented shape; an exporter stores them as sent.

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

// educatorAssociationDetails returns 4.14.
func educatorAssociationDetails(w *World, c *Call) List {
	return List{Count: 1, Record: func(a *Arena, _ int) []Member {
		return w.educatorAssociationRecord(a, c, c.Subject)
	}}
}
