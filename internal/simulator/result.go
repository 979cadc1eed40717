package simulator

// sitting is what a test result is made of before its members are written: one student's test in one subject.
type sitting struct {
	school   int // the one asked
	at       int // the school in which the test was taken
	index    int
	student  student
	subject  int
	grade    int
	term     term
	start    int64 // milliseconds
	end      int64
	modified int64
	rit      int
	error    int // hundredths
	z        int // thousandths of a standard deviation from the mean of grade and season
	draw     draw
}

// sitting makes the i-th result that 4.6 lists for a school, below school.results.
func (w *World) sitting(school, index int) sitting {
	s := &w.schools[school]
	pupil, subject := s.place(index)
	d := draw{hash(w.seed, int(aResult), school, index)}
	r := sitting{school: school, index: index, subject: subject, student: w.student(school, pupil)}
	r.at, r.grade = school, r.student.grade
	// Results follow the student: one who has moved brings those of the school before (observed: a result's schoolBid may
	// differ from the school asked for), with the terms of its district.
	if d.chance(600) {
		r.at = r.student.from
	}
	district := w.schools[r.at].district
	r.term = d.term(w.districts[district].terms)
	if current := w.yearOf(district, w.today); r.term.year < current && r.grade > 0 {
		r.grade--
	}

	day := int(r.term.from) + d.below(int(r.term.to-r.term.from)+1)
	r.start = int64(day)*millisPerDay + int64(d.between(13*3600, 20*3600))*1000
	r.end = r.start + int64(d.between(14*60, 75*60))*1000
	r.modified = min(r.end+int64(d.below(3*secondsPerDay))*1000, w.today.millis()-1000)

	r.z = (r.student.ability*85 + d.normal()*53) / 100
	mean, deviation := ritMean(subject, r.grade, r.term.season), ritDeviation(subject, r.grade)
	r.rit = min(max(rounded(mean*1000+deviation*r.z, 10_000), 100), 300)
	r.error = d.between(296, 352)
	r.draw = d
	return r
}

// term draws the term of a result: mostly the newest, as 4.6 returns the most relevant result of the last year.
func (d *draw) term(terms []term) term {
	newest := len(terms) - 1
	if d.chance(700) {
		return terms[newest]
	}
	return terms[d.below(len(terms))]
}

// resultRecord is an element of testResults (specification, "TestResult").
func (w *World) resultRecord(a *arena, school, index int) []member {
	r := w.sitting(school, index)
	d := &r.draw
	paper := &tests[r.subject][bandOf(r.grade)]
	margin := rounded(r.error, 100)
	questions := d.between(30, 53)
	return a.list(
		member{"testResultBid", identOf(w.bidOf(aResult, school, index))},
		member{"studentBid", identOf(r.student.bid)},
		member{"schoolBid", identOf(w.schools[r.at].bid)},
		member{"termBid", identOf(r.term.bid)},
		member{"subjectArea", textOf(subjectNames[r.subject])},
		member{"grade", d.known(990, textOf(gradeNames[r.grade]))},
		member{"testName", textOf(paper.name)},
		member{"testKey", textOf(paper.key)},
		member{"testType", d.known(985, textOf("Survey With Goals"))},
		member{"growthEventYn", d.known(990, truthOf(d.chance(920)))},
		member{"duration", d.known(975, longOf(int(r.end-r.start)-d.below(120_000)))},
		member{"status", textOf("COMPLETED")},
		member{"rit", wholeOf(r.rit)},
		member{"standardError", d.known(995, decimalOf(r.error))},
		member{"ritScoreHigh", d.known(995, wholeOf(r.rit+margin))},
		member{"ritScoreLow", d.known(995, wholeOf(r.rit-margin))},
		member{"items", d.known(970, d.items(a, questions))},
		member{"responseDisengagedPercentage", d.known(700, decimalOf(d.disengaged()))},
		member{"impactOfDisengagement", d.known(500, decimalOf(-d.below(320)))},
		member{"administrationStartDateTime", d.moment(r.start)},
		member{"administrationEndDateTime", d.known(990, d.moment(r.end))},
		member{"norms", d.norms(a, r.z)},
		member{"modifiedDateTime", d.moment(r.modified)},
		member{"instructionalAreas", w.areas(a, &r, paper)},
		member{"lexile", d.lexile(a, &r)},
		member{"quantile", d.quantile(a, &r)},
		member{"accommodations", d.accommodations(a)},
	)
}

