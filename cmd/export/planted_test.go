//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

// The children of the test: one whose bid is purged, one without a bid whose number is purged, and two whose rows stay.
// The first child has a second number, which only occurs in the details and in an association without a bid.
const (
	adaBid, adaNumber, adaState = "zqada-bid", "9917700101", "ZQS-9917700303"
	benNumber                   = "9917700202"
	cleoBid, doraBid            = "zqcleo-bid", "zqdora-bid"
)

// plantedService is a simulated service with further children, in every place where a service might put them. Ada and
// Ben are missing if without is true. Names change from night to night, so that the history also has ended
// versions.
type plantedService struct {
	without atomic.Bool
	night   atomic.Int64
	failing atomic.Bool // whether requests for the test results of the second school fail
	server  *simulator.Server
	world   *simulator.World
}

func newPlantedService(t *testing.T) (service *plantedService, address string) {
	t.Helper()
	p := new(plantedService)
	p.world = simulator.NewWorld(simulator.Options{Seed: 5, Districts: 2, SchoolSizes: []int{12, 8, 9}, Quirks: p})
	p.server = simulator.New(p.world, simulator.ServerOptions{})
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return p, front.URL + p.server.BasePath()
}

// ServeHTTP answers requests about planted children, classes and educators, which the simulated service does not know.
func (p *plantedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/"+adaBid):
		_, _ = fmt.Fprintf(w, `{%s,"stateStudentId":%q,"contacts":[%s]}`, p.child("ADA", adaBid, adaNumber), adaState, p.others("cleo"))
	case r.URL.Query().Get("student-bid") == adaBid:
		_, _ = fmt.Fprintf(w, `{"studentSchoolClasses":[{"schoolClassBid":"zqclass","students":[%s]}]}`, p.others("all"))
	case strings.HasSuffix(r.URL.Path, "/zqclass"):
		_, _ = fmt.Fprintf(w, `{"schoolClassBid":"zqclass","students":[%s]}`, p.others("all"))
	case strings.Contains(r.URL.String(), "zq"):
		w.WriteHeader(http.StatusForbidden)
	case p.failing.Load() && r.URL.Query().Get("school-bid") == p.world.Schools()[1].Bid && strings.HasSuffix(r.URL.Path, "/test-results/v1/growth"):
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"student":"`+adaBid+`"}`)
	default:
		p.server.ServeHTTP(w, r)
	}
}

// child returns the members of a child.
func (p *plantedService) child(name, bid, number string) string {
	return fmt.Sprintf(`"studentBid":%q,"studentId":%s,"firstName":"%sPLANTED","lastName":"%[3]sPLANTED%d","dateOfBirth":"2012-03-04"`, bid, number, name, p.night.Load())
}

// others returns a list of children as elements of an array, some of them by number.
func (p *plantedService) others(which string) string {
	list := []string{`{` + p.child("DORA", doraBid, "9917700404") + `}`}
	if which == "cleo" {
		list = nil
	}
	if !p.without.Load() {
		list = append(list, `{"id":"`+adaBid+`","name":"ADAPLANTED"}`, `{"number":`+adaNumber+`,"name":"ADAPLANTED"}`, `"`+adaBid+`"`,
			`{"studentNumber":`+benNumber+`,"name":"BENPLANTED"}`, `[{"pupil":{"numbers":["`+benNumber+`"]}}]`)
	}
	return strings.Join(list, ",")
}

func raw(text string) simulator.Value {
	return simulator.Value{Kind: simulator.Raw, Literal: &simulator.Literal{Sent: text}}
}

// records returns further records of the first school for an operation.
func (p *plantedService) records(operation string) []string {
	ada, ben := p.child("ADA", adaBid, adaNumber), fmt.Sprintf(`"firstName":"BENPLANTED","lastName":"BENPLANTED%d"`, p.night.Load())
	cleo, dora := p.child("CLEO", cleoBid, "9917700505"), p.child("DORA", doraBid, "9917700404")
	with := func(records ...string) []string {
		if p.without.Load() {
			return nil
		}
		return records
	}
	switch operation {
	case "students":
		return append(with(`{`+ada+`,"siblings":[`+p.others("all")+`]}`, `{"studentId":"`+benNumber+`",`+ben+`}`),
			`{`+cleo+`,"siblings":[`+p.others("all")+`]}`, `{`+dora+`}`)
	case "test_results":
		result := func(bid, more string) string {
			return fmt.Sprintf(`{"testResultBid":%q,"rit":2%d,%s,"norms":[{"reference":"x","owner":[%s]}],"instructionalAreas":[{"instructionalArea":"y"}]}`,
				bid, 10+p.night.Load(), more, p.others("cleo"))
		}
		return append(with(result("zqr1", ada), result("zqr2", `"student":{"studentBid":"`+adaBid+`","lastName":"ADAPLANTED"}`),
			result("zqr3", `"studentNumber":`+benNumber+`,"lastName":"BENPLANTED"`)),
			result("zqr4", `"studentBid":"`+cleoBid+`"`), result("zqr5", `"studentBid":"`+doraBid+`"`))
	case "student_school_associations":
		association := func(bid, more string) string {
			return fmt.Sprintf(`{"studentSchoolAssociationBid":%q,"beginDate":"2026-08-0%d",%s}`, bid, p.night.Load(), more)
		}
		return append(with(association("zqa1", `"student":{"studentBid":"`+adaBid+`"},"lastName":"ADAPLANTED"`),
			association("zqa2", `"districtStudentId":`+adaNumber+`,"lastName":"ADAPLANTED"`),
			association("zqa3", `"stateStudentId":"`+adaState+`","lastName":"ADAPLANTED"`),
			association("zqa4", `"districtStudentId":"`+benNumber+`",`+ben)),
			association("zqa5", `"studentBid":"`+cleoBid+`","classmates":{"list":[`+p.others("all")+`]}`), association("zqa6", `"studentBid":"`+doraBid+`"`))
	case "school_classes":
		elements := []string{`{` + cleo + `,"buddies":[` + p.others("all") + `]}`, `{` + dora + `}`}
		elements = append(elements, with(`{"id":"`+adaBid+`","lastName":"ADAPLANTED"}`, `{"studentId":`+adaNumber+`,"lastName":"ADAPLANTED"}`, `"`+adaBid+`"`,
			`{"number":"`+benNumber+`",`+ben+`}`, benNumber)...)
		return []string{
			`{"schoolClassBid":"zqclass","students":[` + strings.Join(elements, ",") + `],"educators":[{"educatorBid":"zqeducator","class":[` + p.others("all") + `]}]}`,
			`{"schoolClassBid":"zqclass2","students":{"list":[` + p.others("all") + `]},"educators":[]}`,
		}
	}
	return nil
}

// List adds records to the first school, and a list of children to some records and elements of every operation.
func (p *plantedService) List(_ *simulator.World, c *simulator.Call, plain simulator.List) simulator.List {
	var more []string
	if c.School == 0 {
		more = p.records(c.Op.Name)
	}
	list := simulator.List{Count: plain.Count + len(more)}
	list.Keep = func(i int) bool { return i >= plain.Count || plain.Keep == nil || plain.Keep(i) }
	list.Element = func(a *simulator.Arena, i int) simulator.Value {
		if i >= plain.Count {
			return raw(more[i-plain.Count])
		}
		record := plain.At(a, i)
		if i%3 == 0 || c.Op.Name == "student_school_classes" || c.Op.Name == "educator_school_classes" { // to all records, because otherwise equal ones would differ
			p.mention(&record, c.Op.Name == "students" || c.Op.Name == "student_school_associations")
		}
		return record
	}
	return list
}

// mention adds an unknown member to an object and to all elements of its arrays. A student without a bid is left
// unchanged, because the mention would cause the student to be erased.
func (p *plantedService) mention(v *simulator.Value, student bool) {
	for i := range v.Sub {
		if m := &v.Sub[i]; m.Kind == simulator.Array || v.Kind == simulator.Array {
			p.mention(&m.Value, student || m.Name == "students")
		}
	}
	if v.Kind == simulator.Object && (!student || simulator.Find(v.Sub, "studentBid") != nil) {
		v.Sub = append(slices.Clip(v.Sub), simulator.Member{Name: "roster", Value: raw(`{"members":[` + p.others("all") + `]}`)})
	}
}

func (*plantedService) Container(_ *simulator.World, _ *simulator.Call, documented simulator.Container) simulator.Container {
	return documented
}
func (*plantedService) FormatBid(_ *simulator.World, b simulator.Bid) string { return b.String() }
func (*plantedService) ParseBid(string) (b simulator.Bid, ok bool)           { return b, false }
func (*plantedService) Mark() string                                         { return "" }

// TestPurgeFindsPlantedChildren exports a service that lists children in every possible place, in all kinds of runs,
// and purges one by bid and one by number. Nothing of them is left anywhere, no other row is lost, and a later night
// with the key does not bring them back. A cohort never holds another child.
func TestPurgeFindsPlantedChildren(t *testing.T) {
	t.Parallel()
	service, address := newPlantedService(t)
	export := func(s *suppressionTest, run string, night int64, flags ...string) {
		t.Helper()
		service.night.Store(night)
		s.run("run", append([]string{
			"--base-url", address, "--run-id", run, "--datasets", "all", "--schools-per-file", "2", "--scratch", s.scratch, "--log-level", "debug",
			"--progress", "plain", "--max-changed", "off", "--backdate",
		}, flags...)...)
	}
	newTest := func() *suppressionTest {
		s := newSuppressionTest(t, &testStorage{root: t.TempDir()})
		s.env = []string{apiKeyVariable + "=" + simulator.DefaultKey, apiSecretVariable + "=" + simulator.DefaultSecret}
		return s
	}
	ada, ben := []string{adaBid, adaNumber, adaState, "ADAPLANTED"}, []string{benNumber, "BENPLANTED"}
	both := slices.Concat(ada, ben)

	s := newTest()
	export(s, "night-1", 1, "--snapshot-date", "2026-11-01", "--history", "--delta-lake")
	export(s, "night-2", 2, "--snapshot-date", "2026-11-02", "--history", "--delta-lake")
	export(s, "cohort", 2, "--snapshot-date", "2026-10-30", "--students", adaBid+","+cleoBid)
	export(s, "as-of", 2, "--effective-date", "2026-10-01", "--datasets", "default")
	export(s, "delta", 2, "--modified-since", "2020-01-01", "--snapshot-date", "2026-11-02")
	service.failing.Store(true)
	s.code = exitHeld
	export(s, "held", 3, "--snapshot-date", "2026-11-03")
	service.failing.Store(false)
	s.code = exitOK
	export(s, "staged", 3, "--snapshot-date", "2026-11-04", "--shard", "0/2")
	require.NotContains(t, s.said.String(), "ADAPLANTED")
	for _, text := range []string{adaBid, benNumber} {
		found := strings.Join(s.traces([]string{text}), "\n")
		for _, tree := range []string{
			"/test_results/", "/as_of/", "/changes/", "/history/students/valid_to=2026-11-02/", "/history/students/valid_to=9999-12-31/",
			"/_staging/held/", "/_staging/staged/",
		} {
			require.Contains(t, found, tree, "the search finds %s there", text)
		}
	}
	require.Contains(t, strings.Join(s.traces(ada), "\n"), "-cohort.parquet")

	s.run("purge", "--students", listFile(t, []string{adaBid}), "--notice", s.scratch+"/notice.html")
	require.Empty(t, s.traces(ada))
	require.NotEmpty(t, s.traces(ben))
	s.run("purge", "--student-numbers", listFile(t, []string{benNumber}))
	require.Empty(t, s.traces(both))
	require.Contains(t, strings.Join(s.traces([]string{"DORAPLANTED1"}), "\n"), "/history/students/valid_to=2026-11-02/", "other children keep their rows")
	s.run("verify", "--history")
	s.run("verify", "--delta-lake")

	reference := newTest()
	service.without.Store(true)
	export(reference, "night-1", 1, "--snapshot-date", "2026-11-01")
	service.without.Store(false)
	require.Equal(t, reference.rows("night-1"), s.rows("night-1"))
	require.Equal(t, reference.rows("night-1"), s.rows("night-2"))

	export(s, "night-5", 5, "--snapshot-date", "2026-11-05", "--history", "--delta-lake")
	export(s, "cohort-5", 5, "--snapshot-date", "2026-10-31", "--students", adaBid+","+cleoBid)
	export(s, "as-of-5", 5, "--effective-date", "2026-10-05", "--datasets", "default")
	require.Empty(t, s.traces(both))
	require.Equal(t, reference.rows("night-1"), s.rows("night-5"))

	cohort := newTest()
	export(cohort, "night-1", 1, "--students", cleoBid)
	require.NotEmpty(t, cohort.traces([]string{"CLEOPLANTED"}))
	require.Empty(t, cohort.traces(append(both, doraBid, "DORAPLANTED")))
}

// rows returns the number of rows of each table of a run.
func (s *suppressionTest) rows(run string) map[string]int64 {
	s.t.Helper()
	manifest, err := snapshot.At(s.dest.open(s.t)).ReadManifest(s.t.Context(), run)
	require.NoError(s.t, err)
	rows := make(map[string]int64)
	for name, table := range manifest.Tables {
		rows[name] = table.Rows
	}
	return rows
}
