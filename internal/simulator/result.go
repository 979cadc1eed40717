package simulator

// testEvent is one student's test in one subject, from which the members of a result are made.
type testEvent struct {
	school   int // the school of the student's seat
	at       int // the school of the test
	index    int
	student  student
	subject  int
	grade    int
	year     int // the academic year
	season   season
	term     session
	start    int64 // milliseconds
	end      int64
	modified int64
	rit      int
	error    int // standard error in hundredths
	z        int // distance from the mean of grade and season, in thousandths of a standard deviation
	draw     Rand
}

// resultPlaces returns the number of places in the list of 4.6: the pairs of seat and subject with results in the
// school, followed by such pairs of the school whose students move to it.
func (w *World) resultPlaces(school int) int {
	places := w.schools[school].results
	if from := w.source(school, w.yearOfSchool(school)); from >= 0 {
		places += w.schools[from].results
	}
	return places
}

// results returns the number of results that 4.6 lists for a school.
func (w *World) results(school int) (n int) {
	if w.schools[school].steady {
		return w.schools[school].results
	}
	for place := range w.resultPlaces(school) {
		if _, _, _, ok := w.eventAt(school, place); ok {
			n++
		}
	}
	return n
}

// eventAt returns the student, the subject and the event of the result at a place of 4.6's list. ok is false if the
// place is empty on the world's day.
func (w *World) eventAt(school, place int) (o occupant, subject int, e event, ok bool) {
	home := school
	if own := w.schools[school].results; place >= own {
		home, place = w.source(school, w.yearOfSchool(school)), place-own
	}
	seat, subject := w.schools[home].studentAndSubject(place)
	if !w.attendsSchool(home, seat, school) {
		return o, subject, e, false
	}
	o = w.occupant(home, seat)
	e, ok = w.lastEvent(&o, subject)
	return o, subject, e, ok
}

// testEvent returns the result at a place of 4.6's list. ok is false if the place is empty on the world's day.
func (w *World) testEvent(school, place int) (r testEvent, ok bool) {
	o, subject, e, ok := w.eventAt(school, place)
	if !ok {
		return r, false
	}
	return w.eventOf(&o, subject, &e), true
}

// eventOf returns the details of a test.
func (w *World) eventOf(o *occupant, subject int, e *event) testEvent {
	home := o.school
	r := testEvent{school: home, student: w.student(home, o.seat), subject: subject, grade: o.grade - (o.year - e.year), season: e.season, year: e.year}
	r.index = ((e.year-firstYear)*int(seasons)+int(e.season))<<(seatBits+2) | subject<<seatBits | o.seat
	// Results follow the student. They include results of the previous school, which has no agreement, and of a partner
	// school, each with the terms of the district of that school. (Observed: a result's schoolBid may differ from the
	// requested school.)
	r.at = home
	switch away := w.absence(home, o.seat, e.year); {
	case !o.hadSeat(e):
		r.index |= 1 << 31 // In that year, the seat's results belong to the previous occupant.
		r.at = w.total + w.schools[home].district
	case away.moved && away.covers(e.day):
		r.at = w.partner(home, e.year)
	case e.draw.Chance(15):
		r.at = e.draw.Below(w.total) // tested elsewhere
	}
	r.term = w.session(w.schools[r.at].district, e.year, e.season)

	r.draw = e.draw
	d := &r.draw
	r.start = int64(e.day)*MillisPerDay + int64(d.Between(13*3600, 20*3600))*1000
	r.end = r.start + int64(d.Between(14*60, 75*60))*1000
	r.modified = r.end + int64(d.Below(2*3600))*1000
	r.z = (r.student.ability()*85 + d.normal()*53) / 100
	mean, deviation := ritMean(subject, r.grade, e.season), ritDeviation(subject, r.grade)
	r.rit = min(max(rounded(mean*1000+deviation*r.z, 10_000), 100), 300)
	r.error = d.Between(296, 352)
	if late := int64(d.Below(secondsPerDay)); e.corrected > 0 {
		r.rit += 1 - 2*(o.seat%2)
		r.modified = e.corrected.Millis() + late*1000
	}
	return r
}

// growth compares the growth since the student's previous test in the subject, at most a year earlier, with the growth
// that the norms expect. It returns the difference in thousandths of the expected growth's standard deviation. ok is
// false if there was no such test.
func (w *World) growth(r *testEvent) (z int, ok bool) {
	o := r.student.occupant
	for at := r.year*int(seasons) + int(r.season) - 1; at >= (r.year-1)*int(seasons)+int(r.season); at-- {
		before := event{year: at / int(seasons), season: season(at % int(seasons))}
		if before.season != summer && w.takes(&o, r.subject, &before) {
			earlier := w.eventOf(&o, r.subject, &before)
			expected, deviation := expectedGrowth(r.subject, earlier.grade, before.season, r.grade, r.season, earlier.rit)
			return rounded((100*(r.rit-earlier.rit)-expected)*1000, deviation), true
		}
	}
	return 0, false
}

