package pages

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// These are the terms, subjects and norm types that results refer to. Real services have few of them, so their columns
// compress well.
var (
	terms = []string{
		"7c1c9f1e-3a52-4c57-9d0e-1f6a0f3b8a01", "7c1c9f1e-3a52-4c57-9d0e-1f6a0f3b8a02", "7c1c9f1e-3a52-4c57-9d0e-1f6a0f3b8a03",
	}
	subjects = []subject{
		{"Mathematics", "math", "quantile", []string{
			"Operations and Algebraic Thinking", "Number and Operations", "Measurement and Data", "Geometry",
		}},
		{"Reading", "reading", "lexile", []string{
			"Literary Text: Key Ideas and Details", "Informational Text", "Vocabulary: Acquisition and Use", "Language and Writing",
		}},
		{"Language Usage", "language", "", []string{
			"Writing: Plan, Organize, Develop", "Language: Understand, Edit for Grammar", "Language: Mechanics", "Research",
		}},
		{"Science", "science", "", []string{
			"Life Sciences", "Physical Sciences", "Earth and Space Sciences", "Engineering",
		}},
	}
	normTypes = []string{"achievement", "growth", "status"}
)

type subject struct {
	name, key, scale string
	areas            []string
}

// firstStart is the time at which the first result starts. All other results start within the following ten months.
var firstStart = time.Date(2025, time.August, 4, 13, 0, 0, 0, time.UTC)

const (
	startSpread = 300 * 24 * 3600 * 1000 // milliseconds
	startStep   = 7_919_327_003          // coprime with startSpread, so that no two results start at the same millisecond
)

// AppendPage appends the page with the given number, counted from 0, in the form in which the service sends it.
func (w *World) AppendPage(buf []byte, s *School, page int) []byte {
	return w.appendPage(buf, s, page, &Totals{})
}

func (*World) appendPage(buf []byte, s *School, page int, sum *Totals) []byte {
	begin, end := page*PageSize, min((page+1)*PageSize, s.Results)
	m := maker{random: rand.New(rand.NewPCG(uint64(s.first), uint64(page)+1)), sum: sum, buf: append(buf, `{"testResults":[`...)}
	for i := begin; i < end; i++ {
		if i > begin {
			m.buf = append(m.buf, ',')
		}
		m.result(s, s.first+i)
	}
	if page+1 < s.Pages() {
		m.text(`],"pagination":{"hasNextPage":true,"nextPage":"`)
		m.buf = strconv.AppendInt(m.buf, int64(page+1), 10)
		return append(m.buf, `"}}`...)
	}
	return append(m.buf, `],"pagination":{"hasNextPage":false,"nextPage":""}}`...)
}

// Totals returns the sums over all pages. It generates every page, so it is slow for a large world.
func (w *World) Totals() Totals {
	var sum Totals
	var buf []byte
	for i := range w.schools {
		for page := range w.schools[i].Pages() {
			buf = w.appendPage(buf[:0], &w.schools[i], page, &sum)
		}
	}
	return sum
}

// maker appends records to buf and counts them in sum.
type maker struct {
	random *rand.Rand
	sum    *Totals
	buf    []byte
}

