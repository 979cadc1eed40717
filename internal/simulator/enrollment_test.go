package simulator_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

func TestTermsOfResultsAreSessions(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{500, 300, 200}})
	rows := oracle.Rows(world, oracle.Options{})
	sessions := map[any]oracle.Row{}
	for _, row := range rows["enrollment_sessions"] {
		sessions[row["enrollment_session_bid"]] = row
	}
	require.NotEmpty(t, rows["test_results"])
	for _, row := range rows["test_results"] {
		session, known := sessions[row["term_bid"]]
		require.True(t, known, "the term of a result is a session of 4.7")
		begin, _ := session["begin_date"].(string)
		end, _ := session["end_date"].(string)
		at, _ := row["administration_start_date_time"].(int64)
		taken := time.UnixMicro(at).UTC().Format(time.DateOnly)
		require.True(t, begin <= taken && taken <= end, "%s is between %s and %s", taken, begin, end)
	}
}

func TestSessionsAreDistrictWide(t *testing.T) {
	t.Parallel()
	rows := oracle.Rows(simulator.NewWorld(simulator.Options{SchoolSizes: []int{30, 20, 10, 30, 20, 10}}), oracle.Options{})
	type key struct{ perspective, session any }
	dates, perYear, shared := map[key][2]any{}, map[[3]any]int{}, false
	for _, row := range rows["enrollment_sessions"] {
		k := key{row["requested_perspective_bid"], row["enrollment_session_bid"]}
		period := [2]any{row["begin_date"], row["end_date"]}
		if before, seen := dates[k]; seen {
			require.Equal(t, before, period)
			shared = true
		}
		dates[k] = period
		perYear[[3]any{row["requested_perspective_bid"], row["requested_school_bid"], row["academic_year_bid"]}]++
	}
	require.True(t, shared, "schools of a district share its sessions")
	require.NotEmpty(t, perYear)
	for _, n := range perYear {
		require.Equal(t, 4, n)
	}
}

func TestStudentsHaveSeveralAssociations(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{300}})
	perStudent := map[any]int{}
	own := world.Schools()[0].DistrictBid
	for _, row := range oracle.Rows(world, oracle.Options{OwnPerspective: true})["student_school_associations"] {
		require.Equal(t, own, row["requested_perspective_bid"])
		perStudent[row["student_bid"]]++
	}
	several := 0
	for _, n := range perStudent {
		if n > 1 {
			several++
		}
	}
	require.Greater(t, several, len(perStudent)*8/10)
}

func TestClassesVary(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{1200}})
	rows := oracle.Rows(world, oracle.Options{})
	withEducators, withStudents := map[any]bool{}, map[any]bool{}
	state := map[any]bool{} // sees no names
	for _, district := range world.Districts() {
		state[district.Bid] = district.State
	}
	named, bare := 0, 0
	for _, row := range rows["school_class_educators"] {
		withEducators[row["school_class_bid"]] = true
	}
	for _, row := range rows["school_class_students"] {
		withStudents[row["school_class_bid"]] = true
		require.Nil(t, row["_extra"], "an identifier alone is the student's")
		switch {
		case state[row["requested_perspective_bid"]]:
		case row["last_name"] == nil:
			bare++
			require.NotNil(t, row["student_bid"])
		default:
			named++
		}
	}
	classes := map[any]bool{}
	for _, row := range rows["school_classes"] {
		classes[row["school_class_bid"]] = true
	}
	require.Positive(t, bare, "some rosters hold identifiers alone")
	require.Less(t, bare, named)
	require.Less(t, len(withEducators), len(classes), "some classes have no educators")
	require.Greater(t, len(withEducators), len(classes)*8/10)
	require.Less(t, len(withStudents), len(classes), "some rosters are empty")
}

func TestPerspectives(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	server, c := simulator.StartClient(t, world, simulator.ServerOptions{})
	districts := world.Districts()
	state := districts[len(districts)-1]
	require.True(t, state.State)
	two := slices.IndexFunc(world.Schools(), func(s simulator.School) bool { return slices.Contains(state.Schools, s.Bid) && s.Results > 0 })
	one := slices.IndexFunc(world.Schools(), func(s simulator.School) bool { return !slices.Contains(state.Schools, s.Bid) })
	require.NotEqual(t, -1, two)
	require.NotEqual(t, -1, one)
	ask := func(perspective, school string) int {
		query := url.Values{"perspective-bid": {perspective}, "school-bid": {school}}
		status, _ := c.Do(c.Request(t.Context(), "/enrollments/v1/school-classes?"+query.Encode()))
		return status
	}
	both, alone := world.Schools()[two], world.Schools()[one]
	require.Equal(t, 200, ask(both.DistrictBid, both.Bid))
	require.Equal(t, 200, ask(state.Bid, both.Bid))
	require.Equal(t, 200, ask(alone.DistrictBid, alone.Bid))
	require.Equal(t, 403, ask(state.Bid, alone.Bid))
	require.Equal(t, 404, ask(alone.Bid, alone.Bid))

	server.SetFaults([]simulator.Fault{{Kind: simulator.FaultStatus, Status: 403, School: both.Bid, District: state.Bid}})
	require.Equal(t, 200, ask(both.DistrictBid, both.Bid))
	require.Equal(t, 403, ask(state.Bid, both.Bid), "a fault can be aimed at one perspective of a school")
}

