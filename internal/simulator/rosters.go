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
	draw  Rand
}

// stay makes the copy-th record of a member of a class; it is not ok if there is none. The member is a student or an educator, as
// what says.
func (w *World) stay(what EntityKind, school, index, class, copied int) (s stay, ok bool) {
	luck := Rand{Hash(w.seed, int(what), school, index, class)}
	switch again := luck.Below(1000); {
	case copied == 0:
	case again < 60:
		copied = 0 // The same record once more.
	case again >= 120:
		return stay{}, false
	}
	s.class = w.class(school, class)
	s.draw = Rand{Hash(w.seed, int(what), school, index, class, copied)}
	s.life = s.class.life
	s.modified, s.removed = w.aged(&s.draw, 50)
	if copied > 0 || s.draw.Chance(100) {
		s.begin += Day(s.draw.Between(7, 60))
	}
	return s, true
}

// studentClasses is 4.11.
func studentClasses(w *World, c *Call) List {
	f := w.onDefault(c)
	cohort := c.Subject / cohortSize
	at := func(i int) (class, copied int) { return cohort*classSlots + i/staysPerClass, i % staysPerClass }
	if c.School != c.Home {
		return List{} // A student of another school has no classes in this one.
	}
	return List{
		Count: classSlots * staysPerClass,
		Keep: func(i int) bool {
			class, copied := at(i)
			s, ok := w.stay(studentClassEntity, c.Home, c.Subject, class, copied)
			return ok && w.attends(c.Home, class, c.Subject) && f.keeps(&s.life)
		},
		Record: func(a *Arena, i int) []Member {
			class, copied := at(i)
			s, _ := w.stay(studentClassEntity, c.Home, c.Subject, class, copied)
			return w.stayRecord(a, c, &s, Member{"studentBid", idOf(w.BidOf(StudentEntity, c.Home, c.Subject))})
		},
	}
}

// educatorClasses is 4.12.
func educatorClasses(w *World, c *Call) List {
	f := w.onDefault(c)
	if c.School != c.Home {
		return List{}
	}
	return List{
		Count: w.classes(c.Home) * staysPerClass,
		Keep: func(i int) bool {
			s, ok := w.stay(educatorClassEntity, c.Home, c.Subject, i/staysPerClass, i%staysPerClass)
			return ok && s.class.teaching.teaches(c.Subject) && f.keeps(&s.life)
		},
		Record: func(a *Arena, i int) []Member {
			s, _ := w.stay(educatorClassEntity, c.Home, c.Subject, i/staysPerClass, i%staysPerClass)
			return w.stayRecord(a, c, &s, Member{"educatorBid", idOf(w.BidOf(EducatorEntity, c.Home, c.Subject))})
		},
	}
}

func (w *World) stayRecord(a *Arena, c *Call, s *stay, who Member) []Member {
	return a.list(
		who,
		Member{"schoolClassBid", idOf(w.BidOf(ClassEntity, c.Home, s.class.index))},
		Member{"className", s.draw.known(970, TextOf(s.class.name()))},
		Member{"classSubject", textOrAbsent(classSubjects[s.class.slot])},
		Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
		Member{"schoolBid", idOf(w.schools[c.Home].bid)},
		Member{"beginDate", dateOf(s.begin)},
		Member{"endDate", dateOrAbsent(s.end)},
		Member{"modifiedDateTime", s.draw.moment(s.modified)},
	)
}