// moment adds a fraction or not, and says Z or not: observed precisions are mixed.
func (d *draw) moment(millis int64) value {
	precision := withMillis
	if d.chance(300) {
		precision = d.next() % precisions
	}
	fraction := int64(d.below(1000))
	if precision == withoutFraction || precision == withoutFractionZoneless {
		fraction = 0
	}
	return stampOf(millis-millis%1000+fraction, precision)
}

func (d *draw) items(a *arena, questions int) value {
	return a.object(
		member{"shown", d.known(990, wholeOf(questions))},
		member{"correct", d.known(970, wholeOf(questions*d.between(38, 68)/100))},
		member{"total", d.known(990, wholeOf(questions+d.below(4)))},
	)
}

// disengaged is a percentage in hundredths: mostly none.
func (d *draw) disengaged() int {
	if d.chance(700) {
		return 0
	}
	return d.below(3500)
}

// norms are one to three: status against the norms of one or two years, and growth.
func (d *draw) norms(a *arena, z int) value {
	norm := func(reference, sort string, z int) member {
		return member{value: a.object(
			member{"percentile", d.known(980, wholeOf(percentile(z)))},
			member{"reference", textOf(reference)},
			member{"type", textOf(sort)},
		)}
	}
	list := [3]member{norm("2020", "achievement", z)}
	n := 1
	if d.chance(450) {
		list[n] = norm("2025", "achievement", z+60)
		n++
	}
	if d.chance(400) {
		list[n] = norm("2025", "growth", d.normal())
		n++
	}
	return a.array(list[:n]...)
}

// areas are the scores by instructional area: less certain than the whole, and around it.
func (w *World) areas(a *arena, r *sitting, paper *test) value {
	d := &r.draw
	var list [5]member
	for i, name := range paper.areas {
		score := r.rit*100 + d.normal()/2
		if d.chance(800) {
			score = rounded(score, 100) * 100
		}
		margin := d.between(560, 780)
		list[i] = member{value: a.object(
			member{"instructionalAreaBid", identOf(w.bidOf(anArea, r.subject, bandOf(r.grade)*8+i))},
			member{"instructionalAreaName", textOf(name)},
			member{"score", d.known(985, decimalOf(score))},
			member{"standardError", d.known(985, decimalOf(margin))},
			member{"scoreLow", d.known(980, decimalOf(score-margin))},
			member{"scoreHigh", d.known(980, decimalOf(score+margin))},
		)}
	}
	return a.array(list[:len(paper.areas)]...)
}

func (d *draw) lexile(a *arena, r *sitting) value {
	if r.subject != reading || !d.chance(800) {
		return value{}
	}
	score := (r.rit*11 - 1640) / 5 * 5
	return a.object(
		member{"score", textOf(lexileText(score))},
		member{"range", d.known(950, textOf(lexileText(score-100)+"-"+lexileText(score+50)))},
		member{"min", d.known(950, textOf(lexileText(score-100)))},
		member{"max", d.known(950, textOf(lexileText(score+50)))},
	)
}

func (d *draw) quantile(a *arena, r *sitting) value {
	if r.subject != mathematics || !d.chance(600) {
		return value{}
	}
	score := (r.rit*13 - 2130) / 5 * 5
	return a.object(
		member{"score", textOf(quantileText(score))},
		member{"range", d.known(950, textOf(quantileText(score-50)+"-"+quantileText(score+50)))},
		member{"minimum", d.known(950, textOf(quantileText(score-50)))},
		member{"maximum", d.known(950, textOf(quantileText(score+50)))},
		member{"original", d.known(300, textOf(quantileText(score+d.between(-2, 2))))},
	)
}

// accommodations are an array on a few results (observed, "Test results"). Their names are plain ASCII without a slash: an
// exporter hands them on as sent, so there must be one way only of sending them.
func (d *draw) accommodations(a *arena) value {
	if !d.chance(25) {
		return value{}
	}
	names := [...]string{"Extended time", "Text-to-speech", "Small group", "Separate setting", "Human reader"}
	first := d.below(len(names))
	list := [2]member{{value: textOf(names[first])}, {value: textOf(names[(first+1)%len(names)])}}
	return a.array(list[:d.between(1, 2)]...)
}
