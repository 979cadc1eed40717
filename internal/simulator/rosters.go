package simulator

// The records of the classes of a student or an educator (specification 4.11 and 4.12) are undocumented, so it is
// unknown what identifies such a record. Some students and educators have two different records of one class. The
// service lists some records twice, without any difference.

// membership is a record of 4.11 or 4.12.
type membership struct {
	validity
	class class
	draw  Rand
}

// membership returns a record of a student or educator in a class. copied is the number of the record, counted from 0.
// ok is false if there is no such record.
func (w *World) membership(what EntityKind, school, index, class, copied int) (s membership, ok bool) {
	luck := Rand{Hash(w.seed, int(what), school, index, class)}
	switch again := luck.Below(1000); {
	case copied == 0:
	case again < 60:
		copied = 0 // Repeat the same record.
	case again >= 120:
		return membership{}, false
	}
	s.class = w.class(school, class)
	s.draw = Rand{Hash(w.seed, int(what), school, index, class, copied)}
	s.validity = s.class.validity
	s.modified, s.removed = w.lastModified(&s.draw, 50)
	if copied > 0 || s.draw.Chance(100) {
		s.begin += Day(s.draw.Between(7, 60))
	}
	return s, true
}

// studentClasses returns the list of 4.11.
func studentClasses(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	seat := seatOf(c.Subject)
	at := func(i int) (class, copied int) {
		return w.classAt(c.Home, seat/cohortSize, i/recordsPerClass), i % recordsPerClass
	}
	if c.School != c.Home {
		return List{} // A student of another school has no classes in this school.
	}
	return List{
		Count: classSlots * recordsPerClass,
		Keep: func(i int) bool {
			class, copied := at(i)
			s, ok := w.membership(studentClassEntity, c.Home, c.Subject, class, copied)
			return ok && w.attends(c.Home, class, seat) && f.passes(&s.validity)
		},
		Record: func(a *Arena, i int) []Member {
			class, copied := at(i)
			s, _ := w.membership(studentClassEntity, c.Home, c.Subject, class, copied)
			return w.membershipRecord(a, c, &s, Member{"studentBid", idOf(w.BidOf(StudentEntity, c.Home, c.Subject))})
		},
	}
}

// educatorClasses returns the list of 4.12.
func educatorClasses(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	if c.School != c.Home {
		return List{}
	}
	at := func(i int) (class, copied int) {
		i, copied = i/recordsPerClass, i%recordsPerClass
		return w.classAt(c.Home, i/classSlots, i%classSlots), copied
	}
	return List{
		Count: w.cohorts(c.Home) * classSlots * recordsPerClass,
		Keep: func(i int) bool {
			class, copied := at(i)
			s, ok := w.membership(educatorClassEntity, c.Home, c.Subject, class, copied)
			return ok && s.class.teaching.teaches(c.Subject) && f.passes(&s.validity)
		},
		Record: func(a *Arena, i int) []Member {
			class, copied := at(i)
			s, _ := w.membership(educatorClassEntity, c.Home, c.Subject, class, copied)
			return w.membershipRecord(a, c, &s, Member{"educatorBid", idOf(w.BidOf(EducatorEntity, c.Home, c.Subject))})
		},
	}
}

func (w *World) membershipRecord(a *Arena, c *Call, s *membership, who Member) []Member {
	return a.list(
		who,
		Member{"schoolClassBid", idOf(w.BidOf(ClassEntity, c.Home, s.class.index))},
		Member{"className", s.draw.known(970, TextOf(s.class.className()))},
		Member{"classSubject", textOrAbsent(classSubjects[s.class.subject])},
		Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
		Member{"schoolBid", idOf(w.schools[c.Home].bid)},
		Member{"beginDate", dateOf(s.begin)},
		Member{"endDate", dateOrAbsent(s.end)},
		Member{"modifiedDateTime", s.draw.timestamp(s.modified)},
	)
}
