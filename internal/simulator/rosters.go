package simulator

// The classes of a student or an educator (specification 4.11 and 4.12). Their records are not documented, so nothing says what
// identifies one: some members of a class have two records of it that differ, and now and then the service lists one record twice,
// equal in every member.

// Two records of a class are possible for each of its members.
const staysPerClass = 2

// stay is one record of 4.11 or 4.12 before its members are written.
type stay struct {
	life
	class class
	draw  draw
}

// stay makes the copy-th record of a member of a class; it is not ok if there is none. The member is a student or an educator, as
// what says.
func (w *World) stay(what thing, school, index, class, copied int) (s stay, ok bool) {
	luck := draw{hash(w.seed, int(what), school, index, class)}
	switch again := luck.below(1000); {
	case copied == 0:
	case again < 60:
		copied = 0 // The same record once more.
	case again >= 120:
		return stay{}, false
	}
	s.class = w.class(school, class)
	s.draw = draw{hash(w.seed, int(what), school, index, class, copied)}
	s.life = s.class.life
	s.modified, s.removed = w.aged(&s.draw, 50)
	if copied > 0 || s.draw.chance(100) {
		s.begin += day(s.draw.between(7, 60))
	}
	return s, true
}

// studentClasses is 4.11.
func studentClasses(w *World, c *call) source {
	f := w.onDefault(c)
	cohort := c.subject / cohortSize
	at := func(i int) (class, copied int) { return cohort*classSlots + i/staysPerClass, i % staysPerClass }
	if c.school != c.home {
		return source{} // A student of another school has no classes in this one.
	}
	return source{
		count: classSlots * staysPerClass,
		keep: func(i int) bool {
			class, copied := at(i)
			s, ok := w.stay(aStudentClass, c.home, c.subject, class, copied)
			return ok && w.attends(c.home, class, c.subject) && f.keeps(&s.life)
		},
		record: func(a *arena, i int) []member {
			class, copied := at(i)
			s, _ := w.stay(aStudentClass, c.home, c.subject, class, copied)
			return w.stayRecord(a, c, &s, member{"studentBid", identOf(w.bidOf(aStudent, c.home, c.subject))})
		},
	}
}

// educatorClasses is 4.12.
func educatorClasses(w *World, c *call) source {
	f := w.onDefault(c)
	if c.school != c.home {
		return source{}
	}
	return source{
		count: w.classes(c.home) * staysPerClass,
		keep: func(i int) bool {
			s, ok := w.stay(anEducatorClass, c.home, c.subject, i/staysPerClass, i%staysPerClass)
			return ok && s.class.teaching.teaches(c.subject) && f.keeps(&s.life)
		},
		record: func(a *arena, i int) []member {
			s, _ := w.stay(anEducatorClass, c.home, c.subject, i/staysPerClass, i%staysPerClass)
			return w.stayRecord(a, c, &s, member{"educatorBid", identOf(w.bidOf(anEducator, c.home, c.subject))})
		},
	}
}

func (w *World) stayRecord(a *arena, c *call, s *stay, who member) []member {
	return a.list(
		who,
		member{"schoolClassBid", identOf(w.bidOf(aClass, c.home, s.class.index))},
		member{"className", s.draw.known(970, textOf(s.class.name()))},
		member{"classSubject", textOrAbsent(classSubjects[s.class.slot])},
		member{"perspectiveBid", identOf(w.districts[c.district].bid)},
		member{"schoolBid", identOf(w.schools[c.home].bid)},
		member{"beginDate", dateOf(s.begin)},
		member{"endDate", dateOrAbsent(s.end)},
		member{"modifiedDateTime", s.draw.moment(s.modified)},
	)
}