// resultRecord returns an element of testResults (specification, "TestResult").
func (w *World) resultRecord(a *Arena, school, index int) []Member {
	r, _ := w.testEvent(school, index)
	d := &r.draw
	paper := &tests[r.subject][bandOf(r.grade)]
	margin := rounded(r.error, 100)
	questions := d.Between(30, 53)
	return a.list(
		Member{"testResultBid", idOf(w.BidOf(ResultEntity, r.school, r.index))},
		Member{"studentBid", idOf(r.student.bid)},
		Member{"schoolBid", idOf(w.schools[r.at].bid)},
		Member{"termBid", idOf(r.term.bid)},
		Member{"subjectArea", TextOf(subjectNames[r.subject])},
		Member{"grade", d.known(990, TextOf(gradeNames[r.grade]))},
		Member{"testName", TextOf(paper.name)},
		Member{"testKey", TextOf(paper.key)},
		Member{"testType", d.known(985, TextOf("Survey With Goals"))},
		Member{"growthEventYn", d.known(990, booleanOf(d.Chance(920)))},
		Member{"duration", d.known(975, longOf(int(r.end-r.start)-d.Below(120_000)))},
		Member{"status", TextOf("COMPLETED")},
		Member{"rit", integerOf(r.rit)},
		Member{"standardError", d.known(995, decimalOf(r.error))},
		Member{"ritScoreHigh", d.known(995, integerOf(r.rit+margin))},
		Member{"ritScoreLow", d.known(995, integerOf(r.rit-margin))},
		Member{"items", d.known(970, d.items(a, questions))},
		Member{"responseDisengagedPercentage", d.known(700, decimalOf(d.disengaged()))},
		Member{"impactOfDisengagement", d.known(500, decimalOf(-d.Below(320)))},
		Member{"administrationStartDateTime", d.timestamp(r.start)},
		Member{"administrationEndDateTime", d.known(990, d.timestamp(r.end))},
		Member{"norms", w.norms(a, &r)},
		Member{"modifiedDateTime", d.timestamp(r.modified)},
		Member{"instructionalAreas", w.areaScores(a, &r, paper)},
		Member{"lexile", d.lexile(a, &r)},
		Member{"quantile", d.quantile(a, &r)},
		Member{"accommodations", d.accommodations(a)},
	)
}

func (d *Rand) items(a *Arena, questions int) Value {
	return a.object(
		Member{"shown", d.known(990, integerOf(questions))},
		Member{"correct", d.known(970, integerOf(questions*d.Between(38, 68)/100))},
		Member{"total", d.known(990, integerOf(questions+d.Below(4)))},
	)
}

// disengaged returns a percentage in hundredths, which is mostly 0.
func (d *Rand) disengaged() int {
	if d.Chance(700) {
		return 0
	}
	return d.Below(3500)
}

// norms returns one to three norms: the achievement by the norms of one or two years and, for some results, the growth
// since the previous test.
func (w *World) norms(a *Arena, r *testEvent) Value {
	d := &r.draw
	norm := func(reference, sort string, z int) Member {
		return Member{Value: a.object(
			Member{"percentile", d.known(980, integerOf(percentile(z)))},
			Member{"reference", TextOf(reference)},
			Member{"type", TextOf(sort)},
		)}
	}
	list := [3]Member{norm("2020", "achievement", r.z)}
	n := 1
	if d.Chance(450) {
		list[n] = norm("2025", "achievement", r.z+60)
		n++
	}
	if d.Chance(400) {
		_ = d.normal() // so that all later values are the same as before growth was simulated
		z, ok := w.growth(r)
		list[n] = norm("2025", "growth", z)
		if ok {
			n++
		}
	}
	return a.array(list[:n]...)
}

// areaScores returns the scores by instructional area. They are close to the overall score, but less certain.
func (w *World) areaScores(a *Arena, r *testEvent, paper *test) Value {
	d := &r.draw
	var list [5]Member
	for i, name := range paper.areas {
		score := r.rit*100 + d.normal()/2
		if d.Chance(800) {
			score = rounded(score, 100) * 100
		}
		margin := d.Between(560, 780)
		list[i] = Member{Value: a.object(
			Member{"instructionalAreaBid", idOf(w.BidOf(areaEntity, r.subject, bandOf(r.grade)*8+i))},
			Member{"instructionalAreaName", TextOf(name)},
			Member{"score", d.known(985, decimalOf(score))},
			Member{"standardError", d.known(985, decimalOf(margin))},
			Member{"scoreLow", d.known(980, decimalOf(score-margin))},
			Member{"scoreHigh", d.known(980, decimalOf(score+margin))},
		)}
	}
	return a.array(list[:len(paper.areas)]...)
}

func (d *Rand) lexile(a *Arena, r *testEvent) Value {
	if r.subject != reading || !d.Chance(800) {
		return Value{}
	}
	score := (r.rit*11 - 1640) / 5 * 5
	return a.object(
		Member{"score", TextOf(lexileText(score))},
		Member{"range", d.known(950, TextOf(lexileText(score-100)+"-"+lexileText(score+50)))},
		Member{"min", d.known(950, TextOf(lexileText(score-100)))},
		Member{"max", d.known(950, TextOf(lexileText(score+50)))},
	)
}

func (d *Rand) quantile(a *Arena, r *testEvent) Value {
	if r.subject != mathematics || !d.Chance(600) {
		return Value{}
	}
	score := (r.rit*13 - 2130) / 5 * 5
	return a.object(
		Member{"score", TextOf(quantileText(score))},
		Member{"range", d.known(950, TextOf(quantileText(score-50)+"-"+quantileText(score+50)))},
		Member{"minimum", d.known(950, TextOf(quantileText(score-50)))},
		Member{"maximum", d.known(950, TextOf(quantileText(score+50)))},
		Member{"original", d.known(300, TextOf(quantileText(score+d.Between(-2, 2))))},
	)
}
