package simulator

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusesWhatTheSpecificationDoesNotAllow(t *testing.T) {
	t.Parallel()
	world := Small()
	server, c := StartClient(t, world, ServerOptions{PageSize: 20})
	school, other := world.Schools()[5].Bid, world.Schools()[4].Bid
	unlisted := world.Districts()[0].Schools[len(world.Districts()[0].Schools)-1]
	growth := "/test-results/v1/growth?school-bid=" + school
	cursor := url.QueryEscape(NextPage(t, c.Get(growth)))

	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if value == "" {
				r.Header.Del(name)
				return
			}
			r.Header.Set(name, value)
		}
	}
	for name, test := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"right":                            {path: growth, want: 200},
		"right follow-up":                  {path: growth + "&next-page=" + cursor, want: 200},
		"right in other case":              {path: growth, change: header("Authorization", "bearer "+c.Token), want: 200},
		"charset":                          {path: growth, change: header("Content-Type", "application/json; charset=utf-8"), want: 200},
		"no apikey":                        {path: growth, change: header("Apikey", ""), want: 401},
		"wrong apikey":                     {path: growth, change: header("Apikey", "x"), want: 401},
		"no authorization":                 {path: growth, change: header("Authorization", ""), want: 401},
		"other scheme":                     {path: growth, change: header("Authorization", "BearerToken "+c.Token), want: 401},
		"basic":                            {path: growth, change: func(r *http.Request) { r.SetBasicAuth(DefaultKey, DefaultSecret) }, want: 401},
		"unknown token":                    {path: growth, change: header("Authorization", "Bearer x"), want: 401},
		"no content type":                  {path: growth, change: header("Content-Type", ""), want: 400},
		"other content type":               {path: growth, change: header("Content-Type", "text/plain"), want: 400},
		"post":                             {path: growth, change: func(r *http.Request) { r.Method = http.MethodPost }, want: 405},
		"head":                             {path: growth, change: func(r *http.Request) { r.Method = http.MethodHead }, want: 405},
		"unknown parameter":                {path: growth + "&limit=10", want: 400},
		"parameter of another operation":   {path: growth + "&effective-date=2026-01-01", want: 400},
		"parameter twice":                  {path: growth + "&school-bid=" + school, want: 400},
		"parameter without a value":        {path: growth + "&next-page=", want: 400},
		"unreadable query":                 {path: growth + "&x=%zz", want: 400},
		"no school":                        {path: "/test-results/v1/growth", want: 400},
		"unknown school":                   {path: "/test-results/v1/growth?school-bid=00000000-0000-4000-8000-000000000000", want: 404},
		"no uuid":                          {path: "/test-results/v1/growth?school-bid=x", want: 404},
		"upper case":                       {path: "/test-results/v1/growth?school-bid=" + strings.ToUpper(school), want: 404},
		"a district for a school":          {path: "/test-results/v1/growth?school-bid=" + world.Districts()[0].Bid, want: 404},
		"school without agreement":         {path: "/test-results/v1/growth?school-bid=" + unlisted, want: 403},
		"unknown cursor":                   {path: growth + "&next-page=AAAAAAAAAAAAAAAAAAAAAA%3D%3D", want: 400},
		"no cursor at all":                 {path: growth + "&next-page=2", want: 400},
		"follow-up without the school":     {path: "/test-results/v1/growth?next-page=" + cursor, want: 400},
		"follow-up with another school":    {path: "/test-results/v1/growth?school-bid=" + other + "&next-page=" + cursor, want: 400},
		"districts without slash":          {path: "/organizations/v1/districts", want: 404},
		"districts":                        {path: "/organizations/v1/districts/", want: 200},
		"schools with slash":               {path: "/organizations/v1/schools/", want: 404},
		"schools with a parameter":         {path: "/organizations/v1/schools?page=1", want: 400},
		"schools of a district":            {path: "/organizations/v1/districts/" + world.Districts()[0].Bid + "/schools", want: 200},
		"schools of an unknown district":   {path: "/organizations/v1/districts/x/schools", want: 404},
		"students":                         {path: "/organizations/v1/schools/" + school + "/students", want: 200},
		"students of a school with escape": {path: "/organizations/v1/schools/%2E%2E%2F/students", want: 404},
		"unknown path":                     {path: "/test-results/v2/growth", want: 404},
		"double slash":                     {path: "//organizations/v1/schools", want: 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.T = t
			r := own.Request(t.Context(), test.path)
			if test.change != nil {
				test.change(r)
			}
			status, body := own.Do(r)
			require.Equal(t, test.want, status, "%s", body)
		})
	}
	t.Cleanup(func() {
		for _, entry := range server.Log() {
			require.Empty(t, entry.Fault)
			require.Equal(t, entry.Status == http.StatusOK, entry.Try > 0, "only requests that succeed are tries")
		}
	})
}