func TestEnrollmentParametersAreChecked(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{ListPageSize: 5})
	school := world.Schools()[5]
	base := url.Values{"perspective-bid": {school.DistrictBid}, "school-bid": {school.Bid}}
	const (
		years     = "/enrollments/v1/academic-years"
		students  = "/enrollments/v1/student-school-associations"
		classes   = "/enrollments/v1/school-classes"
		educators = "/enrollments/v1/educator-school-associations"
	)
	cursor := simulator.NextPage(t, c.Get(students+"?"+base.Encode()))
	for name, test := range map[string]struct {
		path string
		add  url.Values
		drop string
		want int
	}{
		"years":                             {path: years, want: 200},
		"students":                          {path: students, want: 200},
		"classes":                           {path: classes, want: 200},
		"educators":                         {path: educators, want: 200},
		"no perspective":                    {path: years, drop: "perspective-bid", want: 400},
		"no school":                         {path: students, drop: "school-bid", want: 400},
		"slash at the end":                  {path: classes + "/", want: 404},
		"date":                              {path: classes, add: url.Values{"effective-date": {"2026-01-31"}}, want: 200},
		"timestamp for a date":              {path: classes, add: url.Values{"effective-date": {"2026-01-31T00:00:00Z"}}, want: 400},
		"impossible date":                   {path: classes, add: url.Values{"effective-date": {"2026-02-31"}}, want: 400},
		"removed":                           {path: educators, add: url.Values{"include-removed": {"true"}}, want: 200},
		"removed in capitals":               {path: educators, add: url.Values{"include-removed": {"True"}}, want: 400},
		"modified since a date":             {path: educators, add: url.Values{"modified-since": {"2026-01-31"}}, want: 200},
		"modified since a moment":           {path: educators, add: url.Values{"modified-since": {"2026-01-31T10:00:00Z"}}, want: 200},
		"modified since never":              {path: educators, add: url.Values{"modified-since": {"yesterday"}}, want: 400},
		"parameter of 4.7":                  {path: years, add: url.Values{"received-after-date": {"2026-01-31"}}, want: 200},
		"parameter of 4.7 for 4.9":          {path: classes, add: url.Values{"received-after-date": {"2026-01-31"}}, want: 400},
		"student in 4.13":                   {path: educators, add: url.Values{"student-bid": {"x"}}, want: 400},
		"follow-up":                         {path: students, add: url.Values{"next-page": {cursor}}, want: 200},
		"follow-up with one parameter more": {path: students, add: url.Values{"next-page": {cursor}, "effective-date": {"2026-11-20"}}, want: 400},
		"follow-up of another operation":    {path: classes, add: url.Values{"next-page": {cursor}}, want: 400},
		"follow-up without perspective":     {path: students, add: url.Values{"next-page": {cursor}}, drop: "perspective-bid", want: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.T = t
			query := url.Values{}
			for _, from := range []url.Values{base, test.add} {
				for key, values := range from {
					if key != test.drop {
						query[key] = values
					}
				}
			}
			status, body := own.Do(own.Request(t.Context(), test.path+"?"+query.Encode()))
			require.Equal(t, test.want, status, "%s", body)
		})
	}
}

func TestAssociationsOfOneStudentOrEducator(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{})
	school := world.Schools()[5]
	rows := oracle.Rows(world, oracle.Options{OwnPerspective: true, Schools: []string{school.Bid}})
	for _, test := range []struct{ table, column, path, parameter, wrapper string }{
		{"student_school_associations", "student_bid", "student-school-associations", "student-bid", "studentSchoolAssociations"},
		{"student_school_associations", "district_student_id", "student-school-associations", "district-student-id", "studentSchoolAssociations"},
		{"educator_school_associations", "educator_bid", "educator-school-associations", "educator-bid", "educatorSchoolAssociations"},
		{"academic_years", "academic_year_bid", "academic-years", "academic-year-bid", "academicYears"},
	} {
		wanted, _ := rows[test.table][0][test.column].(string)
		want := 0
		for _, row := range rows[test.table] {
			if row[test.column] == wanted {
				want++
			}
		}
		query := url.Values{"perspective-bid": {school.DistrictBid}, "school-bid": {school.Bid}, test.parameter: {wanted}}
		page, isObject := simulator.Decode(t, c.Get("/enrollments/v1/"+test.path+"?"+query.Encode())).(map[string]any)
		require.True(t, isObject)
		records, isList := page[test.wrapper].([]any)
		require.True(t, isList)
		require.Len(t, records, want, test.parameter)
		require.Less(t, want, len(rows[test.table]))
	}
}
