package simulator_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
)

const (
	classPath         = "/enrollments/v1/school-classes/"
	associationPath   = "/enrollments/v1/educator-school-associations/"
	studentPath       = "/students/v2/"
	studentClassList  = "/enrollments/v1/student-school-classes"
	educatorClassList = "/enrollments/v1/educator-school-classes"
)

// TestCallsAboutOneRecord checks that the operations about one student, educator, class or association follow the
// specification.
func TestCallsAboutOneRecord(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{ListPageSize: 3})
	school, other := world.Schools()[5], world.Schools()[4]
	stranger := world.Districts()[(slices.IndexFunc(world.Districts(), func(d simulator.District) bool { return d.Bid == school.DistrictBid })+1)%3].Bid
	rows := oracle.Rows(world, oracle.Options{OwnPerspective: true, Schools: []string{school.Bid}})
	first := func(table, column string) string {
		for _, row := range rows[table] {
			if bid, there := row[column].(string); there {
				return bid
			}
		}
		t.Fatalf("no %s", column)
		return ""
	}
	student, educator := first("students", "student_bid"), first("educator_school_associations", "educator_bid")
	class, association := first("school_classes", "school_class_bid"), first("educator_school_associations", "educator_school_association_bid")
	unmatched := slices.IndexFunc(rows["students"], func(r oracle.Row) bool { return r["student_bid"] == nil })
	require.NotEqual(t, -1, unmatched)
	var hidden string
	for seat := range school.Students {
		if bid, shown := world.StudentInSeat(5, seat); !shown {
			hidden = bid
		}
	}
	nobody := world.BidOf(simulator.StudentEntity, 5, 10_000).String()
	perspective := "?perspective-bid=" + school.DistrictBid
	ofStudent, ofEducator := perspective+"&student-bid="+student, perspective+"&educator-bid="+educator
	for name, test := range map[string]struct {
		path string
		want int
	}{
		"student":                        {studentPath + student, 200},
		"student with a parameter":       {studentPath + student + perspective, 400},
		"student without a bid":          {studentPath, 404},
		"unknown student":                {studentPath + nobody, 404},
		"student whom 4.4 gives no bid":  {studentPath + hidden, 404},
		"class for a student":            {studentPath + class, 404},
		"class":                          {classPath + class + perspective, 200},
		"class without perspective":      {classPath + class, 400},
		"class on a day":                 {classPath + class + perspective + "&effective-date=2026-01-01", 400},
		"class with the school":          {classPath + class + perspective + "&school-bid=" + school.Bid, 400},
		"class in another perspective":   {classPath + class + "?perspective-bid=" + stranger, 403},
		"class in no perspective":        {classPath + class + "?perspective-bid=x", 404},
		"unknown class":                  {classPath + "x" + perspective, 404},
		"association":                    {associationPath + association + perspective, 200},
		"association and removed ones":   {associationPath + association + perspective + "&include-removed=true", 400},
		"association elsewhere":          {associationPath + association + "?perspective-bid=" + stranger, 403},
		"classes of a student":           {studentClassList + ofStudent, 200},
		"and of a school":                {studentClassList + ofStudent + "&school-bid=" + school.Bid, 200},
		"on a day":                       {studentClassList + ofStudent + "&effective-date=2026-05-05&modified-since=2025-01-01&include-removed=true", 200},
		"of a student unnamed":           {studentClassList + perspective + "&school-bid=" + school.Bid, 400},
		"of an unknown student":          {studentClassList + perspective + "&student-bid=" + nobody, 404},
		"of a student without view":      {studentClassList + "?student-bid=" + student, 400},
		"of a student elsewhere":         {studentClassList + "?perspective-bid=" + stranger + "&student-bid=" + student, 403},
		"of a student by an educator":    {studentClassList + ofStudent + "&educator-bid=" + educator, 400},
		"of an educator for a student":   {studentClassList + perspective + "&student-bid=" + educator, 404},
		"of an educator":                 {educatorClassList + ofEducator + "&school-bid=" + school.Bid, 200},
		"of an educator and a student":   {educatorClassList + ofEducator + "&student-bid=" + student, 400},
		"of an educator in no known one": {educatorClassList + ofEducator + "&school-bid=x", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.T = t
			status, body := own.Do(own.Request(t.Context(), test.path))
			require.Equal(t, test.want, status, "%s", body)
		})
	}
	t.Run("a student has no classes in another school", func(t *testing.T) {
		t.Parallel()
		own := *c
		own.T = t
		sees := slices.ContainsFunc(world.Districts(), func(d simulator.District) bool {
			return d.Bid == school.DistrictBid && slices.Contains(d.Schools, other.Bid)
		})
		op := simulator.FindOperation(simulator.Operations(), "student_school_classes")
		query := url.Values{"perspective-bid": {school.DistrictBid}, "student-bid": {student}, "school-bid": {other.Bid}}
		if !sees {
			query.Set("perspective-bid", other.DistrictBid)
		}
		require.Empty(t, own.List(op, studentClassList, query))
		query.Del("school-bid")
		query.Set("perspective-bid", school.DistrictBid)
		require.NotEmpty(t, own.List(op, studentClassList, query))
	})
}