func TestBasePath(t *testing.T) {
	t.Parallel()
	_, c := StartClient(t, Small(), ServerOptions{BasePath: "/"})
	require.NotContains(t, strings.TrimPrefix(c.Base, "http://"), "/")
	c.Get("/organizations/v1/schools")

	_, c = StartClient(t, Small(), ServerOptions{BasePath: "/a/b/"})
	require.True(t, strings.HasSuffix(c.Base, "/a/b"), c.Base)
	c.Get("/organizations/v1/schools")
	c.Base = strings.TrimSuffix(c.Base, "/b")
	status, _ := c.Do(c.Request(t.Context(), "/organizations/v1/schools"))
	require.Equal(t, http.StatusNotFound, status)
}

func TestHeadersOfAnswers(t *testing.T) {
	t.Parallel()
	_, c := StartClient(t, Small(), ServerOptions{})
	ask := func() http.Header {
		answer, err := c.HTTP.Do(c.Request(t.Context(), "/organizations/v1/schools"))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.Header
	}
	first, second := ask(), ask()
	require.Equal(t, "application/json; charset=utf-8", first.Get("Content-Type"))
	require.NotEmpty(t, first.Get("ETag"))
	require.Equal(t, first.Get("ETag"), second.Get("ETag"))
}

func TestLog(t *testing.T) {
	t.Parallel()
	world := Small()
	server, c := StartClient(t, world, ServerOptions{PageSize: 20})
	server.ResetLog()
	c.Get("/organizations/v1/districts/")
	school := world.Schools()[5]
	c.Pages("/test-results/v1/growth", url.Values{"school-bid": {school.Bid}})
	status, _ := c.Do(c.Request(t.Context(), "/test-results/v1/growth"))
	require.Equal(t, http.StatusBadRequest, status)

	entries := server.Log()
	require.Len(t, entries, 1+7+1)
	require.Equal(t, "/organizations/v1/districts/", entries[0].Path)
	require.Equal(t, "districts", entries[0].Operation)
	cursors := map[string]bool{}
	for i, entry := range entries[1:8] {
		require.Equal(t, "test_results", entry.Operation)
		require.Equal(t, "/test-results/v1/growth", entry.Template)
		require.Equal(t, school.Bid, entry.School)
		require.Equal(t, school.Bid, entry.Query.Get("school-bid"))
		require.Equal(t, i > 0, entry.Query.Has("next-page"))
		require.Equal(t, http.StatusOK, entry.Status)
		require.Equal(t, 1, entry.Try)
		require.Equal(t, 1, entry.InFlight)
		require.Positive(t, entry.Bytes)
		require.Equal(t, entries[i].Seq+1, entry.Seq)
		cursors[entry.Query.Get("next-page")] = true
	}
	require.Len(t, cursors, 7)
	require.Equal(t, http.StatusBadRequest, entries[8].Status)
	require.Zero(t, entries[8].Try)
}

func TestLogKeepsTheNewest(t *testing.T) {
	t.Parallel()
	l := requestLog{limit: 3}
	for i := range int64(20) {
		l.add(&Request{Seq: i})
	}
	require.Equal(t, []Request{{Seq: 17}, {Seq: 18}, {Seq: 19}}, l.list())
}

func NextPage(t *testing.T, body []byte) string {
	t.Helper()
	page, isObject := Decode(t, body).(map[string]any)
	require.True(t, isObject)
	pagination, isObject := page["pagination"].(map[string]any)
	require.True(t, isObject)
	next, isText := pagination["nextPage"].(string)
	require.True(t, isText)
	return next
}