// result appends the result with the given number. Numbers must be unique within a world.
func (m *maker) result(s *School, number int) {
	sub := &subjects[m.random.IntN(len(subjects))]
	grade := 2 + m.random.IntN(9)
	rit := 150 + 5*grade + m.random.IntN(50)
	duration := 600_000 + m.random.IntN(5_000_000)
	shown := 40 + m.random.IntN(4)
	start := firstStart.Add(time.Duration(uint64(number)*startStep%startSpread) * time.Millisecond)
	stop := start.Add(time.Duration(duration) * time.Millisecond)
	m.sum.Results++
	m.sum.RIT += int64(rit)
	m.sum.Duration += int64(duration)

	m.bid(`{"testResultBid":"`)
	m.bid(`","studentBid":"`)
	m.text(`","schoolBid":"`, s.Bid, `","termBid":"`, terms[start.Sub(firstStart).Milliseconds()*int64(len(terms))/startSpread])
	m.text(`","subjectArea":"`, sub.name, `","grade":"`)
	m.buf = strconv.AppendInt(m.buf, int64(grade), 10)
	m.text(`","testName":"Growth: `, sub.name, ` 2-12 2023","testKey":"growth-`, sub.key)
	m.text(`-2-12","testType":"Survey With Goals","growthEventYn":`, strconv.FormatBool(m.random.IntN(4) > 0))
	m.number(`,"duration":`, duration)
	m.text(`,"status":"COMPLETED"`)
	m.number(`,"rit":`, rit)
	m.tenths(`,"standardError":`, 29+m.random.IntN(9))
	m.number(`,"ritScoreHigh":`, rit+3)
	m.number(`,"ritScoreLow":`, rit-3)
	m.number(`,"items":{"shown":`, shown)
	m.number(`,"correct":`, m.random.IntN(shown))
	m.number(`,"total":`, shown)
	m.tenths(`},"responseDisengagedPercentage":`, m.random.IntN(200))
	m.tenths(`,"impactOfDisengagement":`, m.random.IntN(30))
	m.time(`,"administrationStartDateTime":"`, start)
	m.time(`","administrationEndDateTime":"`, stop)
	m.text(`","norms":[`)
	m.norms()
	m.time(`],"modifiedDateTime":"`, stop.Add(time.Duration(m.random.IntN(3_600_000))*time.Millisecond))
	m.text(`"`)
	m.scale(sub, rit)
	m.areas(sub, rit)
	m.text(`}`)
}

func (m *maker) norms() {
	for i, kind := range normTypes {
		if i > 0 {
			m.text(`,`)
		}
		percentile := 1 + m.random.IntN(99)
		m.number(`{"percentile":`, percentile)
		m.text(`,"reference":"2025","type":"`, kind, `"}`)
		m.sum.Norms++
		m.sum.Percentile += int64(percentile)
	}
}

// scale appends the reading or mathematics measure, if the subject has one.
func (m *maker) scale(sub *subject, rit int) {
	score := strconv.Itoa(rit * 4)
	low, high := strconv.Itoa(rit*4-50), strconv.Itoa(rit*4+50)
	switch sub.scale {
	case "lexile":
		m.text(`,"lexile":{"score":"`, score, `L","range":"`, low, `L-`, high, `L","min":"`, low, `L","max":"`, high, `L"}`)
	case "quantile":
		m.text(`,"quantile":{"score":"`, score, `Q","range":"`, low, `Q-`, high, `Q","minimum":"`, low, `Q","maximum":"`, high)
		m.text(`Q","original":"`, score, `Q"}`)
	}
}

// areas appends the instructional areas of a result: three for seven out of ten results, and four for the others.
func (m *maker) areas(sub *subject, rit int) {
	n := 3
	if m.random.IntN(10) < 3 {
		n = 4
	}
	m.text(`,"instructionalAreas":[`)
	for i, name := range sub.areas[:n] {
		if i > 0 {
			m.text(`,`)
		}
		score, err := 10*(rit-10)+m.random.IntN(200), 50+m.random.IntN(30)
		m.text(`{"instructionalAreaBid":"a1e5c0de-0000-4000-8000-0000000`, sub.key[:3])
		m.number(``, i+10)
		m.text(`","instructionalAreaName":"`, name)
		m.tenths(`","score":`, score)
		m.tenths(`,"standardError":`, err)
		m.tenths(`,"scoreLow":`, score-err)
		m.tenths(`,"scoreHigh":`, score+err)
		m.text(`}`)
		m.sum.Areas++
		m.sum.Score += int64(score)
	}
	m.text(`]`)
}

func (m *maker) text(parts ...string) {
	for _, part := range parts {
		m.buf = append(m.buf, part...)
	}
}

func (m *maker) number(name string, n int) {
	m.buf = strconv.AppendInt(append(m.buf, name...), int64(n), 10)
}

// tenths appends a name and n/10 with one decimal.
func (m *maker) tenths(name string, n int) {
	m.number(name, n/10)
	m.buf = append(m.buf, '.', byte('0'+n%10))
}

func (m *maker) time(name string, t time.Time) {
	m.buf = t.AppendFormat(append(m.buf, name...), "2006-01-02T15:04:05.000Z")
}

func (m *maker) bid(name string) {
	m.buf = appendBid(append(m.buf, name...), m.random)
}
