package simulator

// The single reads (specification 4.5, 4.10 and 4.14): a call is about one record, which its list has named.

// studentDetails is 4.5: one flat object but for three members (observed, "Containers and fields").
func studentDetails(w *World, c *call) source {
	return source{count: 1, record: func(a *arena, _ int) []member {
		st := w.student(c.home, c.subject)
		d := draw{hash(w.seed, int(aStudent), c.home, c.subject, 1)}
		name := st.person()
		s := &w.schools[c.home]
		ethnicity := d.below(len(ethnicities))
		return a.list(
			member{"studentBid", st.identity()},
			member{"studentId", textOf(st.studentID())},
			member{"stateStudentId", d.known(900, textOf(st.studentID()))},
			member{"districtBid", identOf(w.districts[s.district].bid)},
			member{"schoolBid", identOf(s.bid)},
			member{"firstName", textOf(name.first)},
			member{"middleName", textOrAbsent(name.middle)},
			member{"lastName", textOf(name.last)},
			member{"dateOfBirth", d.known(980, dateOf(w.born(&st)))},
			member{"gender", d.known(970, textOf([...]string{"F", "M", "X"}[d.below(41)/20]))},
			member{"ethnicity", d.known(950, textOf(ethnicities[ethnicity].standard))},
			member{"ethnicityCustom", d.known(300, textOf(ethnicities[ethnicity].custom))},
			member{"grade", d.known(985, textOf(gradeNames[st.grade]))},
			member{"gradeCustom", d.known(200, textOf("Grade "+gradeNames[st.grade]))},
			member{"personalNeedsProfile", d.needs(a)},
			member{"englishLearner", d.learner(a)},
			member{"individualizedPrograms", d.programs(a)},
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

// The three nested members of 4.5 are of unknown shape; an exporter hands them on whole.

func (d *draw) needs(a *arena) value {
	if !d.chance(150) {
		return value{}
	}
	return verbatim(a.object(
		member{"textToSpeech", truthOf(d.chance(500))},
		member{"magnification", decimalOf(d.between(4, 12) * 25)},
		member{"additionalTestingTime", d.known(600, wholeOf(d.between(1, 6)*15))},
		member{"accommodations", verbatim(d.accommodations(a))},
	))
}

func (d *draw) learner(a *arena) value {
	if !d.chance(200) {
		return value{}
	}
	return verbatim(a.object(
		member{"status", textOf([...]string{"Current", "Former / monitored"}[d.below(2)])},
		member{"proficiencyLevel", decimalOf(d.between(10, 60) * 10)},
		member{"nativeLanguage", d.known(800, textOf([...]string{"spa", "Español", "中文", "som"}[d.below(4)]))},
	))
}

func (d *draw) programs(a *arena) value {
	if !d.chance(120) {
		return value{}
	}
	var list [2]member
	n := d.between(1, len(list))
	for i := range n {
		name := [len(list)]string{"IEP", "504"}[i]
		list[i] = member{value: a.object(member{"program", textOf(name)}, member{"active", truthOf(d.chance(900))})}
	}
	return verbatim(a.array(list[:n]...))
}

// classDetails is 4.10: the record of the list. What the list gives tables of their own stays whole here.
func classDetails(w *World, c *call) source {
	return source{count: 1, record: func(a *arena, _ int) []member {
		record := w.classRecord(a, c, c.subject)
		for i := range record {
			if record[i].kind == array {
				record[i].value = verbatim(record[i].value)
			}
		}
		return record
	}}
}

// educatorAssociationDetails is 4.14.
func educatorAssociationDetails(w *World, c *call) source {
	return source{count: 1, record: func(a *arena, _ int) []member {
		return w.educatorAssociationRecord(a, c, c.subject)
	}}
}