// TestReadsByIDAreLoggedUnderTheirSchool checks that faults can be aimed at a school although the request does not name
// it.
func TestReadsByIDAreLoggedUnderTheirSchool(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	school := world.Schools()[3]
	third, _ := world.StudentInSeat(3, 0)
	fourth, _ := world.StudentInSeat(4, 0)
	server, c := simulator.StartClient(t, world, simulator.ServerOptions{Faults: []simulator.Fault{{School: school.Bid, Kind: simulator.FaultStatus, Status: 403}}})
	status, _ := c.Do(c.Request(t.Context(), studentPath+third))
	require.Equal(t, 403, status)
	status, _ = c.Do(c.Request(t.Context(), studentPath+fourth))
	require.Equal(t, 200, status)
	log := server.Log()
	require.Equal(t, []string{school.Bid, world.Schools()[4].Bid}, []string{log[len(log)-2].School, log[len(log)-1].School})
	require.Equal(t, "student_details", log[len(log)-1].Operation)
}

func TestSingleReadsAreBareOrWrapped(t *testing.T) {
	t.Parallel()
	world := simulator.Small()
	_, c := simulator.StartClient(t, world, simulator.ServerOptions{})
	school := world.Schools()[5]
	rows := oracle.Rows(world, oracle.Options{OwnPerspective: true, Schools: []string{school.Bid}})
	for _, test := range []struct{ table, column, path, wrapper string }{
		{"school_classes", "school_class_bid", classPath, "schoolClass"},
		{"educator_school_associations", "educator_school_association_bid", associationPath, "educatorSchoolAssociation"},
	} {
		wrapped := 0
		for _, row := range rows[test.table] {
			bid, _ := row[test.column].(string)
			if strings.HasPrefix(string(c.Get(test.path+bid+"?perspective-bid="+school.DistrictBid)), `{"`+test.wrapper+`":{`) {
				wrapped++
			}
		}
		require.Positive(t, wrapped, test.table)
		require.Less(t, wrapped, len(rows[test.table]), test.table)
	}
}

func TestClassesOfStudentsAndEducators(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{SchoolSizes: []int{300}})
	expected := oracle.Expect(world, oracle.Options{Datasets: oracle.AllDatasets(), OwnPerspective: true})
	rows := expected.Rows
	for _, who := range []string{"student", "educator"} {
		table := who + "_school_classes"
		perKey, several := map[[2]any]int{}, 0
		for _, row := range rows[table] {
			require.Equal(t, row["requested_"+who+"_bid"], row[who+"_bid"])
			key := [2]any{row["requested_"+who+"_bid"], row["school_class_bid"]}
			if perKey[key]++; perKey[key] == 2 {
				several++
			}
		}
		require.Positive(t, several, "%s: some classes have two records that differ", table)
		require.Less(t, several, len(perKey)/5)
		at := slices.IndexFunc(expected.Ledger, func(l oracle.LedgerRow) bool { return l.Dataset == table })
		require.Positive(t, expected.Ledger[at].Duplicates, "%s: some records come twice", table)
	}
	// Students without a bid in 4.4 have no details.
	at := slices.IndexFunc(expected.Ledger, func(l oracle.LedgerRow) bool { return l.Dataset == "student_details" })
	require.Positive(t, expected.Ledger[at].Unavailable)
	require.EqualValues(t, len(rows["students"]), expected.Ledger[at].Unavailable+expected.Ledger[at].Rows)
	require.Len(t, rows["school_class_details"], len(rows["school_classes"]))
	require.Len(t, rows["educator_school_association_details"], len(rows["educator_school_associations"]))
	// The students of a class with a roster are the students who take the class.
	taking := map[[2]any]bool{}
	for _, row := range rows["student_school_classes"] {
		taking[[2]any{row["school_class_bid"], row["student_bid"]}] = true
	}
	agreeing := 0
	for _, row := range rows["school_class_students"] {
		if taking[[2]any{row["school_class_bid"], row["student_bid"]}] {
			agreeing++
		}
	}
	require.Greater(t, agreeing, len(rows["school_class_students"])/2)
}
